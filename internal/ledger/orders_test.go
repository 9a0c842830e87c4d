package ledger

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// signal is what a caller hears about a job, and does about it: a failure asks
// for a refund first, a success for a delivery first.
type signal struct {
	name    string
	success bool
	failure Failure
}

func (b *books) hear(t *testing.T, belief Job, s signal) error {
	if s.success {
		_, _, err := b.Deliver(t.Context(), belief, twentyPast)
		if errors.Is(err, ErrLost) {
			_, _, err = b.Reclaim(t.Context(), belief, twentyPast)
		}
		return err
	}
	_, _, err := b.Refund(t.Context(), belief, s.failure)
	if errors.Is(err, ErrLost) {
		_, _, err = b.FailAgain(t.Context(), belief, s.failure)
	}
	if errors.Is(err, ErrLost) {
		return nil // delivered: a failure after that matches nothing
	}
	return err
}

// Every order of every subset of the signals ends in one of the legal nets, and
// in -cost if there was a success among them.
func TestEveryOrderOfSignals(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	signals := []signal{
		{name: "fail", failure: retry(0)},
		{name: "fail", failure: giveUp(0)},
		{name: "succeed", success: true},
		{name: "succeed", success: true},
		{name: "late fail", failure: retry(1)},
	}
	count := 0
	for _, order := range orders(len(signals)) {
		names := []string{}
		for _, i := range order {
			names = append(names, signals[i].name)
		}
		name := strings.Join(names, ", ")
		job := aJob(fmt.Sprintf("order-%d", count))
		count++
		job.Account = job.ID
		belief := b.charged(t, job)
		for _, i := range order {
			b.g.Expect(b.hear(t, belief, signals[i])).To(Succeed(), name)
		}
		rows := b.rows(t, job.ID)
		balance, err := b.Balance(t.Context(), job.Account)
		b.g.Expect(err).NotTo(HaveOccurred())
		switch {
		case strings.Contains(name, "succeed"):
			b.g.Expect(balance).To(Equal(int64(-25)), name)
			b.g.Expect(rows).To(BeElementOf([]string{chargeRow}, []string{chargeRow, refundRow, reclaimRow}), name)
		case strings.HasPrefix(name, "fail"), strings.Contains(name, ", fail"):
			b.g.Expect(balance).To(Equal(int64(0)), name)
			b.g.Expect(rows).To(Equal([]string{chargeRow, refundRow}), name)
		default:
			// Nothing, or the failure of an attempt that never began.
			b.g.Expect(balance).To(Equal(int64(-25)), name)
			b.g.Expect(rows).To(Equal([]string{chargeRow}), name)
		}
	}
	b.g.Expect(count).To(Equal(326))
}

// orders returns every order of every subset of n things.
func orders(n int) [][]int {
	all := [][]int{{}}
	for from := 0; from < len(all); from++ {
		for i := range n {
			taken := false
			for _, j := range all[from] {
				taken = taken || i == j
			}
			if !taken {
				all = append(all, append(append([]int{}, all[from]...), i))
			}
		}
	}
	return all
}

func TestOrders(t *testing.T) {
	NewWithT(t).Expect(orders(2)).To(Equal([][]int{{}, {0}, {1}, {0, 1}, {1, 0}}))
}
