package ledger

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// A writer that died between the document and its rows: the next call of any
// kind, from a caller that knows nothing of it, makes the books whole.
func TestRowsThatACrashLeftOutAppearOnce(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	calls := map[string]tried{
		"ensure": func(ctx context.Context, s *Store, j Job) (Job, Outcome, error) {
			now, err := s.Get(ctx, j.ID)
			if err == nil {
				err = s.EnsureRows(ctx, now)
			}
			return now, AlreadyThere, err
		},
	}
	for name, call := range triedEdges {
		calls[name] = call
	}
	for path, ends := range map[string]map[string]string{
		"charge": {
			"charge": "there", "ensure": "there", "deliver": "won", "refund0": "won", "cancel0": "won",
		},
		"charge,deliver": {"charge": "there", "ensure": "there", "deliver": "there"},
		"charge,refund0": {
			"charge": "there", "ensure": "there", "refund0": "there", "again0": "there", "again1": "won", "dead1": "won", "reclaim": "won",
		},
		"charge,dead0": {"charge": "there", "dead0": "there", "again0": "there", "redrive0": "won", "reclaim": "won"},
		"charge,refund0,reclaim": {
			"charge": "there", "ensure": "there", "deliver": "there", "refund0": "there", "again0": "there", "reclaim": "there",
		},
	} {
		for name, end := range ends {
			t.Run(path+"/"+name, func(t *testing.T) {
				g := NewWithT(t)
				job := aJob("crash-" + path + name)
				b.walk(t, job, path)
				_, err := b.ledger.DeleteMany(t.Context(), bson.D{{Key: "job_id", Value: job.ID}})
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(b.rows(t, job.ID)).To(BeEmpty())

				_, outcome, err := calls[name](t.Context(), b.Store, job)
				g.Expect(word(outcome, err)).To(Equal(end))
				after := path
				if end == "won" {
					after += "," + name
				}
				g.Expect(b.rows(t, job.ID)).To(Equal(rowsAfter(after)))
			})
		}
	}
}

func TestRecordedAtIsStampedOnceByTheServer(t *testing.T) {
	b := newBooks(t)
	job := b.charged(t, aJob("stamp"))
	before, err := b.Rows(t.Context(), job.ID)
	b.g.Expect(err).NotTo(HaveOccurred())
	b.g.Expect(before).To(HaveLen(1))
	b.g.Expect(before[0].RecordedAt).To(BeTemporally("~", time.Now(), time.Minute))

	// Whoever touches the row again does so at another millisecond.
	b.g.Eventually(time.Now).Should(BeTemporally(">", before[0].RecordedAt.Add(2*time.Millisecond)))
	b.g.Expect(b.EnsureRows(t.Context(), job)).To(Succeed())
	_, _, err = b.Charge(t.Context(), job)
	b.g.Expect(err).NotTo(HaveOccurred())
	_, _, err = b.Deliver(t.Context(), job, twentyPast)
	b.g.Expect(err).NotTo(HaveOccurred())

	after, err := b.Rows(t.Context(), job.ID)
	b.g.Expect(err).NotTo(HaveOccurred())
	b.g.Expect(after).To(Equal(before))
}

func TestEnsureRowsCostsOneCommandAndRefusesWhatIsNoDocument(t *testing.T) {
	b := newBooks(t)
	job := b.refunded(t, aJob("ensure"))
	b.forget()
	b.g.Expect(b.EnsureRows(t.Context(), job)).To(Succeed())
	b.g.Expect(b.sent()).To(Equal([]string{"update"}))

	job.RefundedAt = time.Time{}
	b.g.Expect(b.EnsureRows(t.Context(), job)).To(MatchError(ErrInvalid))
}

// A cancelled context stops a call wherever it stands; the repetition is a
// success whatever had been applied.
func TestACallThatWasCancelledAnywhereSucceedsWhenRepeated(t *testing.T) {
	b := newBooks(t)
	job := b.charged(t, aJob("cancelled"))
	for i := range 40 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*100*time.Microsecond)
		_, _, _ = b.Refund(ctx, job, retry(0))
		cancel()
	}
	now, _, err := b.Refund(t.Context(), job, retry(0))
	b.g.Expect(err).NotTo(HaveOccurred())
	b.g.Expect(now.Attempt).To(Equal(1))
	b.g.Expect(b.rows(t, job.ID)).To(Equal([]string{chargeRow, refundRow}))
}
