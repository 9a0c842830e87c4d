package retry

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// Whenever a Wait is cancelled, the list holds all entries in their order.
func TestCancelledWaitsMoveNothing(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	want := []string{}
	for i := range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%10)*100*time.Microsecond)
		ended := make(chan error, 1)
		go func() { ended <- l.Wait(ctx, time.Minute) }()
		e := l.entry(fmt.Sprintf("j%03d", i), -time.Minute)
		l.g.Expect(l.Push(t.Context(), e)).To(Succeed())
		l.g.Eventually(ended, 2*time.Second, time.Millisecond).Should(Receive())
		cancel()
		want = append(want, e.Name)
	}
	l.g.Expect(names(l.take(1000).Due)).To(Equal(want))
}

// Whenever a Take is cancelled, each entry is handed out, now or after its lease.
func TestCancelledTakesLoseNothing(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	l.lease = shortLease
	const n = 200
	for i := range n {
		l.push(l.entry(fmt.Sprintf("j%03d", i), -time.Minute))
	}
	seen := map[string]bool{}
	see := func(batch Batch) {
		for _, d := range batch.Due {
			seen[d.Entry.Name] = true
			l.g.Expect(l.Ack(t.Context(), d)).To(Succeed())
		}
	}
	for i := range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*10*time.Microsecond)
		// What it returned before its end counts; an error means that nothing is known.
		if batch, err := l.Take(ctx, 2); err == nil {
			see(batch)
		}
		cancel()
	}
	l.g.Eventually(func() map[string]bool {
		see(l.take(n))
		return seen
	}, 10*time.Second, 5*time.Millisecond).Should(HaveLen(n))
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 0, 0, 0}))
}

// A call whose context has ended does nothing and says so.
func TestCallsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	l.push(l.entry("j", -time.Second))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.Take(ctx, 1)
	l.g.Expect(err).To(MatchError(context.Canceled))
	l.g.Expect(l.Push(ctx, l.entry("k", 0))).To(MatchError(context.Canceled))
	l.g.Expect(l.Wait(ctx, time.Minute)).To(MatchError(context.Canceled))
	l.g.Expect(l.depth()).To(Equal([4]int64{1, 0, 0, 0}))
}
