package ledger

import (
	"flag"
	"fmt"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

// model is the table of edges told a second time, without a filter in sight:
// what a person would keep on a sheet of paper.
type model struct {
	open, refunded, reclaimed, delivered, dead bool
	attempt, retries, redrives                 int
	// unbooked: a writer died after the document and before its rows.
	unbooked bool
}

func (m *model) charge() string {
	if m.open {
		return "there"
	}
	m.open = true
	return "won"
}

func (m *model) deliver() string {
	switch {
	case !m.open:
		return "absent"
	case m.delivered:
		return "there"
	case m.refunded:
		return "lost"
	}
	m.delivered = true
	return "won"
}

func (m *model) reclaim() string {
	switch {
	case !m.open:
		return "absent"
	case m.reclaimed:
		return "there"
	case !m.refunded:
		return "lost"
	}
	m.reclaimed, m.delivered = true, true
	return "won"
}

func (m *model) refund(f Failure) string {
	switch {
	case !m.open:
		return "absent"
	case m.refunded && (f.Attempt == 0 || f.Then == ThenNothing):
		return "there"
	case m.refunded, m.delivered, f.Attempt > 0:
		return "lost"
	}
	m.refunded = true
	m.fail(f)
	return "won"
}

func (m *model) again(f Failure) string {
	switch {
	case !m.open:
		return "absent"
	case !m.refunded:
		return "lost"
	case f.Attempt < m.attempt, f.Attempt == m.attempt && m.dead:
		return "there"
	case f.Attempt > m.attempt, m.delivered:
		return "lost"
	}
	m.fail(f)
	return "won"
}

func (m *model) fail(f Failure) {
	switch f.Then {
	case ThenRetry:
		m.attempt++
		m.retries++
	case ThenDeadLetter:
		m.dead = true
	}
}

func (m *model) redrive(redrives int) string {
	switch {
	case !m.open:
		return "absent"
	case redrives < m.redrives:
		return "there"
	case redrives > m.redrives, m.delivered, !m.dead:
		return "lost"
	}
	m.dead = false
	m.attempt++
	m.retries = 0
	m.redrives++
	return "won"
}

func (m *model) rows() []string {
	switch {
	case m.reclaimed:
		return []string{chargeRow, refundRow, reclaimRow}
	case m.refunded:
		return []string{chargeRow, refundRow}
	case m.open:
		return []string{chargeRow}
	default:
		return []string{}
	}
}

// Any series of calls, each from any document that was ever seen, ends as the
// model does, and so do the books, crashes included.
func TestAnySeriesOfCallsFollowsTheModel(t *testing.T) {
	t.Parallel()
	// Each step is several commands: fewer series than rapid's own choice, unless
	// somebody asks for more with -rapid.checks.
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		NewWithT(t).Expect(checks.Value.Set("40")).To(Succeed())
	}
	b := newBooks(t)
	var jobs atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		g := NewWithT(rt)
		ctx := t.Context()
		var m model
		fresh := aJob(fmt.Sprintf("model-%d", jobs.Add(1)))
		seen := []Job{fresh}
		failure := rapid.Custom(func(rt *rapid.T) Failure {
			attempt := rapid.IntRange(max(0, m.attempt-1), m.attempt+1).Draw(rt, "attempt")
			if rapid.Bool().Draw(rt, "retry") {
				return retry(attempt)
			}
			return giveUp(attempt)
		})
		belief := func(rt *rapid.T) Job { return rapid.SampledFrom(seen).Draw(rt, "belief") }
		compare := func(now Job, outcome Outcome, err error, want string) {
			g.Expect(word(outcome, err)).To(Equal(want))
			if want == "absent" {
				return
			}
			seen = append(seen, now)
			g.Expect(now.IsRefunded).To(Equal(m.refunded))
			g.Expect(now.IsReclaimed).To(Equal(m.reclaimed))
			g.Expect(now.IsDelivered).To(Equal(m.delivered))
			g.Expect(now.IsDeadLettered).To(Equal(m.dead))
			g.Expect([]int{now.Attempt, now.Retries, now.Redrives}).To(Equal([]int{m.attempt, m.retries, m.redrives}))
			if want != "lost" { // whoever lost has nothing to report, and books nothing
				m.unbooked = false
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"charge": func(*rapid.T) {
				now, outcome, err := b.Charge(ctx, fresh)
				compare(now, outcome, err, m.charge())
			},
			"deliver": func(rt *rapid.T) {
				now, outcome, err := b.Deliver(ctx, belief(rt), twentyPast)
				compare(now, outcome, err, m.deliver())
			},
			"reclaim": func(rt *rapid.T) {
				now, outcome, err := b.Reclaim(ctx, belief(rt), twentyPast)
				compare(now, outcome, err, m.reclaim())
			},
			"refund": func(rt *rapid.T) {
				f := failure.Draw(rt, "failure")
				now, outcome, err := b.Refund(ctx, belief(rt), f)
				compare(now, outcome, err, m.refund(f))
			},
			"cancel": func(rt *rapid.T) {
				f := cancellation(rapid.IntRange(0, 2).Draw(rt, "attempt"))
				now, outcome, err := b.Refund(ctx, belief(rt), f)
				compare(now, outcome, err, m.refund(f))
			},
			"again": func(rt *rapid.T) {
				f := failure.Draw(rt, "failure")
				now, outcome, err := b.FailAgain(ctx, belief(rt), f)
				compare(now, outcome, err, m.again(f))
			},
			"redrive": func(rt *rapid.T) {
				job := belief(rt)
				now, outcome, err := b.Redrive(ctx, job, halfPast, nine)
				compare(now, outcome, err, m.redrive(job.Redrives))
			},
			"crash after refund": func(rt *rapid.T) {
				_, outcome, err := b.settle(ctx, refund, belief(rt), ask{at: tenPast, then: ThenRetry, notBefore: nine})
				if word(outcome, err) == "won" {
					m.unbooked = true
				}
				g.Expect(word(outcome, err)).To(Equal(m.refund(retry(0))))
			},
			"crash after reclaim": func(rt *rapid.T) {
				_, outcome, err := b.settle(ctx, reclaim, belief(rt), ask{at: twentyPast})
				if word(outcome, err) == "won" {
					m.unbooked = true
				}
				g.Expect(word(outcome, err)).To(Equal(m.reclaim()))
			},
			"": func(*rapid.T) {
				if !m.unbooked {
					g.Expect(b.rows(t, fresh.ID)).To(Equal(m.rows()))
				}
			},
		})
	})
}
