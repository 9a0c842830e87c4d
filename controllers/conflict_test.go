package controllers

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	billingv1 "recoup.dev/recoup/api/v1"
)

func TestAJobIDBelongsToTheObjectThatOpenedIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.apply("first", "jobID: order-1\n"+trainingJob)
	b.settle("first")
	b.apply("second", "jobID: order-1\n"+trainingJob)
	b.settle("second")
	b.wantRows(first, "charge -40")
	b.wantJobs("first-0")
	b.wantPhase("second", billingv1.PhaseConflict)
	b.wantCondition("second", billingv1.ConditionStalled, metav1.ConditionTrue, billingv1.ReasonJobIDTaken,
		`job ID "order-1" belongs to BillableJob "first", which was charged for it; give this one a spec.jobID of its own`)
	b.wantCondition("second", billingv1.ConditionCharged, metav1.ConditionFalse, billingv1.ReasonNotCharged, "")

	// Not even when the first one is gone: its charge is used up.
	b.succeeds("first-0")
	b.settle("first")
	b.delete("first")
	b.settle("first")
	b.wantGone(b.bjNamed("first"))
	b.settle("second")
	b.wantPhase("second", billingv1.PhaseConflict)
	b.wantRows(first, "charge -40")
	b.delete("second")
	b.settle("second")
	b.wantGone(b.bjNamed("second"))
	b.wantRows(first, "charge -40")
}

func TestTwoObjectsThatOpenOneJobIDAtOnceAreOneCharge(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.apply("first", "jobID: order-1\n"+trainingJob)
	b.apply("second", "jobID: order-1\n"+trainingJob)
	// The second looked before the first one's charge, and charges after it.
	b.fault.script = func(call string, do func() error) error {
		if call == "charge" {
			b.fault.script = nil
			must(t, b.pass("first"))
		}
		return do()
	}
	b.settle("second")
	b.settle("first")
	b.wantRows(first, "charge -40")
	b.wantJobs("first-0")
	b.wantPhase("first", billingv1.PhaseCharged)
	b.wantPhase("second", billingv1.PhaseConflict)
}

func TestAJobThatIsRecreatedAtAnotherPriceIsAConflict(t *testing.T) {
	for _, c := range []struct{ name, old, new, message string }{
		{"cost", "cost: 40", "cost: 30", "the books have this job at 40 credits, not 30"},
		{"account", "account: team-a", "account: team-b", `the books have this job for account "team-a", not "team-b"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			bj := b.apply("job", "jobID: order-1\n"+trainingJob)
			b.settle("job")
			b.fails("job-0")
			b.settle("job")
			b.delete("job")
			b.settle("job")
			b.wantGone(b.bjNamed("job"))

			b.apply("job", "jobID: order-1\n"+strings.Replace(trainingJob, c.old, c.new, 1))
			b.settle("job")
			b.wantRows(bj, "charge -40, refund +40")
			b.wantPhase("job", billingv1.PhaseConflict)
			b.wantCondition("job", billingv1.ConditionStalled, metav1.ConditionTrue, billingv1.ReasonBooksDiffer, c.message)
			b.wantJobs("job-0")
			b.delete("job")
			b.settle("job")
			b.wantGone(b.bjNamed("job"))
			b.wantRows(bj, "charge -40, refund +40")
		})
	}
}

func TestAForeignObjectUnderTheFirstAttemptsNameIsAConflictBeforeTheCharge(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	foreign := b.userJob("job-0")
	bj := b.apply("job", trainingJob)
	b.settle("job")
	b.wantUncharged(bj)
	b.wantPhase("job", billingv1.PhaseConflict)
	b.wantCondition("job", billingv1.ConditionStalled, metav1.ConditionTrue, billingv1.ReasonNameTaken,
		`attempt 0 would be Job "job-0", which exists and isn't this BillableJob's; delete or rename that one`)
	if got := b.job("job-0"); got.ResourceVersion != foreign.ResourceVersion {
		t.Errorf("the foreign Job was changed: %+v", got.ObjectMeta)
	}

	b.deleteJob("job-0", metav1.DeletePropagationBackground)
	b.settle("job")
	b.wantRows(bj, "charge -40")
	b.wantPhase("job", billingv1.PhaseCharged)
	b.wantCondition("job", billingv1.ConditionStalled, metav1.ConditionFalse, billingv1.ReasonNothingToDo, "")
}

func TestAForeignObjectUnderARetrysNameIsAConflictThatStaysInSight(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", "deadline: 30s\n"+trainingJob)
	b.settle("job")
	b.runs("job-0")
	b.settle("job")
	b.clock.advance(30 * time.Second)
	b.settle("job")
	foreign := b.userJob("job-1")
	b.wantRows(bj, "charge -40, refund +40")

	b.deliverDue("job")
	b.collect("job-0")
	got := b.deliverDue("job")
	if got.word != "postponed" || got.later.Sub(b.clock.Now()) != 10*time.Second {
		t.Fatalf("the due entry was %s by %s, want postponed by ten seconds", got.word, got.later.Sub(b.clock.Now()))
	}
	conflict := func() {
		t.Helper()
		b.wantPhase("job", billingv1.PhaseConflict)
		b.wantCondition("job", billingv1.ConditionStalled, metav1.ConditionTrue, billingv1.ReasonNameTaken, `attempt 1 would be Job "job-1"`)
	}
	conflict()
	// A pass that the lane didn't ask for doesn't take it back, only for the next entry to say it again.
	b.settle("job")
	b.count.reset()
	b.settle("job")
	b.deliverDue("job")
	conflict()
	if n := b.count.statusPatches.Load(); n != 0 {
		t.Errorf("%d status patches while nothing changed", n)
	}
	if got := b.job("job-1"); got.UID != foreign.UID || got.ResourceVersion != foreign.ResourceVersion {
		t.Errorf("the foreign Job was changed: %+v", got.ObjectMeta)
	}

	b.deleteJob("job-1", metav1.DeletePropagationBackground)
	if got := b.deliverDue("job").word; got != "started" {
		t.Fatalf("the due entry was %s, want started", got)
	}
	b.settle("job")
	b.wantCondition("job", billingv1.ConditionStalled, metav1.ConditionFalse, billingv1.ReasonNothingToDo, "")
	b.succeeds("job-1")
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40, reclaim -40")
}

func TestAPredecessorsObjectIsWaitedOut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.apply("job", trainingJob)
	b.settle("job")
	b.runs("job-0")
	b.settle("job")
	b.delete("job")
	b.settle("job")
	// The garbage collector takes its time; somebody takes the finalizer off and applies the manifest again.
	old := b.get("job")
	old.Finalizers = nil
	must(t, b.c.Update(b.ctx, old))
	second := b.apply("job", trainingJob)
	b.settle("job")
	b.wantUncharged(second)
	b.wantPhase("job", billingv1.PhasePending)
	b.wantCondition("job", billingv1.ConditionBlocked, metav1.ConditionTrue, billingv1.ReasonWaitingForPredecessor,
		`Job "job-0" of a deleted BillableJob of the same name is still going away`)

	b.collect("job-0")
	b.settle("job")
	b.wantRows(second, "charge -40")
	b.wantRows(first, "charge -40") // by hand, it was never settled
	if owner := metav1.GetControllerOf(b.job("job-0")); owner.UID != second.UID {
		t.Errorf("job-0 belongs to %s, want the new BillableJob", owner.UID)
	}
	b.wantCondition("job", billingv1.ConditionBlocked, metav1.ConditionFalse, billingv1.ReasonNothingToDo, "")
}

// A Job that only bears an attempt's label, or another's controller reference, is nobody's attempt.
func TestAnAttemptCountsByItsControllerReference(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", trainingJob)
	b.settle("job")
	b.userJob("impostor", func(job *batchv1.Job) {
		job.Labels = map[string]string{billingv1.LabelBillableJob: "job", billingv1.LabelAttempt: "0"}
	})
	b.succeeds("impostor")
	b.settle("job")
	b.wantRows(bj, "charge -40")
	b.wantPhase("job", billingv1.PhaseCharged)
}
