package controllers

import (
	"hash/fnv"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
	"k8s.io/apimachinery/pkg/types"

	"recoup.dev/recoup/internal/ledger"
)

const (
	// maxRemembered bounds what is kept in memory, in BillableJobs.
	maxRemembered = 20_000
	// beliefFor is how long a job document that was read or written is believed without another read. A guard finds out
	// a wrong belief at once, so that the time only limits how late a status can be.
	beliefFor = 5 * time.Minute
	// maxPushGrace ends the doubling of the pause between two announcements of the same retry.
	maxPushGrace = time.Hour
)

// memory is what the reconciler remembers between passes. Nothing in it is a truth: all of it can be dropped at any time,
// at the cost of a read, or of one announcement too many.
type memory struct {
	once    sync.Once
	beliefs *expirable.LRU[types.UID, ledger.Job]
	pushes  *expirable.LRU[types.UID, announcement]
}

// announcement is when the retry of an attempt is to be announced again.
type announcement struct {
	attempt int
	again   time.Time
	grace   time.Duration
}

func (m *memory) init() {
	m.once.Do(func() {
		m.beliefs = expirable.NewLRU[types.UID, ledger.Job](maxRemembered, nil, beliefFor)
		m.pushes = expirable.NewLRU[types.UID, announcement](maxRemembered, nil, 0)
	})
}

func (m *memory) belief(uid types.UID) (ledger.Job, bool) {
	m.init()
	return m.beliefs.Get(uid)
}

func (m *memory) believe(uid types.UID, job ledger.Job) {
	m.init()
	m.beliefs.Add(uid, job)
}

func (m *memory) forget(uid types.UID) {
	m.init()
	m.beliefs.Remove(uid)
	m.pushes.Remove(uid)
}

// doubt drops the belief alone.
func (m *memory) doubt(uid types.UID) {
	m.init()
	m.beliefs.Remove(uid)
}

// pushAgainAt is when the attempt's retry, due at the given time, is to be announced again.
func (m *memory) pushAgainAt(uid types.UID, attempt int, due time.Time, grace time.Duration) time.Time {
	m.init()
	a, ok := m.pushes.Get(uid)
	if !ok || a.attempt != attempt {
		a = announcement{attempt: attempt, again: due.Add(grace), grace: grace}
		m.pushes.Add(uid, a)
	}
	return a.again
}

// pushedAgain doubles the pause before the next announcement.
func (m *memory) pushedAgain(uid types.UID, attempt int, now time.Time) {
	m.init()
	a, _ := m.pushes.Get(uid)
	a.attempt = attempt
	a.grace = min(2*a.grace, maxPushGrace)
	a.again = now.Add(a.grace)
	m.pushes.Add(uid, a)
}

// keyLocks keeps the passes that a watch asks for and those that the lane asks for from working on one BillableJob at the
// same time. Across processes the books' guards and resource versions do so.
type keyLocks struct {
	stripes [256]sync.Mutex
}

// lock returns the function that unlocks.
func (k *keyLocks) lock(key types.NamespacedName) func() {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key.String())) // a hash never fails
	stripe := &k.stripes[h.Sum32()%uint32(len(k.stripes))]
	stripe.Lock()
	return stripe.Unlock
}
