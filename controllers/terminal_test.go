package controllers

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	billingv1 "recoup.dev/recoup/api/v1"
)

func TestOnlyTheTerminalConditionMovesCredits(t *testing.T) {
	counts := func(failed, succeeded, ready int32) func(*batchv1.JobStatus) {
		return func(s *batchv1.JobStatus) {
			now := metav1.Now()
			s.StartTime, s.Failed, s.Succeeded, s.Ready = &now, failed, succeeded, &ready
		}
	}
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct {
		name   string
		status func(*batchv1.JobStatus)
		rows   string
		phase  billingv1.Phase
	}{
		{"success-criteria", b.conditions("SuccessCriteriaMet"), "charge -40", billingv1.PhaseCharged},
		{"failure-target", b.conditions("FailureTarget"), "charge -40", billingv1.PhaseCharged},
		{"complete-last", b.conditions("-Suspended", "SuccessCriteriaMet", "Complete"), "charge -40", billingv1.PhaseDelivered},
		{"failed-last", b.conditions("-Suspended", "FailureTarget", "Failed"), "charge -40, refund +40", billingv1.PhaseRetryScheduled},
		{"a-false-one", b.conditions("-Failed", "-Complete"), "charge -40", billingv1.PhaseCharged},
		{"a-false-one-first", b.conditions("-Failed", "SuccessCriteriaMet", "Complete"), "charge -40", billingv1.PhaseDelivered},
		{"failed-pods", counts(3, 0, 0), "charge -40", billingv1.PhaseRunning},
		{"failed-and-succeeded-pods", counts(1, 1, 0), "charge -40", billingv1.PhaseRunning},
		{"succeeded-pods", counts(0, 1, 0), "charge -40", billingv1.PhaseRunning},
	} {
		t.Run(c.name, func(t *testing.T) {
			bj := b.apply(c.name, trainingJob)
			b.settle(c.name)
			b.jobStatus(c.name+"-0", c.status)
			b.settle(c.name)
			b.clock.advance(time.Hour)
			b.settle(c.name)
			b.wantRows(bj, c.rows)
			b.wantPhase(c.name, c.phase)
		})
	}
}

func TestARunThatIsHeldUpGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", trainingJob)
	b.settle("job")
	for _, step := range []func(){
		func() { b.runs("job-0") },
		func() { b.suspend(true) },
		func() { b.suspend(false) },
		func() { b.runs("job-0") },
		func() { b.jobStatus("job-0", func(s *batchv1.JobStatus) { *s.Ready, s.Failed = 0, 1 }) },
		func() { b.jobStatus("job-0", func(s *batchv1.JobStatus) { *s.Ready, s.Failed = 1, 2 }) },
		func() {}, // a lost node: nothing reports any more
	} {
		step()
		b.settle("job")
		b.clock.advance(24 * time.Hour)
		b.settle("job")
		b.wantRows(bj, "charge -40")
		b.wantPhase("job", billingv1.PhaseRunning)
	}
	b.succeeds("job-0")
	b.settle("job")
	b.wantRows(bj, "charge -40")
	b.wantPhase("job", billingv1.PhaseDelivered)
}

func TestALostNodeMovesNothingBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", "deadline: 10m\n"+trainingJob)
	b.settle("job")
	b.runs("job-0")
	b.settle("job")
	b.jobStatus("job-0", func(s *batchv1.JobStatus) { *s.Ready = 0 }) // the node controller marks its pods as not ready
	b.clock.advance(10*time.Minute - time.Second)
	b.settle("job")
	b.wantRows(bj, "charge -40")
	b.clock.advance(time.Second)
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40")
	b.wantCondition("job", billingv1.ConditionRefunded, metav1.ConditionTrue, "DeadlineExceeded", "40 credits were given back to account team-a")
	if b.job("job-0").DeletionTimestamp != nil {
		t.Error("the overdue attempt was stopped before its retry was due")
	}
}

func TestContradictionsStayInSight(t *testing.T) {
	const once = "retry: {maxRetries: 0}"
	noRetry := strings.Replace(trainingJob, "retry: {maxRetries: 2, baseDelay: 5s, maxDelay: 1m}", once, 1)
	failed := func(b *bench) {
		b.annotate("job", billingv1.AnnotationFailedAt, "0@2026-01-01T00:00:00Z")
		b.settle("job")
	}
	delivered := func(b *bench) {
		b.annotate("job", billingv1.AnnotationDeliveredAt, "2026-01-01T00:00:00Z")
		b.settle("job")
	}
	const net = "charge -40, refund +40, reclaim -40"
	for _, c := range []struct {
		name, spec string
		play       func(*bench)
		rows       string
		reason     string
	}{
		{"a failure signal, then a success", trainingJob, func(b *bench) { failed(b); b.succeeds("job-0") },
			net, billingv1.ReasonSucceededAfterFailure},
		{"a failure signal, then a success, with no retry left", noRetry, func(b *bench) { failed(b); b.succeeds("job-0") },
			net, billingv1.ReasonSucceededAfterFailure},
		{"a deadline, then a success, with no retry left", "deadline: 1m\n" + noRetry, func(b *bench) {
			b.clock.advance(time.Minute)
			b.settle("job")
			b.succeeds("job-0")
		}, net, billingv1.ReasonSucceededAfterFailure},
		{"a deletion, then a success", trainingJob, func(b *bench) {
			b.deleteJob("job-0", "Foreground")
			b.settle("job")
			b.succeeds("job-0")
		}, net, billingv1.ReasonSucceededAfterFailure},
		{"a success signal, then a failure", trainingJob, func(b *bench) { delivered(b); b.fails("job-0") },
			"charge -40", billingv1.ReasonFailedAfterDelivery},
		{"a success, then a failure signal", trainingJob, func(b *bench) { b.succeeds("job-0"); b.settle("job"); failed(b) },
			"charge -40", billingv1.ReasonFailedAfterDelivery},
		{"both signals", trainingJob, func(b *bench) { delivered(b); failed(b) }, "charge -40", billingv1.ReasonFailedAfterDelivery},
		{"a failure signal, then a success signal", trainingJob, func(b *bench) { failed(b); delivered(b) },
			net, billingv1.ReasonSucceededAfterFailure},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			bj := b.apply("job", c.spec)
			b.settle("job")
			b.runs("job-0")
			b.settle("job")
			c.play(b)
			b.settle("job")
			b.wantRows(bj, c.rows)
			b.wantCondition("job", billingv1.ConditionContradicted, metav1.ConditionTrue, c.reason, "")
			b.wantCondition("job", billingv1.ConditionReady, metav1.ConditionTrue, billingv1.ReasonDelivered, "")
			b.wantCondition("job", billingv1.ConditionStalled, metav1.ConditionFalse, billingv1.ReasonNothingToDo, "")
			for _, condition := range b.get("job").Status.Conditions {
				if condition.Type == billingv1.ConditionDeadLettered && condition.Status != metav1.ConditionFalse {
					t.Errorf("a delivered job still counts as a dead letter: %+v", condition)
				}
			}
			b.restart()
			b.settle("job")
			b.wantRows(bj, c.rows)
			b.wantCondition("job", billingv1.ConditionContradicted, metav1.ConditionTrue, c.reason, "")
		})
	}
}

func TestAPlainRetryIsNoContradiction(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", trainingJob)
	b.settle("job")
	b.annotate("job", billingv1.AnnotationFailedAt, "0@2026-01-01T00:00:00Z")
	b.fails("job-0")
	b.settle("job")
	b.deliverDue("job")
	b.succeeds("job-1")
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40, reclaim -40")
	for _, condition := range b.get("job").Status.Conditions {
		if condition.Type == billingv1.ConditionContradicted {
			t.Errorf("nothing disagreed, yet: %+v", condition)
		}
	}
}

// An end that the books could not take must not be let go of: nothing else in the cluster would tell it again.
func TestAnEndIsHeldUntilItIsBooked(t *testing.T) {
	for _, c := range []struct {
		name, call, rows string
		end              func(*bench, string)
	}{
		{"a failure", "refund", "charge -40, refund +40", (*bench).fails},
		{"a success", "deliver", "charge -40", (*bench).succeeds},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			bj := b.apply("job", trainingJob)
			b.settle("job")
			b.runs("job-0")
			b.settle("job")
			c.end(b, "job-0")
			b.restart()
			b.fault.failBefore(c.call)
			if err := b.pass("job"); err == nil || b.fault.pending() {
				t.Fatalf("the pass ended with %v; the fault should have hit it", err)
			}
			b.wantOutcome(0, "")
			if !controllerutil.ContainsFinalizer(b.job("job-0"), billingv1.FinalizerOutcome) {
				t.Fatal("the workload was let go of before its end was booked")
			}
			b.settle("job")
			b.wantRows(bj, c.rows)
			if controllerutil.ContainsFinalizer(b.job("job-0"), billingv1.FinalizerOutcome) {
				t.Error("the workload is still held")
			}
		})
	}
}
