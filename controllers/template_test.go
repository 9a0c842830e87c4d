package controllers

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	billingv1 "recoup.dev/recoup/api/v1"
)

func TestATemplateThatCantRunIsRefusedBeforeTheCharge(t *testing.T) {
	const kind = "  apiVersion: batch/v1\n  kind: Job\n"
	for _, c := range []struct {
		name, replace, by, reason, message string
	}{
		{"another namespace", kind, kind + "  metadata: {namespace: kube-system}\n", billingv1.ReasonTemplateRefused,
			`spec.template.metadata.namespace is "kube-system"; remove it`},
		{"owner references", kind, kind + "  metadata: {ownerReferences: [{apiVersion: v1, kind: Node, name: node1, uid: u1}]}\n",
			billingv1.ReasonTemplateRefused, "spec.template.metadata.ownerReferences must be removed"},
		{"an unknown kind", kind, "  apiVersion: apps/v1\n  kind: Deployment\n", billingv1.ReasonTemplateRefused,
			"spec.template is a apps/v1 Deployment, which Recoup can't bill; use one of: batch/v1 Job"},
		{"no restartPolicy", "        restartPolicy: Never\n", "", billingv1.ReasonTemplateInvalid,
			`spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`},
		{"no image", "          image: train\n", "", billingv1.ReasonTemplateInvalid, "spec.template.spec.containers[0].image: Required value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			bj := b.apply("job", strings.Replace(trainingJob, c.replace, c.by, 1))
			b.settle("job")
			b.wantUncharged(bj)
			b.wantJobs()
			b.wantPhase("job", billingv1.PhasePending)
			b.wantCondition("job", billingv1.ConditionBlocked, metav1.ConditionTrue, c.reason, c.message)
			b.wantCondition("job", billingv1.ConditionStalled, metav1.ConditionTrue, c.reason, c.message)
			b.wantCondition("job", billingv1.ConditionCharged, metav1.ConditionFalse, billingv1.ReasonNotCharged, "")

			b.change(func(spec *billingv1.BillableJobSpec) { spec.Template = templateOf(t, trainingJob) })
			b.settle("job")
			b.wantRows(bj, "charge -40")
			b.wantJobs("job-0")
			b.wantCondition("job", billingv1.ConditionBlocked, metav1.ConditionFalse, billingv1.ReasonNothingToDo, "")
			b.wantCondition("job", billingv1.ConditionStalled, metav1.ConditionFalse, billingv1.ReasonNothingToDo, "")
		})
	}
}

func TestATemplateSetsNothingThatIsRecoups(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", strings.Replace(trainingJob, "  kind: Job\n", `  kind: Job
  metadata:
    name: mine
    finalizers: [example.com/mine]
    labels: {tier: gold, billing.recoup.dev/attempt: "7", billing.recoup.dev/billablejob: other}
    annotations: {note: kept, billing.recoup.dev/claimed-by: somebody}
  status: {succeeded: 1}
`, 1))
	b.settle("job")
	b.wantRows(bj, "charge -40")
	b.wantJobs("job-0")
	job := b.job("job-0")
	if len(job.Labels) != 3 || job.Labels["tier"] != "gold" || job.Labels[billingv1.LabelAttempt] != "0" || job.Labels[billingv1.LabelBillableJob] != "job" {
		t.Errorf("the labels are %v", job.Labels)
	}
	if len(job.Annotations) != 1 || job.Annotations["note"] != "kept" {
		t.Errorf("the annotations are %v", job.Annotations)
	}
	if len(job.Finalizers) != 1 || job.Finalizers[0] != billingv1.FinalizerOutcome {
		t.Errorf("the finalizers are %v", job.Finalizers)
	}
	if job.Status.Succeeded != 0 {
		t.Errorf("the status is %+v", job.Status)
	}
	owner := metav1.GetControllerOf(job)
	if len(job.OwnerReferences) != 1 || owner == nil || owner.UID != bj.UID || owner.Kind != "BillableJob" {
		t.Errorf("the owners are %+v", job.OwnerReferences)
	}
}

func TestAQuotaIsWaitedForBeforeTheCharge(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.quota("0", "0")
	bj := b.apply("job", trainingJob)
	b.settle("job")
	b.wantUncharged(bj)
	b.wantPhase("job", billingv1.PhasePending)
	b.wantCondition("job", billingv1.ConditionBlocked, metav1.ConditionTrue, billingv1.ReasonQuotaExceeded, "exceeded quota: jobs")
	b.wantCondition("job", billingv1.ConditionStalled, metav1.ConditionFalse, billingv1.ReasonNothingToDo, "")

	b.quota("1", "0")
	b.settle("job")
	b.wantRows(bj, "charge -40")
	b.wantJobs("job-0")
	b.wantCondition("job", billingv1.ConditionBlocked, metav1.ConditionFalse, billingv1.ReasonNothingToDo, "")
}

// The room that a quota leaves for a retry says nothing about a run that is under way: it is charged on sight.
func TestAQuotaThatItsOwnJobFillsDoesntLetItRunFree(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.userJob("train")
	b.quota("1", "1")
	bj := b.apply("job", reference)
	b.settle("job")
	b.wantRows(bj, "charge -40")
	b.fails("train")
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40")
	if got := b.deliverDue("job").word; got != "postponed" {
		t.Fatalf("the due entry was %s, want postponed", got)
	}
	b.wantCondition("job", billingv1.ConditionBlocked, metav1.ConditionTrue, billingv1.ReasonQuotaExceeded, "exceeded quota")
	b.quota("2", "1")
	if got := b.deliverDue("job").word; got != "started" {
		t.Fatalf("the entry was %s, want started", got)
	}
}

func TestAQuotaThatIsLoweredBeforeTheRetryIsWaitedForUpToTheStartDeadline(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", "startDeadline: 1m\n"+trainingJob)
	b.settle("job")
	b.fails("job-0")
	b.settle("job")
	b.quota("1", "1")

	result := func() entryResult {
		t.Helper()
		result, err := b.r.runDue(b.ctx, b.lastEntry())
		must(t, err)
		return result
	}
	b.clock.advance(10 * time.Second)
	due := b.clock.Now()
	if got := result(); got.word != "postponed" || !got.later.Equal(due.Add(10*time.Second)) {
		t.Fatalf("the entry was %s until %s, want postponed by ten seconds", got.word, got.later)
	}
	b.settle("job")
	b.wantPhase("job", billingv1.PhaseRetryScheduled)
	b.wantCondition("job", billingv1.ConditionBlocked, metav1.ConditionTrue, billingv1.ReasonQuotaExceeded, "exceeded quota")
	b.clock.advance(59 * time.Second)
	if got := result().word; got != "postponed" {
		t.Fatalf("the entry was %s a second before the start deadline, want postponed", got)
	}
	b.wantRows(bj, "charge -40, refund +40")

	b.clock.advance(time.Second)
	if got := result().word; got != "outdated" {
		t.Fatalf("the entry was %s at the start deadline, want outdated", got)
	}
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40")
	if entry := b.lastEntry(); entry.Attempts != 2 || entry.Reason != "StartDeadlineExceeded" {
		t.Errorf("the lane has %+v, want attempt 2", entry)
	}
	b.wantJobs("job-0")

	// The next retry finds room.
	b.quota("2", "1")
	if got := b.deliverDue("job").word; got != "started" {
		t.Fatalf("the entry was %s, want started; %+v", got, b.get("job").Status)
	}
	b.wantJobs("job-0", "job-2")
	b.succeeds("job-2")
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40, reclaim -40")
	b.wantCondition("job", billingv1.ConditionBlocked, metav1.ConditionFalse, billingv1.ReasonNothingToDo, "")
}

func TestARetryThatTheAPIServerCallsInvalidIsDeadLettered(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", trainingJob)
	b.settle("job")
	b.fails("job-0")
	b.settle("job")
	b.change(func(spec *billingv1.BillableJobSpec) {
		spec.Template = templateOf(t, strings.Replace(trainingJob, "restartPolicy: Never", "restartPolicy: Always", 1))
	})
	b.settle("job")
	b.deliverDue("job")
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40")
	b.wantPhase("job", billingv1.PhaseDeadLettered)
	b.wantCondition("job", billingv1.ConditionDeadLettered, metav1.ConditionTrue, billingv1.ReasonPermanentFailure, "WorkloadRefused")
	b.wantCondition("job", billingv1.ConditionStalled, metav1.ConditionTrue, billingv1.ReasonPermanentFailure, "redrive=0 --overwrite")
	b.wantJobs("job-0")

	b.change(func(spec *billingv1.BillableJobSpec) { spec.Template = templateOf(t, trainingJob) })
	b.annotate("job", billingv1.AnnotationRedrive, "0")
	b.settle("job")
	if got := b.deliverDue("job").word; got != "started" {
		t.Fatalf("the redriven entry was %s, want started", got)
	}
	b.succeeds("job-2")
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40, reclaim -40")
	b.wantCondition("job", billingv1.ConditionDeadLettered, metav1.ConditionFalse, billingv1.ReasonRedriven, "")
	b.wantCondition("job", billingv1.ConditionBlocked, metav1.ConditionFalse, billingv1.ReasonNothingToDo, "")
}

func templateOf(t *testing.T, spec string) *runtime.RawExtension {
	t.Helper()
	var s billingv1.BillableJobSpec
	must(t, yamlStrict(spec, &s))
	return s.Template
}

// quota lets the namespace hold so many Jobs, of which so many are there, and waits until the API server goes by it. The
// test counts in the quota controller's place.
func (b *bench) quota(hard, used string) {
	b.t.Helper()
	const jobs = corev1.ResourceName("count/jobs.batch")
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "jobs", Namespace: b.ns}}
	err := b.c.Get(b.ctx, client.ObjectKeyFromObject(quota), quota)
	quota.Spec.Hard = corev1.ResourceList{jobs: resource.MustParse(hard)}
	if apierrors.IsNotFound(err) {
		err = b.c.Create(b.ctx, quota)
	} else if err == nil {
		err = b.c.Update(b.ctx, quota)
	}
	must(b.t, err)
	quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, corev1.ResourceList{jobs: resource.MustParse(used)}
	must(b.t, b.c.Status().Update(b.ctx, quota))

	var probe batchv1.Job
	probe.Name, probe.Namespace = "probe", b.ns
	must(b.t, yamlStrict(plainJob, &probe.Spec))
	eventually(b.t, "the API server goes by the quota", func() bool {
		err := b.c.Create(b.ctx, probe.DeepCopy(), client.DryRunAll)
		exceeded := err != nil && strings.Contains(err.Error(), "exceeded quota")
		if err != nil && !apierrors.IsForbidden(err) {
			b.t.Fatal(err)
		}
		return exceeded == (hard == used) && (exceeded || err == nil)
	})
}
