package controllers

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/ledger"
	"recoup.dev/recoup/internal/retry"
)

// nobody listens on this port.
const nobody = "127.0.0.1:1"

// redisGoes puts a lane in the place of the test's whose server is away; redisComesBack ends that.
func (b *bench) redisGoes() {
	b.t.Helper()
	config := b.keys
	config.URL, config.Timeout = "redis://"+nobody+"/0", 500*time.Millisecond
	lane, err := retry.Open(config)
	must(b.t, err)
	b.t.Cleanup(func() { must(b.t, lane.Close()) })
	b.r.Lane = testLane{lane, b}
}

func (b *bench) redisComesBack() { b.r.Lane = testLane{b.lane, b} }

// mongoGoes and mongoComesBack do the same to the books.
func (b *bench) mongoGoes() {
	b.t.Helper()
	books, err := ledger.Open(ledger.Config{URI: "mongodb://" + nobody + "/", Database: "recoup", Timeout: 200 * time.Millisecond})
	must(b.t, err)
	b.t.Cleanup(func() { must(b.t, books.Close(b.t.Context())) })
	b.r.Books = books
}

func (b *bench) mongoComesBack() { b.r.Books = faultyBooks{b.books, b.fault} }

// stores is what the status says about the stores.
func (b *bench) stores(name string) string {
	b.t.Helper()
	c := meta.FindStatusCondition(b.get(name).Status.Conditions, billingv1.ConditionStoresAvailable)
	if c == nil {
		return "nothing"
	}
	return string(c.Status) + " " + c.Reason
}

// failsQuietly wants passes to fail, and all but the first to write nothing.
func (b *bench) failsQuietly(name string) {
	b.t.Helper()
	if b.pass(name) == nil {
		b.t.Fatal("the pass succeeded although a store is away, and nothing would repeat it")
	}
	before := b.versions()
	for range 3 {
		if b.pass(name) == nil {
			b.t.Fatal("the pass succeeded although a store is away, and nothing would repeat it")
		}
	}
	if after := b.versions(); after != before {
		b.t.Errorf("a repeated pass wrote something: resource versions were %s and are %s", before, after)
	}
}

// TestARefundDoesNotWaitForRedis: the lane is away, or full, so that a ping works and a write doesn't. The refund is booked,
// the status says what is wrong, and the entry is written when the lane takes it.
func TestARefundDoesNotWaitForRedis(t *testing.T) {
	for _, c := range []struct {
		name      string
		restart   bool
		goes      func(b *bench)
		comesBack func(b *bench)
	}{
		{"away", false, (*bench).redisGoes, (*bench).redisComesBack},
		{"away beyond a restart of the manager", true, (*bench).redisGoes, (*bench).redisComesBack},
		{"full", false, func(b *bench) {
			for range 4 {
				b.fault.failBefore("push")
				b.fault.failBefore("dead letter")
			}
		}, func(b *bench) { b.fault.before = nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			b := newBench(t)
			bj := b.apply("job", oneRetry)
			b.settle("job")
			b.fails("job-0")
			due := b.clock.Now().Add(10 * time.Second)
			c.goes(b)
			b.failsQuietly("job")
			b.wantRows(bj, "charge -40, refund +40")
			b.wantPhase("job", billingv1.PhaseRefunded)
			g.Expect(b.stores("job")).To(Equal("False RedisUnavailable"))
			g.Expect(b.get("job").Status.NotBefore).To(BeNil(), "nobody will start the retry so far")
			g.Expect(*b.get("job").Status.NetCredits).To(BeZero())

			b.clock.advance(time.Hour)
			if c.restart {
				b.r = b.newReconciler(b.c)
			}
			c.comesBack(b)
			b.settle("job")
			b.wantPhase("job", billingv1.PhaseRetryScheduled)
			g.Expect(b.stores("job")).To(Equal("True Available"))
			entry := b.lastEntry()
			g.Expect(entry.Attempts).To(Equal(1))
			g.Expect(entry.NotBefore).To(Equal(due), "what was booked an hour ago")
			g.Expect(b.entriesOf(b.docID(bj))).To(HaveLen(1))

			g.Expect(b.deliverDue("job").word).To(Equal("started"))
			b.settle("job")
			b.fails("job-1")
			c.goes(b)
			b.failsQuietly("job")
			b.wantPhase("job", billingv1.PhaseRefunded)
			c.comesBack(b)
			b.settle("job")
			b.wantPhase("job", billingv1.PhaseDeadLettered)
			g.Expect(b.deadLetters(b.docID(bj))).To(Equal(1))
			b.wantRows(bj, "charge -40, refund +40")
		})
	}
}

// TestNothingRunsWhileTheBooksAreAway: whatever happens meanwhile is booked when they are back.
func TestNothingRunsWhileTheBooksAreAway(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBench(t)
	newcomer := func(name string) *billingv1.BillableJob { return b.apply(name, trainingJob) }
	running, waiting := newcomer("running"), newcomer("waiting")
	b.settle("running")
	b.settle("waiting")
	b.fails("waiting-0")
	b.settle("waiting")
	entry := b.lastEntry()
	b.clock.advance(10 * time.Second)

	b.mongoGoes()
	before := b.workloads()
	job := newcomer("new")
	b.failsQuietly("new")
	g.Expect(b.stores("new")).To(Equal("False MongoUnavailable"))
	g.Expect(b.get("new").Finalizers).To(BeEmpty())

	b.fails("running-0")
	b.failsQuietly("running")
	g.Expect(b.stores("running")).To(Equal("False MongoUnavailable"))
	g.Expect(b.job("running-0").Finalizers).To(ConsistOf(billingv1.FinalizerOutcome), "its end isn't recorded")

	_, err := b.r.runDue(b.ctx, entry)
	g.Expect(err).To(HaveOccurred(), "the entry has to come back")
	g.Expect(b.workloads()).To(Equal(before), "something was started")

	b.clock.advance(time.Hour)
	b.mongoComesBack()
	for _, name := range []string{"new", "running", "waiting"} {
		b.settle(name)
	}
	b.wantRows(job, "charge -40")
	b.wantPhase("new", billingv1.PhaseCharged)
	g.Expect(b.stores("new")).To(Equal("True Available"))
	b.wantRows(running, "charge -40, refund +40")
	b.wantPhase("running", billingv1.PhaseRetryScheduled)
	g.Expect(b.stores("running")).To(Equal("True Available"))
	g.Expect(b.job("running-0").Finalizers).To(BeEmpty())
	got, err := b.r.runDue(b.ctx, entry)
	must(t, err)
	g.Expect(got.word).To(Equal("started"))
	b.wantRows(waiting, "charge -40, refund +40")
}
