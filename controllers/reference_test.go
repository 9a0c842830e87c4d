package controllers

import (
	"errors"
	"strings"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/yaml"

	billingv1 "recoup.dev/recoup/api/v1"
)

// reference bills the Job "train", which exists already; two retries may follow it.
const reference = `
account: team-a
cost: 40
retry: {maxRetries: 2, baseDelay: 5s, maxDelay: 1m}
workloadRef: {apiVersion: batch/v1, kind: Job, name: train}
`

func TestAReferencedJobIsChargedOnSight(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.userJob("train")
	patches := b.watchPatches()
	bj := b.apply("job", reference)
	b.settle("job")
	b.wantRows(bj, "charge -40")
	b.wantPhase("job", billingv1.PhaseCharged)
	b.wantJobs("train")

	train := b.job("train")
	if train.Annotations[billingv1.AnnotationClaimedBy] != string(bj.UID) {
		t.Errorf("the claim is %q, want %q", train.Annotations[billingv1.AnnotationClaimedBy], bj.UID)
	}
	if train.Labels[billingv1.LabelBillableJob] != "job" || train.Labels[billingv1.LabelAttempt] != "0" {
		t.Errorf("the labels are %v", train.Labels)
	}
	if !controllerutil.ContainsFinalizer(train, billingv1.FinalizerOutcome) {
		t.Errorf("the finalizers are %v", train.Finalizers)
	}
	if got := strings.Join(*patches, ", "); got != "BillableJob job, Job train, BillableJob job" {
		t.Errorf("the patches were %s; want the hold, one claim and the template", got)
	}

	b.succeeds("train")
	b.settle("job")
	b.wantRows(bj, "charge -40")
	b.wantPhase("job", billingv1.PhaseDelivered)
	if f := b.job("train").Finalizers; len(f) != 0 {
		t.Errorf("the Job still has the finalizers %v", f)
	}
}

// retriedTrain is what a Job of plainJob is repeated from: what the user wrote and what the API server put in as defaults,
// without what belongs to the one object alone.
const retriedTrain = `
apiVersion: batch/v1
kind: Job
metadata:
  labels:
    kueue.x-k8s.io/queue-name: gpus
spec:
  backoffLimit: 0
  completionMode: NonIndexed
  completions: 1
  manualSelector: false
  parallelism: 1
  podReplacementPolicy: TerminatingOrFailed
  template:
    metadata:
      labels: {}
    spec:
      containers:
      - image: train
        imagePullPolicy: Always
        name: train
        resources: {}
        terminationMessagePath: /dev/termination-log
        terminationMessagePolicy: File
      dnsPolicy: ClusterFirst
      restartPolicy: Never
      schedulerName: default-scheduler
      securityContext: {}
      terminationGracePeriodSeconds: 30
`

func TestAReferencedJobIsRepeatedFromItsOwnSpec(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.userJob("train", func(job *batchv1.Job) {
		suspended := true
		job.Spec.Suspend = &suspended
		job.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "gpus", "app.kubernetes.io/managed-by": "Helm"}
		job.Annotations = map[string]string{"meta.helm.sh/release-name": "training"}
	})
	bj := b.apply("job", reference)
	b.settle("job")
	want, err := yaml.YAMLToJSON([]byte(retriedTrain))
	must(t, err)
	if got := string(b.get("job").Spec.Template.Raw); !sameJSON(t, got, string(want)) {
		t.Errorf("the template is\n%s\nwant\n%s", got, want)
	}

	job := b.job("train")
	resumed := false
	job.Spec.Suspend = &resumed
	must(t, b.c.Update(b.ctx, job))
	b.fails("train")
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40")
	if got := b.deliverDue("job").word; got != "started" {
		t.Fatalf("the due entry was %s, want started", got)
	}
	b.wantJobs("job-1", "train")
	retried := b.job("job-1")
	if *retried.Spec.Suspend || retried.Labels["kueue.x-k8s.io/queue-name"] != "gpus" || retried.Labels["app.kubernetes.io/managed-by"] != "" {
		t.Errorf("the retry has labels %v and suspend %v", retried.Labels, *retried.Spec.Suspend)
	}
	if retried.Spec.Selector.MatchLabels["batch.kubernetes.io/controller-uid"] != string(retried.UID) {
		t.Errorf("the retry selects %v, which isn't its own", retried.Spec.Selector)
	}
	b.succeeds("job-1")
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40, reclaim -40")
}

func TestAReferencedJobThatEndedBeforeTheChargeIsChargedAllTheSame(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.userJob("train")
	b.succeeds("train")
	bj := b.apply("job", reference)
	b.settle("job")
	b.wantRows(bj, "charge -40")
	b.wantPhase("job", billingv1.PhaseDelivered)
	b.wantJobs("train")
	if f := b.job("train").Finalizers; len(f) != 0 {
		t.Errorf("the Job still has the finalizers %v", f)
	}
}

func TestAReferencedJobThatFailedBeforeTheChargeIsRefundedAndRetried(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.userJob("train")
	b.fails("train")
	bj := b.apply("job", reference)
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40")
	b.wantPhase("job", billingv1.PhaseRetryScheduled)
	if got := b.deliverDue("job").word; got != "started" {
		t.Fatalf("the due entry was %s, want started", got)
	}
	b.wantJobs("job-1", "train")
}

func TestAMissingWorkloadIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", reference)
	b.settle("job")
	b.wantUncharged(bj)
	b.wantPhase("job", billingv1.PhasePending)
	b.wantCondition("job", billingv1.ConditionBlocked, metav1.ConditionTrue, billingv1.ReasonWorkloadNotFound,
		`Job "train", which spec.workloadRef names, doesn't exist in namespace "`+b.ns+`"; create it, or correct the name`)

	b.userJob("train")
	b.settle("job")
	b.wantRows(bj, "charge -40")
	b.wantCondition("job", billingv1.ConditionBlocked, metav1.ConditionFalse, billingv1.ReasonNothingToDo, "")
}

func TestAWorkloadIsBilledByOneBillableJob(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.userJob("train")
	first := b.apply("first", reference)
	b.settle("first")
	second := b.apply("second", reference)
	b.settle("second")
	b.wantRows(first, "charge -40")
	b.wantUncharged(second)
	b.wantPhase("second", billingv1.PhaseConflict)
	b.wantCondition("second", billingv1.ConditionStalled, metav1.ConditionTrue, billingv1.ReasonWorkloadClaimed,
		`Job "train" is billed by BillableJob "first" already; name another workload`)

	// The outcome is the first one's, also when the Job isn't held any more.
	b.succeeds("train")
	b.settle("first")
	b.settle("second")
	b.wantRows(first, "charge -40")
	b.wantUncharged(second)
	b.wantPhase("second", billingv1.PhaseConflict)

	b.delete("second")
	b.settle("second")
	b.wantGone(b.bjNamed("second"))
	b.wantRows(first, "charge -40")
}

func TestTwoClaimsAtOnceAreOneCharge(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.userJob("train")
	first, second := b.apply("first", reference), b.apply("second", reference)
	var wg sync.WaitGroup
	for _, name := range []string{"first", "second"} {
		wg.Go(func() {
			for range 5 {
				var conflict *apierrors.StatusError
				if err := b.pass(name); err != nil && (!errors.As(err, &conflict) || !apierrors.IsConflict(err)) {
					t.Errorf("a pass of %s failed: %v", name, err)
				}
			}
		})
	}
	wg.Wait()
	b.settle("first")
	b.settle("second")
	if got := b.rows(first) + b.rows(second); got != "charge -40" {
		t.Errorf("together the rows are %q, want one charge", got)
	}
}

func TestAnotherJobsAttemptCantBeReferenced(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner := b.apply("owner", trainingJob)
	b.settle("owner")
	thief := b.apply("thief", strings.Replace(reference, "name: train", "name: owner-0", 1))
	b.settle("thief")
	b.wantUncharged(thief)
	b.wantPhase("thief", billingv1.PhaseConflict)
	b.wantCondition("thief", billingv1.ConditionStalled, metav1.ConditionTrue, billingv1.ReasonWorkloadClaimed, `by BillableJob "owner"`)

	b.succeeds("owner-0")
	b.settle("owner")
	b.settle("thief")
	b.wantRows(owner, "charge -40")
	b.wantUncharged(thief)
}

func TestAReferenceToAnUnknownKindIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", strings.Replace(reference, "apiVersion: batch/v1, kind: Job", "apiVersion: apps/v1, kind: Deployment", 1))
	b.settle("job")
	b.wantUncharged(bj)
	b.wantCondition("job", billingv1.ConditionBlocked, metav1.ConditionTrue, billingv1.ReasonTemplateRefused,
		"spec.workloadRef names apps/v1 Deployment, a kind that Recoup can't bill; use batch/v1 Job")
	b.wantCondition("job", billingv1.ConditionStalled, metav1.ConditionTrue, billingv1.ReasonTemplateRefused, "apps/v1 Deployment")
	b.delete("job")
	b.settle("job")
	b.wantGone(b.bjNamed("job"))
}

func TestAWorkloadTooLargeToRepeatIsRefusedBeforeTheCharge(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.userJob("train", func(job *batchv1.Job) {
		job.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "DATA", Value: strings.Repeat("x", 256<<10)}}
	})
	bj := b.apply("job", reference)
	b.settle("job")
	b.wantUncharged(bj)
	b.wantCondition("job", billingv1.ConditionBlocked, metav1.ConditionTrue, billingv1.ReasonTemplateRefused,
		"the limit is 262144: move large data into a ConfigMap")

	// What is never charged holds nothing back: the user can replace the Job by a smaller one.
	b.deleteJob("train", metav1.DeletePropagationBackground)
	b.settle("job")
	b.wantGone(b.jobNamed("train"))
	b.userJob("train")
	b.settle("job")
	b.wantRows(bj, "charge -40")
}

// A deletion that the manager didn't see finds the outcome that the finalizer kept.
func TestAnEndThatTheTTLTookWhileTheManagerWasDownIsFound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.userJob("train")
	bj := b.apply("job", reference)
	b.settle("job")

	b.succeeds("train")
	b.deleteJob("train", metav1.DeletePropagationForeground) // as the TTL controller does
	b.collect("train")
	b.restart()
	b.settle("job")
	b.wantRows(bj, "charge -40")
	b.wantPhase("job", billingv1.PhaseDelivered)
	b.wantOutcome(0, "Succeeded")
	b.wantGone(b.jobNamed("train"))
}

func TestAWorkloadThatVanishedWhileTheManagerWasDownIsSettledByPolicy(t *testing.T) {
	for _, c := range []struct {
		policy, rows string
		phase        billingv1.Phase
	}{
		{"Refund", "charge -40, refund +40", billingv1.PhaseCancelled},
		{"Keep", "charge -40", billingv1.PhaseCancelled},
	} {
		t.Run(c.policy, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.userJob("train")
			bj := b.apply("job", "deletionPolicy: "+c.policy+"\n"+reference)
			b.settle("job")
			b.runs("train")
			b.settle("job")

			b.strip("train")
			b.deleteJob("train", metav1.DeletePropagationBackground)
			b.restart()
			b.settle("job")
			b.wantRows(bj, c.rows)
			b.wantPhase("job", c.phase)
			b.wantOutcome(0, "Failed WorkloadDeleted")
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

func TestAWorkloadIsToldApartByUID(t *testing.T) {
	for _, c := range []struct {
		name   string
		repeat func(b *bench, was *batchv1.Job)
	}{
		{"written anew", func(b *bench, _ *batchv1.Job) { b.userJob("train") }},
		{"from an export that holds the claim", func(b *bench, was *batchv1.Job) {
			b.userJob("train", func(job *batchv1.Job) {
				job.Annotations, job.Labels, job.Finalizers = was.Annotations, was.Labels, was.Finalizers
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.userJob("train")
			bj := b.apply("job", reference)
			b.settle("job")
			was := b.job("train")
			b.strip("train")
			b.deleteJob("train", metav1.DeletePropagationBackground)
			c.repeat(b, was)
			b.succeeds("train")
			b.settle("job")
			b.wantRows(bj, "charge -40, refund +40")
			b.wantOutcome(0, "Failed WorkloadDeleted")
			if f := b.job("train").Finalizers; len(f) != 0 {
				t.Errorf("the new Job has the finalizers %v", f)
			}
		})
	}
}
