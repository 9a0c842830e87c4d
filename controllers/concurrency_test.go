package controllers

import (
	"context"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/ledger"
)

const crowdSize = 100

// crowd makes every manager wait at the same guard until all have come there, so that all calls are under way at once.
type crowd struct {
	Books
	gate *gate
}

type gate struct {
	mu      sync.Mutex
	waiting int
	open    chan struct{}
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) pass(ctx context.Context) error {
	g.mu.Lock()
	g.waiting++
	if g.waiting == crowdSize {
		close(g.open)
	}
	g.mu.Unlock()
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c crowd) Refund(ctx context.Context, j ledger.Job, f ledger.Failure) (ledger.Job, ledger.Outcome, error) {
	if err := c.gate.pass(ctx); err != nil {
		return ledger.Job{}, 0, err
	}
	return c.Books.Refund(ctx, j, f)
}

func (c crowd) Reclaim(ctx context.Context, j ledger.Job, at time.Time) (ledger.Job, ledger.Outcome, error) {
	if err := c.gate.pass(ctx); err != nil {
		return ledger.Job{}, 0, err
	}
	return c.Books.Reclaim(ctx, j, at)
}

// rush lets a hundred managers make a pass at once. Whoever loses the status' resource version comes again by the queue;
// to lose the books' guard is no error at all.
func (b *bench) rush(name string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	g := newGate()
	var wg sync.WaitGroup
	for range crowdSize {
		r := b.newReconciler(b.c)
		r.Books = crowd{r.Books, g}
		wg.Go(func() {
			_, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: types.NamespacedName{Namespace: b.ns, Name: name}})
			if err != nil && !apierrors.IsConflict(err) {
				b.t.Errorf("a pass failed: %v", err)
			}
		})
	}
	wg.Wait()
	if g.waiting != crowdSize {
		b.t.Fatalf("%d managers came to the guard, want %d", g.waiting, crowdSize)
	}
}

func TestAHundredFailureSignalsAreOneRefund(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", "deadline: 30s\n"+trainingJob)
	b.settle("job")
	b.runs("job-0")
	b.settle("job")
	b.clock.advance(time.Minute)
	b.annotate("job", billingv1.AnnotationFailedAt, "0@2026-01-01T00:00:00Z")
	b.fails("job-0")

	b.rush("job")
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40")
	b.wantPhase("job", billingv1.PhaseRetryScheduled)
	doc, err := b.books.Get(b.ctx, b.docID(bj))
	must(t, err)
	if doc.Attempt != 1 || doc.Retries != 1 {
		t.Errorf("the books are at attempt %d after %d retries, want 1 after 1: an attempt fails once", doc.Attempt, doc.Retries)
	}
	// Each manager may have told the lane of the retry. All told it the same, and it starts once.
	if entries := b.entriesOf(b.docID(bj)); len(entries) != 1 {
		t.Errorf("the lane holds %d different entries, want 1", len(entries))
	}
	if got := b.deliverDue("job").word; got != "started" {
		t.Fatalf("the entry was %s, want started", got)
	}
	uid := b.job("job-1").UID
	if got := b.deliverDue("job").word; got != "started" || b.job("job-1").UID != uid {
		t.Errorf("the entry that came twice was %s, and Job job-1 is another: %t", got, b.job("job-1").UID != uid)
	}
}

func TestAHundredSuccessSignalsAreOneReclaim(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", trainingJob)
	b.settle("job")
	b.annotate("job", billingv1.AnnotationFailedAt, "0@2026-01-01T00:00:00Z")
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40")
	b.succeeds("job-0")
	b.annotate("job", billingv1.AnnotationDeliveredAt, "2026-01-01T00:00:00Z")

	b.rush("job")
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40, reclaim -40")
	b.wantPhase("job", billingv1.PhaseReclaimed)
}

// TestAHundredHandOversStartOneAttempt gives the same due entry to a hundred managers at once, as a lane may that delivers
// at least once.
func TestAHundredHandOversStartOneAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", trainingJob)
	b.settle("job")
	b.fails("job-0")
	b.settle("job")
	entry := b.lastEntry()
	b.clock.advance(10 * time.Second)

	var wg sync.WaitGroup
	var mu sync.Mutex
	words := map[string]int{}
	for range crowdSize {
		r := b.newReconciler(b.c)
		wg.Go(func() {
			result, err := r.runDue(b.ctx, entry)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				words["error"]++
			} else {
				words[result.word]++
			}
		})
	}
	wg.Wait()
	if words["started"] == 0 || words["started"]+words["error"] != crowdSize {
		t.Errorf("the entry was %v, want started, or an error that brings it back", words)
	}
	b.settle("job")
	if got := b.deliverDue("job").word; got != "started" {
		t.Errorf("the entry was %s afterwards, want started", got)
	}
	b.wantRows(bj, "charge -40, refund +40")
	if n := len(b.get("job").Status.Attempts); n != 2 {
		t.Errorf("the status records %d attempts, want 2", n)
	}
}
