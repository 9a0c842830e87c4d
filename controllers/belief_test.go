package controllers

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	billingv1 "recoup.dev/recoup/api/v1"
)

// TestAJobIDThatIsTakenTouchesNoWorkload: a BillableJob about which nothing was ever said may be taken for new, but not as
// far as putting marks on a workload that it has no claim to.
func TestAJobIDThatIsTakenTouchesNoWorkload(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBench(t)
	first := b.apply("first", "jobID: order-17\n"+trainingJob)
	b.settle("first")

	before := b.createJob("existing")
	b.apply("second", "jobID: order-17\n"+strings.ReplaceAll(existingJob, "REFERENCED", "existing"))
	b.settle("second")
	b.wantPhase("second", billingv1.PhaseConflict)
	b.wantRows(first, "charge -40")
	g.Expect(b.job("existing").ResourceVersion).To(Equal(before.ResourceVersion), "the workload was touched")
}

// TestADeliveredJobAppliedAgainTouchesNoWorkload: the same object, applied again under its job ID, resumes where the books
// stand.
func TestADeliveredJobAppliedAgainTouchesNoWorkload(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBench(t)
	manifest := "jobID: order-17\n" + strings.ReplaceAll(existingJob, "REFERENCED", "existing")
	b.createJob("existing")
	bj := b.apply("job", manifest)
	b.settle("job")
	b.succeeds("existing")
	b.settle("job")
	b.wantPhase("job", billingv1.PhaseDelivered)
	must(t, b.c.Delete(b.ctx, b.get("job")))
	b.settle("job")

	before := b.job("existing")
	b.apply("job", manifest)
	b.settle("job")
	b.wantPhase("job", billingv1.PhaseDelivered)
	b.wantRows(bj, "charge -40")
	g.Expect(b.job("existing").ResourceVersion).To(Equal(before.ResourceVersion), "the workload was touched")
	b.idles("a manager that found the job delivered", 0)
}
