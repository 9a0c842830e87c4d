package controllers

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/ledger"
	"recoup.dev/recoup/internal/retry"
)

// emptyLane takes every key of the test's lane away, as FLUSHALL does, and a server that comes back without its disk.
func (b *bench) emptyLane() {
	b.t.Helper()
	keys, err := b.redis.Keys(b.ctx, b.ns+":*").Result()
	must(b.t, err)
	if len(keys) > 0 {
		must(b.t, b.redis.Del(b.ctx, keys...).Err())
	}
}

// list is the raw content of a list.
func (b *bench) list(key string) []string {
	b.t.Helper()
	raws, err := b.redis.LRange(b.ctx, key, 0, -1).Result()
	must(b.t, err)
	return raws
}

func (b *bench) doc() ledger.Job {
	b.t.Helper()
	job, err := b.books.Get(b.ctx, b.docID(b.get("job")))
	must(b.t, err)
	return job
}

func (b *bench) keeper() *LaneKeeper {
	return &LaneKeeper{Lane: b.lane, Books: b.books, Cluster: "test", Log: logr.Discard()}
}

// wakes wants a pass to change nothing and to ask for the next one in so long.
func (b *bench) wakes(want time.Duration) {
	b.t.Helper()
	b.count.reset()
	result, err := b.r.Reconcile(b.ctx, ctrl.Request{NamespacedName: types.NamespacedName{Namespace: b.ns, Name: "job"}})
	must(b.t, err)
	if b.count.redis.Load() != 0 || b.count.apiWrites.Load() != 0 || b.count.statusPatches.Load() != 0 || result.RequeueAfter != want {
		b.t.Fatalf("the pass caused %s and asks for the next one in %s, want nothing, and %s", &b.count, result.RequeueAfter, want)
	}
}

// TestALaneThatWasEmptiedLosesNoRetry empties the lane again and again while a retry waits. Its entry comes back, byte for
// byte, a grace after it was due; the grace doubles, and ends when the attempt appears.
func TestALaneThatWasEmptiedLosesNoRetry(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBench(t)
	bj := b.apply("job", trainingJob)
	b.settle("job")
	b.fails("job-0")
	b.settle("job")
	pushed := b.list(b.keys.RetryKey)
	g.Expect(pushed).To(HaveLen(1))

	b.wakes(40 * time.Second) // due in 10 s, and 30 s of grace
	for _, pause := range []time.Duration{40 * time.Second, 60 * time.Second, 120 * time.Second, 240 * time.Second} {
		b.emptyLane()
		b.clock.advance(pause - time.Second)
		b.wakes(time.Second)
		b.clock.advance(time.Second)
		b.count.reset()
		must(t, b.pass("job"))
		g.Expect(b.list(b.keys.RetryKey)).To(Equal(pushed), "the list after %s", pause)
		g.Expect(b.spent()).To(Equal("mongo 1, status 0, redis 1"))
	}

	// A manager that knows nothing announces it once more, and then as any other.
	b.r = b.newReconciler(b.c)
	must(t, b.pass("job"))
	g.Expect(b.list(b.keys.RetryKey)).To(Equal([]string{pushed[0], pushed[0]}))
	b.wakes(time.Minute)

	g.Expect(b.deliverDue("job").word).To(Equal("started"))
	b.emptyLane()
	b.clock.advance(24 * time.Hour)
	b.wakes(0)
	g.Expect(b.list(b.keys.RetryKey)).To(BeEmpty())
	b.wantRows(bj, "charge -40, refund +40")
}

// TestDeadLettersOfAnEmptiedLaneComeBack: the list for people follows the books.
func TestDeadLettersOfAnEmptiedLaneComeBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBench(t)
	for _, name := range []string{"one", "two"} {
		b.apply(name, noRetries)
		b.settle(name)
		b.fails(name + "-0")
		b.settle(name)
	}
	letters := b.list(b.keys.DeadLetterKey)
	g.Expect(letters).To(HaveLen(2))
	keeper := b.keeper()
	must(t, keeper.keep(b.ctx))
	g.Expect(b.list(b.keys.DeadLetterKey)).To(Equal(letters), "nothing was lost, and nothing is written")

	b.emptyLane()
	must(t, keeper.keep(b.ctx))
	g.Expect(b.list(b.keys.DeadLetterKey)).To(ConsistOf(letters))
	must(t, keeper.keep(b.ctx))
	g.Expect(b.list(b.keys.DeadLetterKey)).To(ConsistOf(letters), "a second look adds nothing")
	g.Expect(b.redis.Get(b.ctx, b.keys.RetryKey+":owner").Val()).To(Equal(b.keys.Owner), "the lane is claimed anew")

	// Emptied while no manager ran, and claimed by another replica since: a keeper's first look compares in any case.
	b.emptyLane()
	must(t, b.redis.Set(b.ctx, b.keys.RetryKey+":owner", b.keys.Owner, 0).Err())
	must(t, b.keeper().keep(b.ctx))
	g.Expect(b.list(b.keys.DeadLetterKey)).To(ConsistOf(letters))
}

// TestARedriveStartsAFreshRoundOnce: the annotation acts once for each number, and a round has all its retries.
func TestARedriveStartsAFreshRoundOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBench(t)
	bj := b.apply("job", oneRetry)
	b.settle("job")
	round := func(first int) {
		t.Helper()
		for _, n := range []int{first, first + 1} {
			b.fails(fmt.Sprintf("job-%d", n))
			b.settle("job")
			if n == first {
				b.wantPhase("job", billingv1.PhaseRetryScheduled)
				g.Expect(b.doc().Retries).To(Equal(1))
				g.Expect(b.lastEntry().NotBefore.Sub(b.clock.Now())).To(Equal(10*time.Second), "the back-off of a first retry")
				g.Expect(b.deliverDue("job").word).To(Equal("started"))
			}
		}
		b.wantPhase("job", billingv1.PhaseDeadLettered)
		g.Expect(b.deadLetters(b.docID(bj))).To(Equal(1))
	}
	round(0)

	b.annotate("job", billingv1.AnnotationRedrive, "1")
	b.settle("job")
	b.wantPhase("job", billingv1.PhaseDeadLettered) // there was no redrive so far

	b.annotate("job", billingv1.AnnotationRedrive, "0")
	b.settle("job")
	b.wantPhase("job", billingv1.PhaseRetryScheduled)
	g.Expect(b.deadLetters(b.docID(bj))).To(Equal(0))
	doc := b.doc()
	g.Expect([]int{doc.Attempt, doc.Retries, doc.Redrives}).To(Equal([]int{2, 0, 1}), "attempt, retries, redrives")
	entry := b.lastEntry()
	g.Expect(entry.Attempts).To(Equal(2))
	g.Expect(entry.NotBefore).To(Equal(b.clock.Now().Truncate(time.Millisecond)), "a redrive is due at once")
	g.Expect(b.deliverDue("job").word).To(Equal("started"))
	b.settle("job")
	round(2)

	// The number that acted is still there.
	b.settle("job")
	b.r = b.newReconciler(b.c)
	b.settle("job")
	b.wantPhase("job", billingv1.PhaseDeadLettered)
	g.Expect(b.doc().Redrives).To(Equal(1))

	b.annotate("job", billingv1.AnnotationRedrive, "1")
	b.settle("job")
	g.Expect(b.deliverDue("job").word).To(Equal("started"))
	b.succeeds("job-4")
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40, reclaim -40")
	b.wantPhase("job", billingv1.PhaseReclaimed)
}

// TestAnEntryIsOnlyAHint hands over entries that the books have no use for: nothing is started and nothing written.
func TestAnEntryIsOnlyAHint(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBench(t)
	waiting := func(name string) retry.Entry {
		b.apply(name, trainingJob)
		b.settle(name)
		b.fails(name + "-0")
		b.settle(name)
		return b.lastEntry()
	}

	delivered := waiting("delivered")
	b.annotate("delivered", billingv1.AnnotationDeliveredAt, "2026-01-01T00:00:00Z")
	b.settle("delivered")
	older := waiting("older")
	b.deliverDue("older")
	b.fails("older-1")
	b.settle("older")
	newer := older
	newer.Attempts = 17
	cancelled := waiting("cancelled")
	b.cancel("cancelled")
	b.settle("cancelled")
	gone := waiting("gone")
	must(t, b.c.Delete(b.ctx, b.get("gone")))
	b.settle("gone")
	unknown := gone
	unknown.JobID = ledger.JobID("test", b.ns, "nobody")
	b.apply("dead", noRetries)
	b.settle("dead")
	b.fails("dead-0")
	b.settle("dead")
	dead := gone
	dead.JobID = b.docID(b.get("dead"))
	b.apply("running", trainingJob)
	b.settle("running")
	running := gone
	running.JobID = b.docID(b.get("running"))
	b.clock.advance(time.Minute) // all of them are due, but for the last
	early := waiting("early")

	before, workloads := b.versions(), b.workloads()
	for _, c := range []struct {
		name  string
		entry retry.Entry
		word  string
		later time.Time
	}{
		{"delivered", delivered, "settled", time.Time{}},
		{"an older attempt", older, "outdated", time.Time{}},
		{"an attempt that nobody planned", newer, "outdated", time.Time{}},
		{"cancelled", cancelled, "settled", time.Time{}},
		{"deleted", gone, "gone", time.Time{}},
		{"never charged", unknown, "unknown", time.Time{}},
		{"dead-lettered", dead, "settled", time.Time{}},
		{"charged and running", running, "settled", time.Time{}},
		{"not due", early, "early", early.NotBefore},
	} {
		got, err := b.r.runDue(b.ctx, c.entry)
		must(t, err)
		g.Expect(got).To(Equal(entryResult{word: c.word, later: c.later}), c.name)
	}
	g.Expect(b.versions()).To(Equal(before))
	g.Expect(b.workloads()).To(Equal(workloads))
}

// TestAUsersWorkerRunsTheRetry: the consumer is off. What an old replica parked goes back to the list, and a worker takes an
// attempt by creating its workload, or by saying that it started it.
func TestAUsersWorkerRunsTheRetry(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBench(t)
	bj := b.apply("job", "deadline: 5m\n"+trainingJob)
	b.settle("job")
	b.fails("job-0")
	b.settle("job")
	entries := b.list(b.keys.RetryKey)
	batch, err := b.lane.Take(b.ctx, 10) // an old replica's last act
	must(t, err)
	g.Expect(batch.Due).To(BeEmpty())
	g.Expect(b.list(b.keys.RetryKey)).To(BeEmpty())
	keeper := b.keeper()
	must(t, keeper.flush(b.ctx))
	g.Expect(b.list(b.keys.RetryKey)).To(Equal(entries))

	// A worker that creates the workload.
	b.clock.advance(10 * time.Second)
	b.workerCreates("job", 1)
	b.settle("job")
	g.Expect(b.job("job-1").Finalizers).To(ConsistOf(billingv1.FinalizerOutcome), "it is held until its outcome is recorded")
	b.emptyLane()
	b.clock.advance(time.Hour)
	b.wakes(0)
	b.fails("job-1")
	b.settle("job")
	g.Expect(b.lastEntry().Attempts).To(Equal(2))

	// A worker that runs the attempt elsewhere and says so. The deadline runs from its start.
	b.clock.advance(time.Minute)
	b.annotate("job", billingv1.AnnotationStartedAt, "2@"+b.clock.Now().Format(time.RFC3339))
	b.settle("job")
	b.wantPhase("job", billingv1.PhaseRunning)
	b.emptyLane()
	b.wakes(5 * time.Minute)
	b.clock.advance(5 * time.Minute)
	b.settle("job")
	b.wantPhase("job", billingv1.PhaseDeadLettered)
	b.wantRows(bj, "charge -40, refund +40")
	g.Expect(b.list(b.keys.RetryKey)).To(BeEmpty(), "an attempt that runs elsewhere was announced again")

	b.annotate("job", billingv1.AnnotationDeliveredAt, b.clock.Now().Format(time.RFC3339))
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40, reclaim -40")
	b.wantPhase("job", billingv1.PhaseReclaimed)
}
