package controllers

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/ledger"
	"recoup.dev/recoup/internal/retry"
)

// mishap is what becomes of one call that leaves the process.
type mishap string

const (
	// The call doesn't reach the server, or its reply is lost; the process lives and sees an error.
	requestLost mishap = "its request is lost"
	replyLost   mishap = "its reply is lost"
	// The process dies: nothing that it would have done after this call is done. To die before a call is to die after the
	// one before it.
	diesAfter mishap = "the manager dies after it"
	// The process dies when the flag is set and its row isn't written.
	diesBetween mishap = "the manager dies between flag and row"
)

// story is a BillableJob's life, told step by step, so that it can be told again with a mishap at any call.
type story struct {
	name, spec string
	tell       func(*teller)
	// calls are the calls that leave the process when nothing goes wrong, in order.
	calls string
	// shared is how many calls at the beginning another story begins with as well, and lets go wrong.
	shared int
	// ends is how the story ends, whatever goes wrong on the way.
	ends string
}

var stories = []story{
	{
		name: "succeeds at once", spec: trainingJob,
		tell: func(s *teller) {
			s.settle()
			s.b.runs(s.job(0))
			s.settle()
			s.b.succeeds(s.job(0))
			s.settle()
		},
		calls: "patch BillableJob, charge, create Job, status, status, deliver, status, patch Job",
		ends: "rows: charge -40; phase: Delivered; net: -40; attempts: 0 Succeeded; jobs: 0 ended; " +
			"lane: ; dead letters: 0; entries again: ",
	},
	{
		name: "is delivered by a signal after its refund", spec: trainingJob,
		tell: func(s *teller) {
			s.settle()
			s.b.annotate(s.bj, billingv1.AnnotationFailedAt, "0@2026-01-01T00:00:00Z")
			s.settle()
			s.b.annotate(s.bj, billingv1.AnnotationDeliveredAt, "2026-01-01T00:00:01Z")
			s.settle()
			s.b.succeeds(s.job(0))
			s.settle()
		},
		shared: 4,
		calls:  "patch BillableJob, charge, create Job, status, refund, push, status, reclaim, status, status, patch Job",
		ends: "rows: charge -40, refund +40, reclaim -40; phase: Reclaimed; net: -40; attempts: 0 Succeeded; jobs: 0 ended; " +
			"lane: 1 FailedSignal; dead letters: 0; entries again: settled",
	},
	{
		name: "fails twice", spec: trainingJob,
		tell: func(s *teller) {
			s.settle()
			s.b.fails(s.job(0))
			s.settle()
			s.due("started")
			s.b.fails(s.job(1))
			s.settle()
		},
		shared: 10,
		calls: "patch BillableJob, charge, create Job, status, refund, push, status, patch Job, create Job, status, " +
			"fail again, push, status, patch Job",
		ends: "rows: charge -40, refund +40; phase: RetryScheduled; net: 0; " +
			"attempts: 0 Failed BackoffLimitExceeded, 1 Failed BackoffLimitExceeded; jobs: 0 ended, 1 ended; " +
			"lane: 1 BackoffLimitExceeded, 2 BackoffLimitExceeded; dead letters: 0; entries again: outdated, early",
	},
	{
		name: "fails until no retry is left", spec: oneRetry,
		tell: func(s *teller) {
			s.settle()
			s.b.fails(s.job(0))
			s.settle()
			s.due("started")
			s.b.fails(s.job(1))
			s.settle()
		},
		shared: 10,
		calls: "patch BillableJob, charge, create Job, status, refund, push, status, patch Job, create Job, status, " +
			"fail again, dead letter, status, patch Job",
		ends: "rows: charge -40, refund +40; phase: DeadLettered; net: 0; " +
			"attempts: 0 Failed BackoffLimitExceeded, 1 Failed BackoffLimitExceeded; jobs: 0 ended, 1 ended; " +
			"lane: 1 BackoffLimitExceeded; dead letters: 1; entries again: settled",
	},
	{
		name: "is redriven and succeeds", spec: noRetries,
		tell: func(s *teller) {
			s.settle()
			s.b.fails(s.job(0))
			s.settle()
			s.wantDeadLetters(1)
			s.b.annotate(s.bj, billingv1.AnnotationRedrive, "0")
			s.settle()
			s.wantDeadLetters(0)
			s.due("started")
			s.b.succeeds(s.job(1))
			s.settle()
		},
		shared: 4,
		calls: "patch BillableJob, charge, create Job, status, refund, dead letter, status, patch Job, " +
			"redrive, remove dead letter, push, status, create Job, status, reclaim, status, patch Job",
		ends: "rows: charge -40, refund +40, reclaim -40; phase: Reclaimed; net: -40; " +
			"attempts: 0 Failed BackoffLimitExceeded, 1 Succeeded; jobs: 0 ended, 1 ended; " +
			"lane: 1 BackoffLimitExceeded; dead letters: 0; entries again: settled",
	},
	{
		name: "outlives its deadline and is stopped for its retry", spec: "deadline: 30s\n" + trainingJob,
		tell: func(s *teller) {
			s.settle()
			s.b.runs(s.job(0))
			s.settle()
			s.b.clock.advance(30 * time.Second)
			s.settle()
			s.due("postponed")
			s.collectGarbage(0)
			s.settle()
			s.due("started")
			s.b.succeeds(s.job(1))
			s.settle()
		},
		shared: 5,
		calls: "patch BillableJob, charge, create Job, status, status, refund, push, status, delete Job, " +
			"patch Job, create Job, status, reclaim, status, patch Job",
		ends: "rows: charge -40, refund +40, reclaim -40; phase: Reclaimed; net: -40; " +
			"attempts: 0 Failed DeadlineExceeded, 1 Succeeded; jobs: 1 ended; " +
			"lane: 1 DeadlineExceeded; dead letters: 0; entries again: settled",
	},
	{
		name: "takes a Job that exists already, and a retry after it", spec: existingJob,
		tell: func(s *teller) {
			s.settle()
			s.b.fails(s.referenced())
			s.settle()
			s.due("started")
			s.b.succeeds(s.job(1))
			s.settle()
		},
		calls: "patch BillableJob, patch Job, patch BillableJob, charge, status, refund, push, status, patch Job, " +
			"create Job, status, reclaim, status, patch Job",
		ends: "rows: charge -40, refund +40, reclaim -40; phase: Reclaimed; net: -40; " +
			"attempts: 0 Failed BackoffLimitExceeded, 1 Succeeded; jobs: 1 ended; " +
			"lane: 1 BackoffLimitExceeded; dead letters: 0; entries again: settled",
	},
	{
		name: "is cancelled while it runs", spec: trainingJob,
		tell: func(s *teller) {
			s.settle()
			s.b.runs(s.job(0))
			s.settle()
			s.change(func(bj *billingv1.BillableJob) { bj.Spec.Cancel = true })
			s.settle()
			s.collectGarbage(0)
			s.settle()
		},
		shared: 5,
		calls:  "patch BillableJob, charge, create Job, status, status, delete Job, status, refund, status, patch Job",
		ends: "rows: charge -40, refund +40; phase: Cancelled; net: 0; attempts: 0 Stopped Cancelled; jobs: ; " +
			"lane: ; dead letters: 0; entries again: ",
	},
	{
		name: "is deleted while it runs", spec: trainingJob,
		tell: func(s *teller) {
			s.settle()
			s.b.runs(s.job(0))
			s.settle()
			must(s.t, s.b.c.Delete(s.b.ctx, s.b.get(s.bj)))
			s.settle()
			s.collectGarbage(0)
			s.settle()
		},
		shared: 5,
		calls:  "patch BillableJob, charge, create Job, status, status, delete Job, status, refund, patch Job, patch BillableJob",
		ends: "rows: charge -40, refund +40; phase: gone; jobs: ; " +
			"lane: ; dead letters: 0; entries again: ",
	},
	{
		name: "is retried by a user's own worker", spec: trainingJob,
		tell: func(s *teller) {
			s.settle()
			s.b.fails(s.job(0))
			s.settle()
			s.b.clock.advance(10 * time.Second)
			s.workerCreates(1)
			s.settle()
			s.b.succeeds(s.job(1))
			s.settle()
		},
		shared: 4,
		calls: "patch BillableJob, charge, create Job, status, refund, push, status, patch Job, " +
			"patch Job, status, reclaim, status, patch Job",
		ends: "rows: charge -40, refund +40, reclaim -40; phase: Reclaimed; net: -40; " +
			"attempts: 0 Failed BackoffLimitExceeded, 1 Succeeded; jobs: 0 ended, 1 ended; " +
			"lane: 1 BackoffLimitExceeded; dead letters: 0; entries again: settled",
	},
}

// oneRetry is trainingJob with one retry.
var oneRetry = strings.Replace(trainingJob, "maxRetries: 2", "maxRetries: 1", 1)

// existingJob bills a Job that is there already; its name is put in by the teller.
const existingJob = `
account: team-a
cost: 40
retry: {maxRetries: 2, baseDelay: 5s, maxDelay: 1m}
workloadRef: {apiVersion: batch/v1, kind: Job, name: REFERENCED}
`

// TestEveryCrashPoint lets every call of every story go wrong in every way, one at a time, and wants the story to end as if
// nothing had happened: the same rows, no attempt started twice, the status right.
func TestEveryCrashPoint(t *testing.T) {
	points := 0
	var mu sync.Mutex
	t.Run("stories", func(t *testing.T) {
		for _, s := range stories {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				whole := newTeller(t, b, s, "whole", -1, "")
				whole.tell()
				if got := strings.Join(whole.calls, ", "); got != s.calls {
					t.Fatalf("when nothing goes wrong the calls are\n%s, want\n%s", got, s.calls)
				}
				whole.wantEnd()
				for site, call := range whole.calls[s.shared:] {
					site += s.shared
					for i, m := range mishapsOf(call) {
						t.Run(fmt.Sprintf("at call %d, %s, %s", site, call, m), func(t *testing.T) {
							b.t = t
							broken := newTeller(t, b, s, fmt.Sprintf("p%d-%d", site, i), site, m)
							broken.tell()
							if !broken.happened {
								t.Fatal("the mishap never came to pass")
							}
							broken.wantEnd()
						})
						mu.Lock()
						points++
						mu.Unlock()
					}
				}
				b.t = t
			})
		}
	})
	if points != crashPoints {
		t.Errorf("%d crash points were covered, want %d", points, crashPoints)
	}
}

// crashPoints is two for each call to the API server, three for each to a store, and one more for each that sets a flag
// which demands a row.
const crashPoints = 2*(6+4+2+2+7+7+10+4+4+6) + 3*(2+3+2+2+6+3+4+1+1+3) + (1 + 2 + 0 + 0 + 2 + 2 + 3 + 1 + 1 + 2)

func mishapsOf(call string) []mishap {
	switch call {
	case "charge", "refund", "reclaim":
		return []mishap{requestLost, replyLost, diesAfter, diesBetween}
	case "deliver", "fail again", "redrive", "push", "dead letter", "remove dead letter":
		return []mishap{requestLost, replyLost, diesAfter}
	}
	return []mishap{requestLost, diesAfter}
}

var errDead = errors.New("this manager is dead")

// teller tells one story with at most one mishap.
type teller struct {
	t     *testing.T
	b     *bench
	story story
	bj    string

	// before, if set, comes before each pass and each hand-over; conflicts tells that these may lose a resource version.
	before    func()
	conflicts bool

	site     int
	mishap   mishap
	happened bool
	dead     bool
	calls    []string
	created  []string
	doc      string
	handed   []retry.Entry
}

func newTeller(t *testing.T, b *bench, s story, name string, site int, m mishap) *teller {
	return &teller{t: t, b: b, story: s, bj: name, site: site, mishap: m}
}

func (s *teller) job(n int) string   { return fmt.Sprintf("%s-%d", s.bj, n) }
func (s *teller) referenced() string { return s.bj + "-given" }

func (s *teller) tell() {
	s.t.Helper()
	// The API server stamps creations by its own clock, and no clock of a manager lags behind it for long.
	if lag := time.Now().UTC().Truncate(time.Second).Add(time.Second).Sub(s.b.clock.Now()); lag > 0 {
		s.b.clock.advance(lag)
	}
	if strings.Contains(s.story.spec, "REFERENCED") {
		s.b.createJob(s.referenced())
	}
	bj := s.b.apply(s.bj, strings.ReplaceAll(s.story.spec, "REFERENCED", s.referenced()))
	s.doc = s.b.docID(bj)
	s.restart()
	s.b.fault.script = s.call
	defer func() { s.b.fault.script = nil }()
	s.story.tell(s)
}

func (s *teller) restart() {
	s.dead = false
	s.b.r = s.b.newReconciler(s.b.c)
}

// call stands for every call that leaves the process.
func (s *teller) call(name string, do func() error) error {
	if s.dead {
		return errDead
	}
	site := len(s.calls)
	s.calls = append(s.calls, name)
	if site != s.site {
		err := do()
		if err == nil && name == "create Job" {
			s.created = append(s.created, name)
		}
		return err
	}
	s.happened = true
	before := s.rowIDs()
	if s.mishap == requestLost {
		return errInjected
	}
	if err := do(); err != nil {
		return err
	}
	if name == "create Job" {
		s.created = append(s.created, name)
	}
	if s.mishap == diesBetween {
		s.removeRowsBut(before)
	}
	s.dead = s.mishap != replyLost
	return errInjected
}

func (s *teller) rowIDs() []string {
	rows, err := s.b.books.Rows(s.b.ctx, s.doc)
	must(s.t, err)
	var ids []string
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids
}

// removeRowsBut leaves the books as a writer leaves them that died between flag and row.
func (s *teller) removeRowsBut(keep []string) {
	if keep == nil {
		keep = []string{}
	}
	removed, err := s.b.ledgerCollection().DeleteMany(s.b.ctx, bson.D{
		{Key: "job_id", Value: s.doc}, {Key: "_id", Value: bson.D{{Key: "$nin", Value: keep}}},
	})
	must(s.t, err)
	if removed.DeletedCount == 0 {
		s.t.Error("there was no row to remove between flag and row")
	}
}

// settle makes passes until one changes nothing, and restarts a manager that died.
func (s *teller) settle() {
	s.t.Helper()
	quiet, enough := 0, 1
	if s.before != nil {
		enough = 2 // one for each manager, or for each look of a cache
	}
	for range 30 {
		calls := len(s.calls)
		s.prepare()
		_, err := s.b.r.Reconcile(s.b.ctx, ctrl.Request{NamespacedName: types.NamespacedName{Namespace: s.b.ns, Name: s.bj}})
		s.survive(err)
		if err != nil || calls != len(s.calls) {
			quiet = 0
			continue
		}
		if quiet++; quiet == enough {
			return
		}
	}
	s.t.Fatalf("BillableJob %s never comes to rest; calls: %v", s.bj, s.calls)
}

func (s *teller) prepare() {
	if s.before != nil {
		s.before()
	}
}

// survive takes an error that the mishap explains, and starts a new manager for one that died.
func (s *teller) survive(err error) {
	s.t.Helper()
	if s.conflicts && apierrors.IsConflict(err) {
		return
	}
	if err != nil && !s.happened {
		s.t.Fatalf("a pass failed: %v", err)
	}
	if s.dead {
		s.restart()
	}
}

// due hands over the newest entry when it is due, as the consumer does: again after an error, and once more after it was
// done, since delivery is at least once.
func (s *teller) due(want string) {
	s.t.Helper()
	entry := s.b.lastEntry()
	if entry.JobID != s.doc {
		s.t.Fatalf("the newest entry is about job %s, want %s", entry.JobID, s.doc)
	}
	if wait := entry.NotBefore.Sub(s.b.clock.Now()); wait > 0 {
		s.b.clock.advance(wait)
	}
	s.handed = append(s.handed, entry)
	var result entryResult
	err := errInjected
	for tries := 0; err != nil && tries < 5; tries++ {
		s.prepare()
		result, err = s.b.r.runDue(s.b.ctx, entry)
		s.survive(err)
	}
	must(s.t, err)
	if result.word != want {
		s.t.Fatalf("the due entry was %s, want %s", result.word, want)
	}
	s.settle()
	again, err := s.b.r.runDue(s.b.ctx, entry)
	s.survive(err)
	if err == nil && again.word != want {
		s.t.Fatalf("the same entry, handed over a second time, was %s, want %s", again.word, want)
	}
}

// change edits the BillableJob as a user does.
func (s *teller) change(edit func(*billingv1.BillableJob)) {
	s.t.Helper()
	bj := s.b.get(s.bj)
	edit(bj)
	must(s.t, s.b.c.Update(s.b.ctx, bj))
}

// collectGarbage ends a foreground deletion, as the garbage collector does, which doesn't run here.
func (s *teller) collectGarbage(n int) {
	s.t.Helper()
	s.b.collectGarbage(s.job(n))
}

// workerCreates makes an attempt's Job as a user's own worker does that read the lane.
func (s *teller) workerCreates(n int) {
	s.t.Helper()
	s.b.workerCreates(s.bj, n)
}

func (s *teller) wantDeadLetters(want int) {
	s.t.Helper()
	if got := s.b.deadLetters(s.doc); got != want {
		s.t.Fatalf("the job has %d dead letters, want %d", got, want)
	}
}

func (s *teller) wantEnd() {
	s.t.Helper()
	if got := s.end(); got != s.story.ends {
		s.t.Errorf("the story ends with\n%s, want\n%s\ncalls: %v", got, s.story.ends, s.calls)
	}
	attempts := strings.Count(s.story.calls, "create Job")
	if len(s.created) != attempts {
		s.t.Errorf("%d workloads were created, want %d; calls: %v", len(s.created), attempts, s.calls)
	}
}

// end is what there is to see when all is over, in words.
func (s *teller) end() string {
	s.t.Helper()
	var parts []string
	say := func(what, text string) { parts = append(parts, what+": "+text) }
	rows, err := s.b.books.Rows(s.b.ctx, s.doc)
	must(s.t, err)
	words := []string{}
	for _, r := range rows {
		words = append(words, fmt.Sprintf("%s %+d", r.Type, r.Amount))
	}
	say("rows", strings.Join(words, ", "))

	var bj billingv1.BillableJob
	err = s.b.c.Get(s.b.ctx, types.NamespacedName{Namespace: s.b.ns, Name: s.bj}, &bj)
	if apierrors.IsNotFound(err) {
		say("phase", "gone")
	} else {
		must(s.t, err)
		say("phase", string(bj.Status.Phase))
		say("net", fmt.Sprint(*bj.Status.NetCredits))
		words = nil
		for _, a := range bj.Status.Attempts {
			words = append(words, strings.TrimSpace(fmt.Sprintf("%d %s %s", a.Number, a.Outcome, a.Reason)))
		}
		say("attempts", strings.Join(words, ", "))
	}

	words = nil
	for n := range strings.Count(s.story.calls, "create Job") + 2 {
		var job batchv1.Job
		err := s.b.c.Get(s.b.ctx, types.NamespacedName{Namespace: s.b.ns, Name: s.job(n)}, &job)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			s.t.Fatal(err)
		case len(job.Finalizers) > 0 || job.Status.CompletionTime == nil && job.Status.Failed == 0:
			words = append(words, fmt.Sprintf("%d open, held by %v", n, job.Finalizers))
		default:
			words = append(words, fmt.Sprintf("%d ended", n))
		}
	}
	say("jobs", strings.Join(words, ", "))

	entries := s.b.entriesOf(s.doc)
	words = nil
	for _, e := range entries {
		words = append(words, fmt.Sprintf("%d %s", e.Attempts, e.Reason))
	}
	say("lane", strings.Join(words, ", "))
	say("dead letters", fmt.Sprint(s.b.deadLetters(s.doc)))

	// Whatever is in the lane comes once more: it must change nothing.
	calls := len(s.calls)
	words = nil
	for _, e := range entries {
		result, err := s.b.r.runDue(s.b.ctx, e)
		must(s.t, err)
		words = append(words, result.word)
	}
	if calls != len(s.calls) {
		s.t.Errorf("an entry that came again was acted upon: %v", s.calls[calls:])
	}
	say("entries again", strings.Join(words, ", "))
	return strings.Join(parts, "; ")
}

// entriesOf are the entries of a job in the lane's list, each kind of bytes once, in the order they were first pushed.
func (b *bench) entriesOf(doc string) []retry.Entry {
	b.t.Helper()
	raws, err := b.redis.LRange(b.ctx, b.keys.RetryKey, 0, -1).Result()
	must(b.t, err)
	var list []retry.Entry
	seen := map[string]bool{}
	for _, raw := range raws {
		entry, err := retry.Decode([]byte(raw))
		must(b.t, err)
		if entry.JobID == doc && !seen[raw] {
			seen[raw] = true
			list = append(list, entry)
		}
	}
	return list
}

// deadLetters counts a job's dead letters on the list for people.
func (b *bench) deadLetters(doc string) int {
	b.t.Helper()
	raws, err := b.redis.LRange(b.ctx, b.keys.DeadLetterKey, 0, -1).Result()
	must(b.t, err)
	n := 0
	for _, raw := range raws {
		if strings.Contains(raw, `"job_id":"`+doc+`"`) {
			n++
		}
	}
	return n
}

// createJob makes a Job that no BillableJob knows.
func (b *bench) createJob(name string) *batchv1.Job {
	b.t.Helper()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.ns}}
	zero := int32(0)
	job.Spec.BackoffLimit = &zero
	job.Spec.Template.Spec.RestartPolicy = "Never"
	job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "train", Image: "train"}}
	must(b.t, b.c.Create(b.ctx, job))
	return job
}

// workerCreates makes an attempt's Job with what a user's worker has to put on it: the controller reference and the
// attempt label.
func (b *bench) workerCreates(bj string, n int) {
	b.t.Helper()
	owner := b.get(bj)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("%s-%d", bj, n), Namespace: b.ns,
		Labels:          map[string]string{billingv1.LabelAttempt: fmt.Sprint(n)},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, billingv1.GroupVersion.WithKind("BillableJob"))},
	}}
	zero := int32(0)
	job.Spec.BackoffLimit = &zero
	job.Spec.Template.Spec.RestartPolicy = "Never"
	job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "train", Image: "train"}}
	must(b.t, b.c.Create(b.ctx, job))
}

func (b *bench) collectGarbage(name string) {
	b.t.Helper()
	job := b.job(name)
	if job.DeletionTimestamp == nil {
		b.t.Fatalf("Job %s isn't being deleted", name)
	}
	job.Finalizers = slices.DeleteFunc(job.Finalizers, func(f string) bool { return f == metav1.FinalizerDeleteDependents })
	must(b.t, b.c.Update(b.ctx, job))
}

// rawMongo is one client for what no part of Recoup may do to the books.
var rawMongo = sync.OnceValues(mongoClient)

func (b *bench) ledgerCollection() *mongo.Collection {
	b.t.Helper()
	c, err := rawMongo()
	must(b.t, err)
	return c.Database("recoup_" + strings.ReplaceAll(b.ns, "-", "_")).Collection(ledger.LedgerCollection)
}
