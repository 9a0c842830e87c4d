package controllers

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	billingv1 "recoup.dev/recoup/api/v1"
)

// keptJob is a trainingJob whose charge stays when somebody stops it.
const keptJob = "deletionPolicy: Keep\n" + trainingJob

func TestACancellationStopsTheAttemptAndSettlesByPolicy(t *testing.T) {
	for _, c := range []struct{ name, spec, rows string }{
		{"Refund", trainingJob, "charge -40, refund +40"},
		{"Keep", keptJob, "charge -40"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			bj := b.apply("job", c.spec)
			b.settle("job")
			b.runs("job-0")
			b.settle("job")
			b.change(cancelled)
			b.settle("job")
			if b.job("job-0").DeletionTimestamp == nil {
				t.Fatal("the attempt wasn't stopped")
			}
			b.wantRows(bj, "charge -40") // not before it has ended
			b.collect("job-0")
			b.settle("job")
			b.wantRows(bj, c.rows)
			b.wantPhase("job", billingv1.PhaseCancelled)
			b.wantOutcome(0, "Stopped Cancelled")
			b.wantGone(b.jobNamed("job-0"))

			b.restart()
			b.settle("job")
			b.wantRows(bj, c.rows)
			b.wantJobs()

			undone := b.get("job")
			undone.Spec.Cancel = false
			err := b.c.Update(b.ctx, undone)
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "cancel can't be taken back once it is true") {
				t.Errorf("taking the cancellation back ended with %v", err)
			}
		})
	}
}

func TestACancellationTakesASuccessThatCameFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", trainingJob)
	b.settle("job")
	b.change(cancelled)
	b.succeeds("job-0")
	b.settle("job")
	b.wantRows(bj, "charge -40")
	b.wantPhase("job", billingv1.PhaseDelivered)
	b.wantOutcome(0, "Succeeded")
}

func TestACancellationBeforeTheChargeBooksNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", "cancel: true\n"+trainingJob)
	b.settle("job")
	b.wantUncharged(bj)
	b.wantJobs()
	b.wantPhase("job", billingv1.PhaseCancelled)
	b.delete("job")
	b.settle("job")
	b.wantGone(b.bjNamed("job"))
}

func TestACancellationOfARetryThatWaitsStartsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", trainingJob)
	b.settle("job")
	b.fails("job-0")
	b.settle("job")
	b.change(cancelled)
	b.settle("job")
	b.wantPhase("job", billingv1.PhaseCancelled)
	if got := b.deliverDue("job").word; got != "settled" {
		t.Errorf("the due entry was %s, want settled", got)
	}
	b.wantRows(bj, "charge -40, refund +40")
	b.wantJobs("job-0")
}

func TestACancelledReferenceRunsOnAtItsPrice(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.userJob("train")
	bj := b.apply("job", reference)
	b.settle("job")
	b.runs("train")
	b.change(cancelled)
	b.settle("job")
	b.wantRows(bj, "charge -40")
	if b.job("train").DeletionTimestamp != nil {
		t.Error("a workload that Recoup didn't make was stopped")
	}
	b.fails("train")
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40")
	b.wantPhase("job", billingv1.PhaseCancelled)
	b.wantJobs("train")
}

func TestADeletionBeforeTheChargeBooksNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.userJob("train")
	b.fault.failBefore("charge")
	bj := b.apply("job", reference)
	if err := b.pass("job"); err == nil {
		t.Fatal("the charge should have failed")
	}
	if !controllerutil.ContainsFinalizer(b.job("train"), billingv1.FinalizerOutcome) {
		t.Fatal("the Job should have been claimed by now")
	}
	b.delete("job")
	b.settle("job")
	b.wantGone(b.bjNamed("job"))
	b.wantUncharged(bj)
	train := b.job("train")
	if len(train.Finalizers)+len(train.Annotations) != 0 || train.Labels[billingv1.LabelAttempt] != "" {
		t.Errorf("the Job wasn't let go of: %+v", train.ObjectMeta)
	}
}

func TestADeletionStopsTheAttemptAndSettlesByPolicy(t *testing.T) {
	for _, c := range []struct {
		name, spec, rows string
		runs             bool
	}{
		{"charged", trainingJob, "charge -40, refund +40", false},
		{"running", trainingJob, "charge -40, refund +40", true},
		{"running, Keep", keptJob, "charge -40", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			bj := b.apply("job", c.spec)
			b.settle("job")
			if c.runs {
				b.runs("job-0")
				b.settle("job")
			}
			b.delete("job")
			b.settle("job")
			if b.job("job-0").DeletionTimestamp == nil {
				t.Fatal("the attempt wasn't stopped")
			}
			b.wantRows(bj, "charge -40")
			b.restart()
			b.settle("job")
			b.wantRows(bj, "charge -40") // it hasn't ended
			b.collect("job-0")
			b.settle("job")
			b.wantRows(bj, c.rows)
			b.wantGone(b.bjNamed("job"), b.jobNamed("job-0"))
		})
	}
}

func TestADeletionStopsItsOwnAttemptAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", trainingJob)
	b.settle("job")
	b.strip("job-0")
	b.deleteJob("job-0", metav1.DeletePropagationBackground)
	foreign := b.userJob("job-0")
	b.delete("job")
	b.settle("job")
	b.wantGone(b.bjNamed("job"))
	b.wantRows(bj, "charge -40, refund +40")
	if got := b.job("job-0"); got.UID != foreign.UID || got.DeletionTimestamp != nil {
		t.Errorf("somebody else's Job was touched: %+v", got.ObjectMeta)
	}
}

func TestADeletionBooksASuccessThatItFinds(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*bench)
	}{
		{"before", func(b *bench) { b.succeeds("job-0"); b.delete("job") }},
		{"while it stops", func(b *bench) { b.delete("job"); b.settle("job"); b.succeeds("job-0") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			bj := b.apply("job", trainingJob)
			b.settle("job")
			b.runs("job-0")
			b.settle("job")
			c.end(b)
			b.settle("job")
			b.wantGone(b.bjNamed("job"))
			b.wantRows(bj, "charge -40")
			job, err := b.books.Get(b.ctx, b.docID(bj))
			must(t, err)
			if !job.IsDelivered {
				t.Errorf("the books have %+v, want a delivered job", job)
			}
			if controllerutil.ContainsFinalizer(b.job("job-0"), billingv1.FinalizerOutcome) {
				t.Error("the workload is still held")
			}
		})
	}
}

func TestADeletionOfADeliveredJobMovesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", trainingJob)
	b.settle("job")
	b.succeeds("job-0")
	b.settle("job")
	b.delete("job")
	b.settle("job")
	b.wantGone(b.bjNamed("job"))
	b.wantRows(bj, "charge -40")
}

func TestADeletionLeavesAReferenceRunningAtItsPrice(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.userJob("train")
	bj := b.apply("job", "jobID: order-1\n"+reference)
	b.settle("job")
	b.runs("train")
	b.settle("job")
	b.delete("job")
	b.settle("job")
	b.wantGone(b.bjNamed("job"))
	b.wantRows(bj, "charge -40")
	train := b.job("train")
	if train.DeletionTimestamp != nil || len(train.Finalizers)+len(train.Annotations) != 0 {
		t.Errorf("the Job wasn't left alone: %+v", train.ObjectMeta)
	}

	// Applied again, the job takes up the run where it stands.
	b.apply("job", "jobID: order-1\n"+reference)
	b.settle("job")
	b.wantRows(bj, "charge -40")
	b.wantPhase("job", billingv1.PhaseRunning)
	b.fails("train")
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40")
	if got := b.deliverDue("job").word; got != "started" {
		t.Fatalf("the due entry was %s, want started", got)
	}
	b.wantJobs("job-1", "train")
}

func TestAJobThatIsAppliedAgainResumesWhereTheBooksStand(t *testing.T) {
	again := "jobID: order-1\n" + trainingJob
	for _, c := range []struct {
		name          string
		before        func(*bench)
		phase         billingv1.Phase
		rows          string
		after         func(*bench)
		rowsAfter     string
		jobs          []string
		lastPhaseWant billingv1.Phase
	}{
		{
			name:   "delivered: it never runs again",
			before: func(b *bench) { b.succeeds("job-0"); b.settle("job") },
			phase:  billingv1.PhaseDelivered, rows: "charge -40",
			after: func(*bench) {}, rowsAfter: "charge -40", lastPhaseWant: billingv1.PhaseDelivered,
		},
		{
			name:   "refunded: its retry runs, and its success reclaims",
			before: func(b *bench) { b.fails("job-0"); b.settle("job") },
			phase:  billingv1.PhaseRetryScheduled, rows: "charge -40, refund +40",
			after: func(b *bench) {
				if got := b.deliverDue("job").word; got != "started" {
					b.t.Fatalf("the due entry was %s, want started", got)
				}
				b.succeeds("job-1")
			},
			rowsAfter: "charge -40, refund +40, reclaim -40", jobs: []string{"job-1"}, lastPhaseWant: billingv1.PhaseReclaimed,
		},
		{
			name:   "cancelled: it may run again",
			before: func(b *bench) { b.change(cancelled); b.settle("job"); b.collect("job-0"); b.settle("job") },
			phase:  billingv1.PhaseRefunded, rows: "charge -40, refund +40",
			after:     func(b *bench) { b.succeeds("job-0") },
			rowsAfter: "charge -40, refund +40, reclaim -40", jobs: []string{"job-0"}, lastPhaseWant: billingv1.PhaseReclaimed,
		},
		{
			name: "kept: it runs for the charge that it paid",
			before: func(b *bench) {
				b.change(func(s *billingv1.BillableJobSpec) { s.DeletionPolicy = "Keep" })
				b.deleteJob("job-0", "Background")
				b.settle("job")
			},
			phase: billingv1.PhaseCharged, rows: "charge -40",
			after:     func(b *bench) { b.succeeds("job-0") },
			rowsAfter: "charge -40", jobs: []string{"job-0"}, lastPhaseWant: billingv1.PhaseDelivered,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			bj := b.apply("job", again)
			b.settle("job")
			c.before(b)
			b.delete("job")
			b.settle("job")
			b.wantGone(b.bjNamed("job"))
			// The garbage collector takes what the BillableJob owned.
			must(t, b.c.DeleteAllOf(b.ctx, &batchv1.Job{}, client.InNamespace(b.ns), client.PropagationPolicy("Background")))

			b.apply("job", again)
			b.settle("job")
			b.wantRows(bj, c.rows)
			b.wantPhase("job", c.phase)
			c.after(b)
			b.settle("job")
			b.wantRows(bj, c.rowsAfter)
			b.wantPhase("job", c.lastPhaseWant)
			b.wantJobs(c.jobs...)
		})
	}
}

// A reference that is applied again has no template of its own, and its retry is due.
func TestAReferenceThatIsAppliedAgainIsRetriedFromItsWorkload(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.userJob("train")
	bj := b.apply("job", "jobID: order-1\n"+reference)
	b.settle("job")
	b.fails("train")
	b.settle("job")
	b.delete("job")
	b.settle("job")
	b.wantGone(b.bjNamed("job"))

	b.deleteJob("train", metav1.DeletePropagationBackground)
	b.apply("job", "jobID: order-1\n"+reference)
	b.settle("job")
	b.wantCondition("job", billingv1.ConditionBlocked, metav1.ConditionTrue, billingv1.ReasonWorkloadNotFound, `Job "train"`)
	if got := b.deliverDue("job").word; got != "postponed" {
		t.Fatalf("the entry of a retry without a template was %s, want postponed", got)
	}
	b.userJob("train")
	b.settle("job")
	if got := b.get("job").Spec.Template; got == nil {
		t.Fatal("the template wasn't filled in")
	}
	b.wantRows(bj, "charge -40, refund +40")
	// The Job that is there is a run of the job: no second one starts beside it.
	if got := b.deliverDue("job").word; got != "postponed" {
		t.Fatalf("the due entry was %s, want postponed", got)
	}
	b.wantJobs("train")
	if b.job("train").DeletionTimestamp != nil {
		t.Error("the user's own Job was stopped")
	}
	b.fails("train")
	b.settle("job")
	if got := b.deliverDue("job").word; got != "started" {
		t.Fatalf("the due entry was %s, want started", got)
	}
	b.succeeds("job-1")
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40, reclaim -40")
}

// When the CRD is deleted every BillableJob goes at once, in whatever state.
func TestAMassDeletionLeavesTheBooksWhole(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	states := []struct {
		name, rows string
		reach      func(name string)
	}{
		{"charged", "charge -40, refund +40", func(string) {}},
		{"running", "charge -40, refund +40", func(n string) { b.runs(n + "-0") }},
		{"succeeded", "charge -40", func(n string) { b.succeeds(n + "-0") }},
		{"failed", "charge -40, refund +40", func(n string) { b.fails(n + "-0") }},
		{"delivered", "charge -40", func(n string) { b.succeeds(n + "-0"); b.settle(n) }},
		{"retrying", "charge -40, refund +40", func(n string) { b.fails(n + "-0"); b.settle(n) }},
	}
	jobs := map[string]*billingv1.BillableJob{}
	for _, s := range states {
		jobs[s.name] = b.apply(s.name, "jobID: "+s.name+"\n"+trainingJob)
		b.settle(s.name)
		s.reach(s.name)
	}
	must(t, b.c.DeleteAllOf(b.ctx, &billingv1.BillableJob{}, client.InNamespace(b.ns)))
	b.restart()
	b.leaveAll()
	for _, s := range states {
		b.wantRows(jobs[s.name], s.rows)
	}
	// Applied again after the CRD is back, what was delivered isn't charged again, nor run.
	again := b.apply("delivered", "jobID: delivered\n"+trainingJob)
	b.settle("delivered")
	b.wantRows(again, "charge -40")
	b.wantPhase("delivered", billingv1.PhaseDelivered)
}

func TestAWorkloadThatSomebodyDeletesIsSettledByPolicyAndNotRetried(t *testing.T) {
	for _, c := range []struct{ name, spec, rows string }{
		{"Refund", trainingJob, "charge -40, refund +40"},
		{"Keep", keptJob, "charge -40"},
	} {
		for _, propagation := range []metav1.DeletionPropagation{"Background", "Foreground"} {
			t.Run(c.name+" "+string(propagation), func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				bj := b.apply("job", c.spec)
				b.settle("job")
				b.runs("job-0")
				b.settle("job")
				b.deleteJob("job-0", propagation)
				b.settle("job")
				if propagation == "Foreground" {
					b.collect("job-0")
					b.settle("job")
				}
				b.wantGone(b.jobNamed("job-0"))
				b.wantRows(bj, c.rows)
				b.wantPhase("job", billingv1.PhaseCancelled)
				b.wantOutcome(0, "Failed WorkloadDeleted")
				b.clock.advance(time.Hour)
				b.restart()
				b.settle("job")
				b.wantRows(bj, c.rows)
				b.wantJobs()
				if n := b.redis.LLen(b.ctx, b.keys.RetryKey).Val(); n != 0 {
					t.Errorf("%d retries were announced; nobody asked for any", n)
				}
			})
		}
	}
}

func TestARetryThatSomebodyDeletesIsLeftToPeople(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", trainingJob)
	b.settle("job")
	b.fails("job-0")
	b.settle("job")
	b.deliverDue("job")
	b.deleteJob("job-1", metav1.DeletePropagationBackground)
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40")
	b.wantPhase("job", billingv1.PhaseDeadLettered)
	b.wantOutcome(1, "Failed WorkloadDeleted")
	b.wantGone(b.jobNamed("job-1"))
}

func TestWorkloadsOfABillableJobThatIsGoneAreLetGoOf(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.userJob("train")
	b.apply("ref", reference)
	b.settle("ref")
	b.apply("job", trainingJob)
	b.settle("job")
	for _, name := range []string{"ref", "job"} {
		bj := b.get(name)
		bj.Finalizers = nil
		must(t, b.c.Update(b.ctx, bj))
		b.delete(name)
		b.wantGone(b.bjNamed(name))
		b.settle(name)
	}
	for _, name := range []string{"train", "job-0"} {
		if job := b.job(name); len(job.Finalizers)+len(job.Annotations) != 0 || job.Labels[billingv1.LabelAttempt] != "" {
			t.Errorf("Job %s is still held: %+v", name, job.ObjectMeta)
		}
	}
}

func TestNothingIsCreatedInANamespaceThatGoesAway(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	waiting := b.apply("waiting", trainingJob)
	retrying := b.apply("retrying", trainingJob)
	running := b.apply("running", trainingJob)
	b.settle("retrying")
	b.fails("retrying-0")
	b.settle("retrying")
	b.settle("running")
	b.runs("running-0")
	b.settle("running")

	var ns corev1.Namespace
	must(t, b.c.Get(b.ctx, client.ObjectKey{Name: b.ns}, &ns))
	must(t, b.c.Delete(b.ctx, &ns))
	eventually(t, "the API server takes nothing new in the namespace", func() bool {
		err := b.c.Create(b.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: b.ns}}, client.DryRunAll)
		return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
	})
	b.settle("waiting")
	b.wantUncharged(waiting)
	b.wantCondition("waiting", billingv1.ConditionBlocked, metav1.ConditionTrue, billingv1.ReasonNamespaceTerminating, "")
	if got := b.deliverDue("retrying").word; got != "postponed" {
		t.Errorf("the due entry was %s, want postponed", got)
	}
	b.wantJobs("retrying-0", "running-0")

	// The namespace controller deletes the contents, kind by kind.
	must(t, b.c.DeleteAllOf(b.ctx, &batchv1.Job{}, client.InNamespace(b.ns), client.PropagationPolicy("Background")))
	for _, name := range []string{"waiting", "retrying", "running"} {
		b.settle(name)
	}
	b.wantJobs()
	must(t, b.c.DeleteAllOf(b.ctx, &billingv1.BillableJob{}, client.InNamespace(b.ns)))
	b.leaveAll()
	b.wantJobs()
	b.wantUncharged(waiting)
	b.wantRows(retrying, "charge -40, refund +40")
	b.wantRows(running, "charge -40, refund +40")
}

func TestABillableJobExpiresAfterItFinished(t *testing.T) {
	const ttl = "ttlSecondsAfterFinished: 60\n"
	for _, c := range []struct {
		name, spec, rows string
		finish           func(*bench)
	}{
		{"delivered", trainingJob, "charge -40", func(b *bench) { b.succeeds("job-0") }},
		{"dead-lettered", strings.Replace(trainingJob, "maxRetries: 2", "maxRetries: 0", 1), "charge -40, refund +40",
			func(b *bench) { b.fails("job-0") }},
		{"cancelled", trainingJob, "charge -40, refund +40", func(b *bench) {
			b.change(cancelled)
			b.settle("job")
			b.collect("job-0")
		}},
		{"cancelled, Keep", keptJob, "charge -40", func(b *bench) {
			b.change(cancelled)
			b.settle("job")
			b.collect("job-0")
		}},
		{"its workload deleted", trainingJob, "charge -40, refund +40", func(b *bench) { b.deleteJob("job-0", "Background") }},
		{"its workload deleted, Keep", keptJob, "charge -40", func(b *bench) { b.deleteJob("job-0", "Background") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			bj := b.apply("job", ttl+c.spec)
			b.settle("job")
			b.runs("job-0")
			b.settle("job")
			b.clock.advance(time.Hour)
			b.settle("job")
			b.get("job")
			c.finish(b)
			b.settle("job")
			b.clock.advance(59 * time.Second)
			b.settle("job")
			b.get("job")
			b.wantRows(bj, c.rows)
			b.clock.advance(time.Second)
			b.settle("job")
			b.settle("job")
			b.wantGone(b.bjNamed("job"))
			b.wantRows(bj, c.rows)
		})
	}
}

func TestQuickCreationsAndDeletionsLeaveNothingHeld(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const waves, inWave = 10, 20
	for wave := range waves {
		var wg sync.WaitGroup
		for i := range inWave {
			wg.Go(func() {
				name := fmt.Sprintf("job-%d-%d", wave, i)
				b.apply(name, trainingJob)
				for range i % 3 {
					if err := b.pass(name); err != nil {
						t.Errorf("a pass of %s failed: %v", name, err)
					}
				}
				b.delete(name)
				if err := b.pass(name); err != nil {
					t.Errorf("the pass of %s after its deletion failed: %v", name, err)
				}
			})
		}
		wg.Wait()
		b.leaveAll()
		b.wantJobs()
	}
	balance, err := b.books.Balance(b.ctx, "team-a")
	must(t, err)
	if balance != 0 {
		t.Errorf("the account stands at %d, want 0", balance)
	}
}

// leaveAll makes passes, and plays the garbage collector, until no BillableJob is left, and asserts that nothing is held.
func (b *bench) leaveAll() {
	b.t.Helper()
	for range 10 {
		var bjs billingv1.BillableJobList
		must(b.t, b.c.List(b.ctx, &bjs, client.InNamespace(b.ns)))
		var jobs batchv1.JobList
		must(b.t, b.c.List(b.ctx, &jobs, client.InNamespace(b.ns)))
		for i := range jobs.Items {
			job := &jobs.Items[i]
			if job.DeletionTimestamp != nil && controllerutil.ContainsFinalizer(job, foregroundDeletion) {
				b.collect(job.Name)
			}
		}
		if len(bjs.Items) == 0 {
			for i := range jobs.Items {
				if controllerutil.ContainsFinalizer(&jobs.Items[i], billingv1.FinalizerOutcome) {
					b.t.Errorf("Job %s is still held", jobs.Items[i].Name)
				}
			}
			return
		}
		for i := range bjs.Items {
			if err := b.pass(bjs.Items[i].Name); err != nil {
				b.t.Fatalf("a pass of %s failed: %v", bjs.Items[i].Name, err)
			}
		}
	}
	b.t.Fatal("BillableJobs are left after ten passes over each of them")
}
