package retry

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

func TestEntriesComeWhenTheyAreDue(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	l.push(l.entry("later", 400*time.Millisecond), l.entry("now", -time.Minute), l.entry("tomorrow", 24*time.Hour))
	tomorrow := l.entry("tomorrow", 24*time.Hour)

	batch := l.take(10)
	l.g.Expect(names(batch.Due)).To(Equal([]string{"now"}))
	l.g.Expect(batch.Poison).To(BeEmpty())
	l.g.Expect(batch.More).To(BeFalse())
	l.g.Expect(batch.NextDue).To(BeTemporally("~", l.serverTime(), 500*time.Millisecond))
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 2, 1, 0}))
	l.g.Expect(l.Ack(t.Context(), batch.Due[0])).To(Succeed())

	var late Batch
	l.g.Eventually(func() []string {
		late = l.take(10)
		l.g.Expect(late.Due == nil || !l.serverTime().Before(late.Due[0].Entry.NotBefore)).To(BeTrue(), "it came early")
		return names(late.Due)
	}, 5*time.Second, time.Millisecond).Should(Equal([]string{"later"}))
	l.g.Expect(l.Ack(t.Context(), late.Due[0])).To(Succeed())

	batch = l.take(10)
	l.g.Expect(batch.Due).To(BeEmpty())
	l.g.Expect(batch.NextDue).To(BeTemporally("~", tomorrow.NotBefore, time.Minute))
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 1, 0, 0}))
}

func TestAnEmptyLaneHasNothing(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	l.g.Expect(l.take(10)).To(Equal(Batch{}))
	_, err := l.Take(t.Context(), 0)
	l.g.Expect(err).To(MatchError(ContainSubstring("take at least 1")))
}

// The limit bounds what is in hand, not what is sorted; nothing is handed out of
// turn and nothing twice.
func TestTheLimitBoundsWhatIsInHand(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	for i := range 200 {
		// The last is the longest due.
		l.push(l.entry(fmt.Sprintf("j%03d", i), -time.Duration(i)*time.Second))
	}
	first := l.take(5)
	l.g.Expect(names(first.Due)).To(Equal([]string{"j000", "j001", "j002", "j003", "j004"}))
	l.g.Expect(first.More).To(BeTrue())
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 195, 5, 0}))

	// What was parked for want of room comes by due time.
	l.push(l.entry("new", -time.Hour))
	second := l.take(3)
	l.g.Expect(names(second.Due)).To(Equal([]string{"j199", "j198", "j197"}))

	seen := map[string]int{}
	for _, b := range []Batch{first, second} {
		for _, name := range names(b.Due) {
			seen[name]++
		}
	}
	for more := true; more; {
		batch := l.take(50)
		l.g.Expect(len(batch.Due)).To(BeNumerically("<=", 50))
		for _, name := range names(batch.Due) {
			seen[name]++
		}
		more = batch.More
	}
	l.g.Expect(seen).To(HaveLen(201))
	for name, n := range seen {
		l.g.Expect(n).To(Equal(1), name)
	}
}

// A pass is bounded in new entries and in bytes.
func TestAPassIsBounded(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	for i := range 2*scanLimit + 1 {
		l.push(l.entry(fmt.Sprintf("j%d", i), time.Hour))
	}
	l.g.Expect(l.take(1).More).To(BeTrue())
	l.g.Expect(l.depth()).To(Equal([4]int64{scanLimit + 1, scanLimit, 0, 0}))
	l.g.Expect(l.take(1).More).To(BeTrue())
	l.g.Expect(l.take(1).More).To(BeFalse())
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 2*scanLimit + 1, 0, 0}))

	for i := range 10 {
		l.pushRaw(fmt.Sprintf("%d", i) + strings.Repeat("x", 1<<20))
	}
	batch := l.take(100)
	l.g.Expect(batch.Poison).To(HaveLen(4))
	l.g.Expect(batch.More).To(BeTrue())
	l.g.Expect(l.take(100).Poison).To(HaveLen(4))
	l.g.Expect(l.take(100).Poison).To(HaveLen(2))
}

func TestTheSameBytesWaitOnce(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	later, now := l.entry("later", 300*time.Millisecond), l.entry("now", -time.Second)

	// On the list, parked, and in hand.
	l.push(later, later)
	l.g.Expect(l.take(10).Due).To(BeEmpty())
	l.push(later)
	l.g.Expect(l.take(10).Due).To(BeEmpty())
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 1, 0, 0}))

	l.push(now, now)
	batch := l.take(10)
	l.g.Expect(names(batch.Due)).To(Equal([]string{"now"}))
	l.push(now)
	l.g.Expect(names(l.take(10).Due)).NotTo(ContainElement("now"))
	l.g.Expect(l.Ack(t.Context(), batch.Due[0])).To(Succeed())

	l.g.Eventually(func() []string { return names(l.take(10).Due) }, 5*time.Second, time.Millisecond).Should(Equal([]string{"later"}))
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 0, 1, 0}))

	// Once it is done, pushing it again is a new hint.
	l.push(now)
	l.g.Expect(names(l.take(10).Due)).To(Equal([]string{"now"}))
}

// Also where there is no room for what is pushed.
func TestWhatIsInHandIsNotParked(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	a, b := l.entry("a", -time.Second), l.entry("b", -time.Second)
	l.push(a)
	l.g.Expect(names(l.take(1).Due)).To(Equal([]string{"a"}))
	l.push(b, a)
	l.g.Expect(names(l.take(1).Due)).To(Equal([]string{"b"}))
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 0, 2, 0}))
}

// An entry that was put off and is pushed again comes at the earlier time, once.
func TestAPushRepairsADueTime(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	e := l.entry("j", -time.Second)
	l.push(e)
	l.g.Expect(l.Release(t.Context(), l.take(1).Due[0], l.serverTime().Add(time.Hour))).To(Succeed())
	l.g.Expect(l.take(1).Due).To(BeEmpty())
	l.push(e)
	l.g.Expect(names(l.take(1).Due)).To(Equal([]string{"j"}))
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 0, 1, 0}))
}

func TestReleasedEntriesComeBackWhenTheyAreDue(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	l.push(l.entry("j", -time.Second))
	d := l.take(1).Due[0]
	at := l.serverTime().Add(200 * time.Millisecond)
	l.g.Expect(l.Release(t.Context(), d, at)).To(Succeed())
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 1, 0, 0}))
	batch := l.take(1)
	l.g.Expect(batch.Due).To(BeEmpty())
	l.g.Expect(batch.NextDue).To(BeTemporally("~", at, time.Millisecond))
	l.g.Expect(batch.NextDue).NotTo(BeTemporally("<", at.Truncate(time.Millisecond)))
	l.g.Eventually(func() []Delivery { return l.take(1).Due }, 5*time.Second, time.Millisecond).Should(Equal([]Delivery{d}))
	l.g.Expect(l.serverTime()).NotTo(BeTemporally("<", at))
}

// However many consumers there are, each entry goes to one of them.
func TestConsumersShareWithoutOverlap(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	const n = 1000
	at := l.entry("j", 300*time.Millisecond)
	var entries []Entry
	for i := range n {
		// They all failed in the same millisecond.
		e := at
		e.Name = fmt.Sprintf("j%d", i)
		e.JobID = "c1/team-a/" + e.Name
		entries = append(entries, e)
	}
	l.push(entries...)

	var mu sync.Mutex
	seen := map[string]int{}
	total := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(seen)
	}
	deadline := time.Now().Add(20 * time.Second)
	var wg sync.WaitGroup
	for _, consumer := range []*lane{l, l.twin()} {
		wg.Go(func() {
			for total() < n && time.Now().Before(deadline) {
				batch, err := consumer.Take(t.Context(), 16)
				if err != nil {
					t.Error(err)
					return
				}
				for _, d := range batch.Due {
					mu.Lock()
					seen[d.Entry.Name]++
					mu.Unlock()
					if err := consumer.Ack(t.Context(), d); err != nil {
						t.Error(err)
						return
					}
				}
				if !batch.More {
					if err := consumer.Wait(t.Context(), 5*time.Millisecond); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	l.g.Expect(seen).To(HaveLen(n))
	for name, times := range seen {
		l.g.Expect(times).To(Equal(1), name)
	}
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 0, 0, 0}))
}

// The script reads due times as Go does, to the millisecond and rounded up, for
// any calendar day.
func TestDueTimesAreReadRight(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	now := l.serverTime()
	want := map[string]int64{}
	add := func(at time.Time) {
		e := anEntry()
		e.NotBefore = at
		raw, err := e.Encode()
		l.g.Expect(err).NotTo(HaveOccurred())
		ms := at.UnixMilli()
		if at.Sub(time.UnixMilli(ms)) > 0 {
			ms++
		}
		want[string(raw)] = ms
	}
	for _, text := range []string{
		"2096-02-29T23:59:59.999Z", "2100-02-28T23:59:59Z", "2100-03-01T00:00:00Z", "2400-02-29T12:00:00Z",
		"2099-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999Z", "2050-01-01T00:00:00.000000001Z", "2050-01-01T00:00:00.1Z",
	} {
		at, err := time.Parse(time.RFC3339Nano, text)
		l.g.Expect(err).NotTo(HaveOccurred())
		add(at)
	}
	last := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC).Unix()
	times := rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(now.Unix()+3600, last).Draw(t, "s"), rapid.Int64Range(0, 999999999).Draw(t, "ns")).UTC()
	})
	for seed := range 400 {
		add(times.Example(seed))
	}
	for raw := range want {
		l.pushRaw(raw)
	}
	l.g.Expect(l.take(1).Poison).To(BeEmpty())
	parked, err := l.rdb.ZRangeWithScores(t.Context(), l.keys.parked, 0, -1).Result()
	l.g.Expect(err).NotTo(HaveOccurred())
	l.g.Expect(parked).To(HaveLen(len(want)))
	for _, z := range parked {
		l.g.Expect(int64(z.Score)).To(Equal(want[z.Member.(string)]), "%s", z.Member)
	}
}

// The same in the past, where all are due.
func TestPastDueTimesAreReadRight(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	for _, text := range []string{"0001-01-01T00:00:01Z", "1969-12-31T23:59:59.5Z", "1970-01-01T00:00:00Z", "2000-02-29T00:00:00Z", "2024-02-29T00:00:00.123456789Z"} {
		e := anEntry()
		var err error
		e.NotBefore, err = time.Parse(time.RFC3339Nano, text)
		l.g.Expect(err).NotTo(HaveOccurred())
		l.push(e)
	}
	batch := l.take(10)
	l.g.Expect(batch.Due).To(HaveLen(5))
	l.g.Expect(batch.Poison).To(BeEmpty())
}
