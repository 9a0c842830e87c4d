package ledger

import (
	"context"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// tried is an edge as a caller asks for it.
type tried func(context.Context, *Store, Job) (Job, Outcome, error)

// triedEdges are the columns of the matrix.
var triedEdges = map[string]tried{
	"charge":  func(ctx context.Context, s *Store, j Job) (Job, Outcome, error) { return s.Charge(ctx, j) },
	"deliver": func(ctx context.Context, s *Store, j Job) (Job, Outcome, error) { return s.Deliver(ctx, j, twentyPast) },
	"refund0": func(ctx context.Context, s *Store, j Job) (Job, Outcome, error) { return s.Refund(ctx, j, retry(0)) },
	"dead0":   func(ctx context.Context, s *Store, j Job) (Job, Outcome, error) { return s.Refund(ctx, j, giveUp(0)) },
	"cancel0": func(ctx context.Context, s *Store, j Job) (Job, Outcome, error) {
		return s.Refund(ctx, j, cancellation(0))
	},
	"refund1": func(ctx context.Context, s *Store, j Job) (Job, Outcome, error) { return s.Refund(ctx, j, retry(1)) },
	"reclaim": func(ctx context.Context, s *Store, j Job) (Job, Outcome, error) { return s.Reclaim(ctx, j, twentyPast) },
	"again0":  func(ctx context.Context, s *Store, j Job) (Job, Outcome, error) { return s.FailAgain(ctx, j, retry(0)) },
	"again1":  func(ctx context.Context, s *Store, j Job) (Job, Outcome, error) { return s.FailAgain(ctx, j, retry(1)) },
	"dead1": func(ctx context.Context, s *Store, j Job) (Job, Outcome, error) {
		return s.FailAgain(ctx, j, giveUp(1))
	},
	"again2": func(ctx context.Context, s *Store, j Job) (Job, Outcome, error) { return s.FailAgain(ctx, j, retry(2)) },
	"redrive0": func(ctx context.Context, s *Store, j Job) (Job, Outcome, error) {
		j.Redrives = 0
		return s.Redrive(ctx, j, halfPast, nine)
	},
	"redrive1": func(ctx context.Context, s *Store, j Job) (Job, Outcome, error) {
		j.Redrives = 1
		return s.Redrive(ctx, j, halfPast, nine)
	},
}

// matrix is every edge from every reachable state. A state is the edges that
// lead to it.
//
//	won     the edge starts there
//	there   the state is what the edge leads to, or past it
//	lost    the edge starts elsewhere, and nothing changes
//	absent  there is no document
const matrix = `
state                                  charge deliver refund0 dead0 cancel0 refund1 reclaim again0 again1 dead1 again2 redrive0 redrive1
-                                      won    absent  absent  absent absent absent  absent  absent absent absent absent absent   absent
charge                                 there  won     won     won   won     lost    lost    lost   lost   lost  lost   lost     lost
charge,deliver                         there  there   lost    lost  lost    lost    lost    lost   lost   lost  lost   lost     lost
charge,cancel0                         there  lost    there   there there   lost    won     won    lost   lost  lost   lost     lost
charge,refund0                         there  lost    there   there there   lost    won     there  won    won   lost   lost     lost
charge,dead0                           there  lost    there   there there   lost    won     there  lost   lost  lost   won      lost
charge,refund0,again1                  there  lost    there   there there   lost    won     there  there  there won    lost     lost
charge,refund0,dead1                   there  lost    there   there there   lost    won     there  there  there lost   won      lost
charge,dead0,redrive0                  there  lost    there   there there   lost    won     there  won    won   lost   there    lost
charge,dead0,redrive0,dead1            there  lost    there   there there   lost    won     there  there  there lost   there    won
charge,refund0,dead1,redrive0          there  lost    there   there there   lost    won     there  there  there won    there    lost
charge,cancel0,reclaim                 there  there   there   there there   lost    there   lost   lost   lost  lost   lost     lost
charge,refund0,reclaim                 there  there   there   there there   lost    there   there  lost   lost  lost   lost     lost
charge,dead0,reclaim                   there  there   there   there there   lost    there   there  lost   lost  lost   lost     lost
charge,refund0,dead1,reclaim           there  there   there   there there   lost    there   there  there  there lost   lost     lost
charge,dead0,redrive0,reclaim          there  there   there   there there   lost    there   there  lost   lost  lost   there    lost
`

// rowsAfter is what the ledger holds after a path, literally.
func rowsAfter(path string) []string {
	switch {
	case strings.Contains(path, "reclaim"):
		return []string{chargeRow, refundRow, reclaimRow}
	case strings.Contains(path, "refund0"), strings.Contains(path, "dead0"), strings.Contains(path, "cancel0"):
		return []string{chargeRow, refundRow}
	case strings.Contains(path, "charge"):
		return []string{chargeRow}
	default:
		return []string{}
	}
}

func TestEveryEdgeFromEveryState(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	lines := strings.Split(strings.TrimSpace(matrix), "\n")
	columns := strings.Fields(lines[0])[1:]
	NewWithT(t).Expect(columns).To(HaveLen(len(triedEdges)))
	for i, line := range lines[1:] {
		fields := strings.Fields(line)
		path := strings.Trim(fields[0], "-")
		for j, column := range columns {
			for _, stale := range []bool{false, true} {
				name := fmt.Sprintf("%s/%s/stale=%v", fields[0], column, stale)
				t.Run(name, func(t *testing.T) {
					g := NewWithT(t)
					job := aJob(fmt.Sprintf("matrix-%d-%d-%v", i, j, stale))
					stood := b.walk(t, job, path)
					belief := stood
					if stale {
						belief = job
					}
					b.forget()
					now, outcome, err := triedEdges[column](t.Context(), b.Store, belief)
					want := fields[j+1]
					g.Expect(word(outcome, err)).To(Equal(want))
					if want == "won" && (!stale || column == "charge") {
						g.Expect(b.sent()).To(HaveLen(2), "the budget of a transition that is won")
					}
					after := path
					if want == "won" {
						after += "," + column
					}
					g.Expect(b.rows(t, job.ID)).To(Equal(rowsAfter(after)))
					if want == "absent" {
						g.Expect(now).To(BeZero())
						return
					}
					stands, err := b.Get(t.Context(), job.ID)
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(now).To(Equal(stands), "the document that the edge returned")
					if want != "won" && path != "" {
						g.Expect(stands).To(Equal(stood), "a call that wins nothing changes nothing")
					}
				})
			}
		}
	}
}

// walk brings a new job along a path of edges, each of which must win.
func (b *books) walk(t *testing.T, job Job, path string) Job {
	t.Helper()
	g := NewWithT(t)
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == ',' }) {
		now, outcome, err := triedEdges[step](t.Context(), b.Store, job)
		g.Expect(word(outcome, err)).To(Equal("won"), step)
		job = now
	}
	return job
}
