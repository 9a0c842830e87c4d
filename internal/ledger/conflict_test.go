package ledger

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"go.mongodb.org/mongo-driver/v2/bson"
)

func TestWhatContradictsTheBooksIsAConflictAndWritesNothing(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	calls := map[string]tried{
		"charge":  triedEdges["charge"],
		"deliver": triedEdges["deliver"],
		"refund":  triedEdges["refund0"],
		"reclaim": triedEdges["reclaim"],
		"again":   triedEdges["again1"],
		"redrive": triedEdges["redrive0"],
	}
	for _, other := range []struct {
		field, message string
		change         func(*Job)
	}{
		{"account", `account is acme in the books, not evil; nothing was overwritten`, func(j *Job) { j.Account = "evil" }},
		{"cost", `cost is 25 in the books, not 1; nothing was overwritten`, func(j *Job) { j.Cost = 1 }},
		{"name", `name is train in the books, not other; nothing was overwritten`, func(j *Job) { j.Name = "other" }},
	} {
		for name, call := range calls {
			for state, path := range map[string]string{"charged": "charge", "refunded": "charge,refund0", "dead": "charge,dead0"} {
				t.Run(other.field+"/"+name+"/"+state, func(t *testing.T) {
					g := NewWithT(t)
					stood := b.walk(t, aJob(other.field+name+state), path)
					belief := stood
					other.change(&belief)
					now, outcome, err := call(t.Context(), b.Store, belief)
					g.Expect(word(outcome, err)).To(Equal("conflict"))
					g.Expect(err).To(MatchError(ContainSubstring(other.message)))
					var conflict *ConflictError
					g.Expect(errors.As(err, &conflict)).To(BeTrue())
					g.Expect(conflict.JobID).To(Equal(stood.ID))
					g.Expect(conflict.Field).To(Equal(other.field))
					g.Expect(now).To(Equal(stood))
					stands, err := b.Get(t.Context(), stood.ID)
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(stands).To(Equal(stood))
					g.Expect(b.rows(t, stood.ID)).To(Equal(rowsAfter(path)))
				})
			}
		}
	}
}

func TestAnAlteredRowIsReportedAndLeftAlone(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	for _, altered := range []struct {
		field string
		to    any
		want  string
		rows  []string
	}{
		{"amount", int64(-1), "charge.amount is -1 in the books, not -25", []string{"charge -1 at 08:00", refundRow}},
		{"account", "evil", "charge.account is evil in the books, not acme", []string{chargeRow, refundRow}},
		{"type", "grant", "charge.type is grant in the books, not charge", nil},
	} {
		for name, call := range map[string]func(context.Context, Job) error{
			"charge":  func(ctx context.Context, j Job) error { _, _, err := b.Charge(ctx, j); return err },
			"refund":  func(ctx context.Context, j Job) error { _, _, err := b.Refund(ctx, j, retry(0)); return err },
			"reclaim": func(ctx context.Context, j Job) error { _, _, err := b.Reclaim(ctx, j, twentyPast); return err },
			"again":   func(ctx context.Context, j Job) error { _, _, err := b.FailAgain(ctx, j, retry(1)); return err },
			"ensure":  b.EnsureRows,
		} {
			t.Run(altered.field+"/"+name, func(t *testing.T) {
				g := NewWithT(t)
				job := b.refunded(t, aJob("altered-"+altered.field+name))
				b.alter(t, LedgerCollection, job.ID+":charge", bson.D{{Key: altered.field, Value: altered.to}})
				for range 2 { // a repetition changes nothing
					err := call(t.Context(), job)
					g.Expect(err).To(MatchError(ErrConflict))
					g.Expect(err).To(MatchError(ContainSubstring(altered.want)))
				}
				if altered.rows == nil {
					return
				}
				want := altered.rows
				if name == "reclaim" { // the other rows follow the document all the same
					want = append(want[:2:2], reclaimRow)
				}
				g.Expect(b.rows(t, job.ID)).To(Equal(want))
			})
		}
	}
}

func TestAForeignRowThatWasNeverStamped(t *testing.T) {
	b := newBooks(t)
	plant := func(job Job, amount int64) {
		row := demanded(job)[0]
		row.Amount = amount
		_, err := b.ledger.InsertOne(t.Context(), row)
		b.g.Expect(err).NotTo(HaveOccurred())
	}
	t.Run("that says the same is taken over", func(t *testing.T) {
		g := NewWithT(t)
		plant(aJob("foreign"), -25)
		job := b.charged(t, aJob("foreign"))
		g.Expect(b.rows(t, job.ID)).To(Equal([]string{chargeRow}))
	})
	t.Run("does not make up for another that was altered", func(t *testing.T) {
		g := NewWithT(t)
		job := b.refunded(t, aJob("pair"))
		_, err := b.ledger.UpdateByID(t.Context(), job.ID+":charge", bson.D{{Key: "$unset", Value: bson.D{{Key: "recorded_at", Value: ""}}}})
		g.Expect(err).NotTo(HaveOccurred())
		b.alter(t, LedgerCollection, job.ID+":refund", bson.D{{Key: "amount", Value: int64(26)}})
		g.Expect(b.EnsureRows(t.Context(), job)).To(MatchError(ContainSubstring("refund.amount is 26 in the books, not 25")))
	})
	t.Run("that says something else is left alone", func(t *testing.T) {
		g := NewWithT(t)
		job := aJob("alien")
		plant(job, -24)
		_, _, err := b.Charge(t.Context(), job)
		g.Expect(err).To(MatchError(ErrConflict))
		rows, err := b.Rows(t.Context(), job.ID)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(rows).To(HaveLen(1))
		g.Expect(rows[0].Amount).To(Equal(int64(-24)))
		g.Expect(rows[0].RecordedAt).To(BeZero())
	})
}
