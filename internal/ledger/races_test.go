package ledger

import (
	"fmt"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
)

// race makes n calls at once and counts how they ended.
func race(n int, call func(i int) string) map[string]int {
	var (
		start, done sync.WaitGroup
		mu          sync.Mutex
		ends        = map[string]int{}
	)
	start.Add(1)
	for i := range n {
		done.Go(func() {
			start.Wait()
			end := call(i)
			mu.Lock()
			defer mu.Unlock()
			ends[end]++
		})
	}
	start.Done()
	done.Wait()
	return ends
}

func TestAHundredAtOnceAreOne(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	for _, r := range []struct {
		edge, from string
		rows       []string
	}{
		{"charge", "", []string{chargeRow}},
		{"deliver", "charge", []string{chargeRow}},
		{"refund0", "charge", []string{chargeRow, refundRow}},
		{"dead0", "charge", []string{chargeRow, refundRow}},
		{"reclaim", "charge,refund0", []string{chargeRow, refundRow, reclaimRow}},
		{"again1", "charge,refund0", []string{chargeRow, refundRow}},
		{"dead1", "charge,refund0", []string{chargeRow, refundRow}},
		{"redrive0", "charge,dead0", []string{chargeRow, refundRow}},
	} {
		t.Run(r.edge, func(t *testing.T) {
			g := NewWithT(t)
			job := b.walk(t, aJob("hundred-"+r.edge), r.from)
			ends := race(100, func(int) string {
				_, outcome, err := triedEdges[r.edge](t.Context(), b.Store, job)
				return word(outcome, err)
			})
			g.Expect(ends).To(Equal(map[string]int{"won": 1, "there": 99}))
			g.Expect(b.rows(t, job.ID)).To(Equal(r.rows))
		})
	}
}

func TestDeliverAndRefundHaveOneWinner(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	wins := map[string]int{}
	for i := range 50 {
		job := b.charged(t, aJob(fmt.Sprintf("duel-%d", i)))
		var mu sync.Mutex
		var winner string
		ends := race(8, func(i int) string {
			edge := []string{"deliver", "refund0"}[i%2]
			_, outcome, err := triedEdges[edge](t.Context(), b.Store, job)
			if err == nil && outcome == Won {
				mu.Lock()
				defer mu.Unlock()
				winner = edge
			}
			return word(outcome, err)
		})
		b.g.Expect(ends).To(Equal(map[string]int{"won": 1, "there": 3, "lost": 4}))
		b.g.Expect(b.rows(t, job.ID)).To(Equal(rowsAfter("charge," + winner)))
		wins[winner]++
	}
	t.Logf("winners: %v", wins)
}

// An attempt fails once, whatever is said to follow from it.
func TestRetryAndDeadLetterOfOneAttemptHaveOneWinner(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	for i := range 20 {
		job := b.refunded(t, aJob(fmt.Sprintf("twins-%d", i)))
		ends := race(8, func(i int) string {
			edge := []string{"again1", "dead1"}[i%2]
			_, outcome, err := triedEdges[edge](t.Context(), b.Store, job)
			return word(outcome, err)
		})
		b.g.Expect(ends).To(Equal(map[string]int{"won": 1, "there": 7}))
		b.g.Expect(b.rows(t, job.ID)).To(Equal([]string{chargeRow, refundRow}))
	}
}
