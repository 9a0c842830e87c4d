package controllers

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	billingv1 "recoup.dev/recoup/api/v1"
)

// resting are BillableJobs that have nothing to do.
var resting = []struct {
	name string
	spec string
	lead func(b *bench)
	end  billingv1.Phase
}{
	{"delivered", trainingJob, func(b *bench) { b.runs("job-0"); b.settle("job"); b.succeeds("job-0") }, billingv1.PhaseDelivered},
	{"not started", trainingJob, func(*bench) {}, billingv1.PhaseCharged},
	{"running", trainingJob, func(b *bench) { b.runs("job-0") }, billingv1.PhaseRunning},
	{"running towards a deadline", "deadline: 30s\nstartDeadline: 20s\n" + trainingJob, func(b *bench) { b.runs("job-0") }, billingv1.PhaseRunning},
	{"waiting for its retry", trainingJob, func(b *bench) { b.fails("job-0") }, billingv1.PhaseRetryScheduled},
	{"retried", trainingJob, func(b *bench) {
		b.fails("job-0")
		b.settle("job")
		b.deliverDue("job")
		b.runs("job-1")
	}, billingv1.PhaseRunning},
	{"reclaimed", trainingJob, func(b *bench) {
		b.annotate("job", billingv1.AnnotationFailedAt, "0@2026-01-01T00:00:00Z")
		b.settle("job")
		b.succeeds("job-0")
	}, billingv1.PhaseReclaimed},
	{"dead-lettered", noRetries, func(b *bench) { b.fails("job-0") }, billingv1.PhaseDeadLettered},
	{"cancelled", trainingJob, func(b *bench) {
		b.cancel("job")
		b.settle("job")
		b.collectGarbage("job-0")
	}, billingv1.PhaseCancelled},
	{"cancelled before a retry", trainingJob, func(b *bench) {
		b.fails("job-0")
		b.settle("job")
		b.cancel("job")
	}, billingv1.PhaseCancelled},
	{"cancelled for its price", "deletionPolicy: Keep\n" + trainingJob, func(b *bench) {
		b.cancel("job")
		b.settle("job")
		b.collectGarbage("job-0")
	}, billingv1.PhaseCancelled},
	{"in conflict", trainingJob, func(b *bench) {
		b.apply("other", "jobID: order-17\n"+trainingJob)
		b.settle("other")
		must(b.t, b.c.Delete(b.ctx, b.get("job")))
		b.settle("job")
		b.collectGarbage("job-0")
		b.settle("job")
		b.apply("job", "jobID: order-17\n"+trainingJob)
	}, billingv1.PhaseConflict},
	{"waiting for a Job that isn't there", trainingJob, func(b *bench) {
		must(b.t, b.c.Delete(b.ctx, b.get("job")))
		b.settle("job")
		b.collectGarbage("job-0")
		b.settle("job")
		b.apply("job", missingJob)
	}, billingv1.PhasePending},
}

const missingJob = `
account: team-a
cost: 40
workloadRef: {apiVersion: batch/v1, kind: Job, name: missing}
`

// noRetries is trainingJob without a second try.
const noRetries = `
account: team-a
cost: 40
retry: {maxRetries: 0}
template:
  apiVersion: batch/v1
  kind: Job
  spec:
    backoffLimit: 0
    template:
      spec:
        restartPolicy: Never
        containers: [{name: train, image: train}]
`

// TestABillableJobAtRestIsLeftAlone repeats passes over BillableJobs that have nothing to do: by the manager that brought
// them there, by one that was started anew, and by two in turns. Then it takes their status away, which is all that is
// written again.
func TestABillableJobAtRestIsLeftAlone(t *testing.T) {
	for _, c := range resting {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.apply("job", c.spec)
			b.settle("job")
			c.lead(b)
			b.settle("job")
			b.wantPhase("job", c.end)
			before := b.versions()
			warm := b.r

			b.idles("the same manager", 0)
			b.r = b.newReconciler(b.c)
			b.idles("a manager that was started anew", 1)
			b.idles("the same one again", 0)
			for range 3 {
				b.r, warm = warm, b.r
				b.idles("one of two managers in turns", 0)
			}
			if after := b.versions(); after != before {
				t.Errorf("resource versions were %s and are %s", before, after)
			}

			b.rebuilds("a manager that wrote it", "job")
			b.r = b.newReconciler(b.c)
			b.rebuilds("a manager that knows nothing", "job")
		})
	}
}

// idles wants a pass to write nothing and to send at most so many reads to the books. What has no document, or another's,
// is never believed and so is read each time.
func (b *bench) idles(who string, reads int64) {
	b.t.Helper()
	b.count.reset()
	must(b.t, b.pass("job"))
	c := &b.count
	if phase := b.get("job").Status.Phase; phase == billingv1.PhaseConflict || phase == billingv1.PhasePending {
		reads = 1
	}
	if c.apiWrites.Load() != 0 || c.statusPatches.Load() != 0 || c.redis.Load() != 0 || c.mongoWrites.Load() != 0 || c.mongo.Load() > reads {
		b.t.Errorf("%s, with nothing to do, caused %s mongoWrites=%d, want no write and at most %d reads", who, c, c.mongoWrites.Load(), reads)
	}
}

// versions are the resource versions of everything that a manager may write.
func (b *bench) versions() string {
	b.t.Helper()
	var bjs billingv1.BillableJobList
	must(b.t, b.c.List(b.ctx, &bjs, client.InNamespace(b.ns)))
	var jobs batchv1.JobList
	must(b.t, b.c.List(b.ctx, &jobs, client.InNamespace(b.ns)))
	text := ""
	for _, o := range bjs.Items {
		text += fmt.Sprintf("%s %s, ", o.Name, o.ResourceVersion)
	}
	for _, o := range jobs.Items {
		text += fmt.Sprintf("%s %s, ", o.Name, o.ResourceVersion)
	}
	return text
}

func (b *bench) cancel(name string) {
	b.t.Helper()
	bj := b.get(name)
	bj.Spec.Cancel = true
	must(b.t, b.c.Update(b.ctx, bj))
}
