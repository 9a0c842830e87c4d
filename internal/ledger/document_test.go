package ledger

import (
	"testing"

	. "github.com/onsi/gomega"
)

// What each edge sets, as the whole document that it leaves.
func TestEdgesSetWhatTheTableSays(t *testing.T) {
	b := newBooks(t)
	g := b.g
	ctx := t.Context()

	want := aJob("doc")
	job := b.charged(t, aJob("doc"))
	g.Expect(job).To(Equal(want))

	job, _, err := b.Refund(ctx, job, retry(0))
	g.Expect(err).NotTo(HaveOccurred())
	want.IsRefunded, want.RefundedAt, want.RefundReason = true, tenPast, "OOMKilled"
	want.FailedAt, want.FailReason = tenPast, "OOMKilled"
	want.Attempt, want.Retries, want.NotBefore = 1, 1, nine
	g.Expect(job).To(Equal(want))

	job, _, err = b.FailAgain(ctx, job, Failure{Attempt: 1, At: twentyPast, Reason: "Evicted", Then: ThenRetry, NotBefore: nine})
	g.Expect(err).NotTo(HaveOccurred())
	want.FailedAt, want.FailReason = twentyPast, "Evicted"
	want.Attempt, want.Retries = 2, 2
	g.Expect(job).To(Equal(want))

	job, _, err = b.FailAgain(ctx, job, Failure{Attempt: 2, At: halfPast, Reason: "Evicted", Then: ThenDeadLetter})
	g.Expect(err).NotTo(HaveOccurred())
	want.FailedAt = halfPast
	want.IsDeadLettered, want.DeadLetteredAt = true, halfPast
	g.Expect(job).To(Equal(want))

	job, _, err = b.Redrive(ctx, job, nine, nine)
	g.Expect(err).NotTo(HaveOccurred())
	want.IsDeadLettered = false
	want.Attempt, want.Retries, want.Redrives, want.RedrivenAt, want.NotBefore = 3, 0, 1, nine, nine
	g.Expect(job).To(Equal(want))

	job, _, err = b.Reclaim(ctx, job, nine)
	g.Expect(err).NotTo(HaveOccurred())
	want.IsReclaimed, want.ReclaimedAt, want.IsDelivered, want.DeliveredAt = true, nine, true, nine
	g.Expect(job).To(Equal(want))

	stands, err := b.Get(ctx, job.ID)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(stands).To(Equal(want))
}

func TestACancellationSetsNeitherAttemptNorDeadLetter(t *testing.T) {
	b := newBooks(t)
	job, outcome, err := b.Refund(t.Context(), b.charged(t, aJob("cancel")), cancellation(0))
	b.g.Expect(err).NotTo(HaveOccurred())
	b.g.Expect(outcome).To(Equal(Won))
	want := aJob("cancel")
	want.IsRefunded, want.RefundedAt, want.RefundReason = true, tenPast, "Cancelled"
	b.g.Expect(job).To(Equal(want))
}

func TestChargeTakesNoStateFromTheCaller(t *testing.T) {
	b := newBooks(t)
	job := aJob("fresh")
	job.IsDelivered, job.Attempt, job.Redrives = true, 7, 2
	b.g.Expect(b.charged(t, job)).To(Equal(aJob("fresh")))
}

func TestAnotherIncarnationOfTheSameObjectResumes(t *testing.T) {
	b := newBooks(t)
	stood := b.refunded(t, aJob("again"))
	again := aJob("again")
	again.UID, again.CreatedAt = "uid-2", nine
	job, outcome, err := b.Charge(t.Context(), again)
	b.g.Expect(err).NotTo(HaveOccurred())
	b.g.Expect(outcome).To(Equal(AlreadyThere))
	b.g.Expect(job).To(Equal(stood))
	b.g.Expect(b.rows(t, job.ID)).To(Equal([]string{chargeRow, refundRow}))
}

func TestFreeJobsAreBooked(t *testing.T) {
	b := newBooks(t)
	free := aJob("free")
	free.Cost = 0
	job := b.refunded(t, free)
	_, outcome, err := b.Reclaim(t.Context(), job, twentyPast)
	b.g.Expect(err).NotTo(HaveOccurred())
	b.g.Expect(outcome).To(Equal(Won))
	b.g.Expect(b.rows(t, job.ID)).To(Equal([]string{
		"charge +0 at 08:00", "refund +0 at 08:10", "reclaim +0 at 08:20",
	}))
}

// The caller knew the job at an earlier attempt: a win must not bring back what
// the caller believed.
func TestAStaleBeliefDoesNotShowInTheDocument(t *testing.T) {
	b := newBooks(t)
	for name, since := range map[string][]string{
		"retried":       {"again1"},
		"dead-lettered": {"dead1"},
		"redriven":      {"dead1", "redrive0"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stale := b.refunded(t, aJob("stale-"+name))
			job := stale
			for _, edge := range since {
				var err error
				job, _, err = triedEdges[edge](t.Context(), b.Store, job)
				g.Expect(err).NotTo(HaveOccurred())
			}
			now, outcome, err := b.Reclaim(t.Context(), stale, twentyPast)
			g.Expect(word(outcome, err)).To(Equal("won"))
			job.IsReclaimed, job.ReclaimedAt, job.IsDelivered, job.DeliveredAt = true, twentyPast, true, twentyPast
			g.Expect(now).To(Equal(job))
		})
	}
}
