package controllers

import (
	"fmt"
	"strings"
	"testing"

	billingv1 "recoup.dev/recoup/api/v1"
)

// spends wants one pass to cost what a transition may: two commands to the books, one status patch and, where a retry
// follows, one command to the lane.
func (b *bench) spends(what, name, want string) {
	b.t.Helper()
	b.count.reset()
	must(b.t, b.pass(name))
	if got := b.spent(); got != want {
		b.t.Errorf("%s cost %s, want %s", what, got, want)
	}
}

func (b *bench) spent() string {
	c := &b.count
	return fmt.Sprintf("mongo %d, status %d, redis %d", c.mongo.Load(), c.statusPatches.Load(), c.redis.Load())
}

func TestAWonTransitionStaysWithinItsBudget(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const plain, withRetry = "mongo 2, status 1, redis 0", "mongo 2, status 1, redis 1"

	done := b.apply("done", trainingJob)
	b.spends("a charge", "done", plain)
	b.wantRows(done, "charge -40")
	b.settle("done")
	b.succeeds("done-0")
	b.spends("a delivery", "done", plain)
	b.wantPhase("done", billingv1.PhaseDelivered)

	named := b.apply("named", "jobID: order-17\n"+trainingJob)
	b.spends("a charge under a job ID of the user's", "named", plain)
	b.wantRows(named, "charge -40")

	b.createJob("existing")
	taken := b.apply("taken", strings.ReplaceAll(existingJob, "REFERENCED", "existing"))
	b.spends("a charge of a Job that exists", "taken", plain)
	b.wantRows(taken, "charge -40")

	job := b.apply("job", trainingJob)
	b.settle("job")
	b.fails("job-0")
	b.spends("a refund and its retry", "job", withRetry)
	b.wantRows(job, "charge -40, refund +40")
	b.settle("job")
	b.deliverDue("job")
	b.fails("job-1")
	b.spends("another failure and its retry", "job", withRetry)
	b.settle("job")
	b.deliverDue("job")
	b.fails("job-2")
	b.spends("a last failure and its dead letter", "job", withRetry)
	b.wantPhase("job", billingv1.PhaseDeadLettered)
	b.settle("job")
	b.annotate("job", billingv1.AnnotationRedrive, "0")
	b.spends("a redrive, which also takes the job off the dead letters,", "job", "mongo 2, status 1, redis 2")
	b.settle("job")
	b.deliverDue("job")
	b.succeeds("job-3")
	b.spends("a reclaim", "job", plain)
	b.wantRows(job, "charge -40, refund +40, reclaim -40")
}
