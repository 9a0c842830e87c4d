package controllers

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	billingv1 "recoup.dev/recoup/api/v1"
)

// trainingJob is a template that asks for a GPU; two retries may follow the first run.
const trainingJob = `
account: team-a
cost: 40
retry: {maxRetries: 2, baseDelay: 5s, maxDelay: 1m}
template:
  apiVersion: batch/v1
  kind: Job
  spec:
    backoffLimit: 0
    template:
      spec:
        restartPolicy: Never
        containers:
        - name: train
          image: train
          resources: {limits: {nvidia.com/gpu: 1}}
`

func TestASuccessAtOnceIsChargedOnce(t *testing.T) {
	b := newBench(t)
	bj := b.apply("job", trainingJob)
	b.settle("job")
	b.wantRows(bj, "charge -40")
	b.wantPhase("job", billingv1.PhaseCharged)

	b.runs("job-0")
	b.settle("job")
	b.wantPhase("job", billingv1.PhaseRunning)

	b.succeeds("job-0")
	b.settle("job")
	b.wantRows(bj, "charge -40")
	b.wantPhase("job", billingv1.PhaseDelivered)
	if got := *b.get("job").Status.NetCredits; got != -40 {
		t.Errorf("net is %d, want -40", got)
	}
	if f := b.job("job-0").Finalizers; len(f) != 0 {
		t.Errorf("an ended workload is still held: %v", f)
	}
}

func TestARetryThatWorksIsReclaimed(t *testing.T) {
	b := newBench(t)
	bj := b.apply("job", trainingJob)
	b.settle("job")
	b.fails("job-0")
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40")
	b.wantPhase("job", billingv1.PhaseRetryScheduled)

	entry := b.lastEntry()
	if entry.Attempts != 1 || entry.Reason != "BackoffLimitExceeded" || entry.NotBefore.Sub(b.clock.Now()) != 10*time.Second {
		t.Errorf("the lane has %+v at %s, want attempt 1 ten seconds later", entry, b.clock.Now())
	}
	if got := b.deliverDue("job").word; got != "started" {
		t.Fatalf("the due entry was %s, want started", got)
	}
	b.succeeds("job-1")
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40, reclaim -40")
	b.wantPhase("job", billingv1.PhaseReclaimed)
}

func TestATimeoutThatTheGPUOutranIsReclaimed(t *testing.T) {
	b := newBench(t)
	bj := b.apply("job", "deadline: 30s\n"+trainingJob)
	b.settle("job")
	b.runs("job-0")
	b.settle("job")
	b.clock.advance(29 * time.Second)
	b.settle("job")
	b.wantRows(bj, "charge -40")
	b.clock.advance(time.Second)
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40")

	b.clock.advance(2 * time.Second)
	b.succeeds("job-0")
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40, reclaim -40")
	b.wantPhase("job", billingv1.PhaseReclaimed)

	if got := b.deliverDue("job").word; got != "settled" {
		t.Errorf("the entry of the retry was %s, want settled", got)
	}
	err := b.c.Get(b.ctx, types.NamespacedName{Namespace: b.ns, Name: "job-1"}, b.job("job-0"))
	if !apierrors.IsNotFound(err) {
		t.Errorf("a second attempt was started: %v", err)
	}
}

func TestAJobThatNeverWorksIsDeadLettered(t *testing.T) {
	b := newBench(t)
	bj := b.apply("job", trainingJob)
	b.settle("job")
	for _, attempt := range []string{"job-0", "job-1", "job-2"} {
		b.fails(attempt)
		b.settle("job")
		if attempt != "job-2" {
			if got := b.deliverDue("job").word; got != "started" {
				t.Fatalf("the entry after %s was %s, want started", attempt, got)
			}
		}
	}
	b.wantRows(bj, "charge -40, refund +40")
	b.wantPhase("job", billingv1.PhaseDeadLettered)
	if n := b.redis.LLen(b.ctx, b.keys.DeadLetterKey).Val(); n != 1 {
		t.Errorf("there are %d dead letters, want 1", n)
	}
}

func TestADeadlineASignalAndAFailureAtOnceAreOneRefund(t *testing.T) {
	b := newBench(t)
	bj := b.apply("job", "deadline: 30s\n"+trainingJob)
	b.settle("job")
	b.runs("job-0")
	b.settle("job")
	b.clock.advance(time.Minute)
	b.annotate("job", billingv1.AnnotationFailedAt, "0@2026-01-01T00:00:00Z")
	b.fails("job-0")
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40")
	if got := *b.get("job").Status.Attempt; got != 1 {
		t.Errorf("the current attempt is %d, want 1: one failure, however many signals", got)
	}
}
