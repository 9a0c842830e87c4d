package controllers

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/retry"
)

// What people with rights on the objects can do to them, by mistake or on purpose.

func TestAStatusThatCantBeReadIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", trainingJob)
	for _, status := range []string{
		`{"attempts":[{"number":0,"startedAt":"2026-01-01T00:00:00Z"}]}`,
		`{"attempts":[{"number":0,"createdAt":"2026-01-01T00:00:00.1234567Z"}]}`,
		`{"attempts":[{"number":0,"ran":"garbage"}]}`,
		`{"notBefore":"2026-01-01T00:00:00Z"}`,
	} {
		err := b.c.Status().Patch(b.ctx, bj.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`)))
		if err == nil {
			t.Errorf("the API server took the status %s, which stops every watch of BillableJobs", status)
		}
	}
}

func TestALabelTakenOffARunningWorkloadComesBack(t *testing.T) {
	t.Parallel()
	for _, label := range []string{billingv1.LabelAttempt, billingv1.LabelBillableJob} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.apply("job", trainingJob)
			b.settle("job")
			job := b.job("job-0")
			want := job.Labels[label]
			delete(job.Labels, label)
			must(t, b.c.Update(b.ctx, job))
			b.settle("job")
			if got := b.job("job-0").Labels[label]; got != want {
				t.Errorf("the label is %q, want %q", got, want)
			}
		})
	}
}

func TestAnOwnerReferenceTakenOffAWorkloadHoldsNothingUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", trainingJob)
	b.settle("job")
	job := b.job("job-0")
	job.OwnerReferences = nil
	must(t, b.c.Update(b.ctx, job))
	b.settle("job")
	b.succeeds("job-0")
	b.settle("job")
	b.wantPhase("job", billingv1.PhaseDelivered)
	b.wantRows(bj, "charge -40")
	if f := b.job("job-0").Finalizers; len(f) != 0 {
		t.Errorf("the ended workload is still held: %v", f)
	}
}

func TestAnAttemptThatCantHaveStartedDoesntCount(t *testing.T) {
	t.Parallel()
	for _, number := range []string{"4294967296", "7", "01", "x"} {
		t.Run(number, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			bj := b.apply("job", trainingJob)
			b.settle("job")
			forged := b.job("job-0")
			forged.ObjectMeta = metav1.ObjectMeta{
				Name: "forged", Namespace: b.ns, OwnerReferences: forged.OwnerReferences,
				Labels: map[string]string{billingv1.LabelBillableJob: "job", billingv1.LabelAttempt: number},
			}
			forged.Spec.Selector = nil
			forged.Spec.Template.Labels = nil
			must(t, b.c.Create(b.ctx, forged))
			b.succeeds("forged")
			b.settle("job")
			b.wantPhase("job", billingv1.PhaseCharged)
			b.succeeds("job-0")
			b.settle("job")
			b.wantPhase("job", billingv1.PhaseDelivered)
			b.wantRows(bj, "charge -40")
		})
	}
}

func TestAStartLongBeforeTheRetryWasPlannedIsNone(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"1000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "0000-01-01T00:00:00+23:59", "1990-01-01T00:00:00Z"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.apply("job", "deadline: 30s\n"+trainingJob)
			b.settle("job")
			b.fails("job-0")
			b.settle("job")
			b.annotate("job", billingv1.AnnotationStartedAt, "1@"+at)
			b.settle("job")
			if got := *b.get("job").Status.Attempt; got != 1 {
				t.Errorf("the current attempt is %d, want 1: it can't have met its deadline", got)
			}
		})
	}
}

func TestAnEntryAboutNoPossibleJobIsSetAside(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	raw := `{"version":1,"job_id":"foo","cluster":"","namespace":"x","name":"x","uid":"","account":"","cost":1,"attempts":1,"not_before":"2020-01-01T00:00:00Z","reason":""}`
	must(t, b.redis.RPush(b.ctx, b.keys.RetryKey, raw).Err())
	consumer := &RetryConsumer{Lane: b.lane, Reconciler: b.r}
	_, _, err := consumer.round(b.ctx)
	must(t, err)
	letters, err := b.redis.LRange(b.ctx, b.keys.DeadLetterKey, 0, -1).Result()
	must(t, err)
	if len(letters) != 1 || !strings.Contains(letters[0], `"raw":`) {
		t.Errorf("the dead letters are %v, want the entry's bytes", letters)
	}
	depth, err := b.lane.Depth(b.ctx)
	must(t, err)
	if want := (retry.Depth{DeadLetters: 1}); depth != want {
		t.Errorf("the lane holds %+v, want %+v", depth, want)
	}
}

func TestARunThatEndedIsNotBilledAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createJob("shared")
	const spec = "account: team-a\ncost: 20\nworkloadRef: {apiVersion: batch/v1, kind: Job, name: shared}\n"
	first := b.apply("first", spec)
	b.settle("first")
	b.succeeds("shared")
	b.settle("first")
	b.wantRows(first, "charge -20")
	must(t, b.c.Delete(b.ctx, b.get("first")))
	b.settle("first")

	second := b.apply("second", spec)
	b.settle("second")
	b.wantPhase("second", billingv1.PhaseConflict)
	b.wantRows(second, "")
}

func TestAClaimOverATakenNameRests(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createJob("mine")
	b.createJob("job-1") // what the first retry would be called
	bj := b.apply("job", "account: team-a\ncost: 20\nworkloadRef: {apiVersion: batch/v1, kind: Job, name: mine}\n")
	b.settle("job")
	b.wantPhase("job", billingv1.PhaseConflict)
	b.wantRows(bj, "")
	before := b.job("mine").ResourceVersion
	b.count.reset()
	for range 3 {
		must(t, b.pass("job"))
	}
	if b.count.apiWrites.Load() != 0 || b.job("mine").ResourceVersion != before {
		t.Errorf("passes over a conflict that lasts wrote: %s", &b.count)
	}
}

func TestAMisspeltFieldIsFoundBeforeTheCharge(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", strings.Replace(trainingJob, "backoffLimit", "backofLimit", 1))
	b.settle("job")
	b.wantRows(bj, "")
	b.wantCondition("job", billingv1.ConditionBlocked, metav1.ConditionTrue, billingv1.ReasonTemplateInvalid, `unknown field "spec.backofLimit"`)
}

func TestADeadJobThatIsAppliedAgainLivesForItsTTL(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	spec := "jobID: once\nttlSecondsAfterFinished: 60\n" + strings.Replace(trainingJob, "maxRetries: 2", "maxRetries: 0", 1)
	b.apply("job", spec)
	b.settle("job")
	b.fails("job-0")
	b.settle("job")
	b.clock.advance(time.Hour)
	b.settle("job") // expires
	b.settle("job") // and is let go of
	b.apply("job", spec)
	b.clock.advance(-time.Hour)
	b.settle("job")
	b.wantPhase("job", billingv1.PhaseDeadLettered)
}

func TestBooksThatWereLostAreSaidAndNothingRunsAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", trainingJob)
	b.settle("job")
	b.succeeds("job-0")
	b.settle("job")
	b.wantRows(bj, "charge -40")

	must(t, dropDatabase(b.ctx, "recoup_"+strings.ReplaceAll(b.ns, "-", "_")))
	b.restart()
	b.settle("job")
	b.wantRows(bj, "")
	b.wantCondition("job", billingv1.ConditionStalled, metav1.ConditionTrue, billingv1.ReasonBooksDiffer,
		`"job-0" is an earlier run of this BillableJob, of which the books don't know`)
	b.wantCondition("job", billingv1.ConditionDelivered, metav1.ConditionFalse, billingv1.ReasonNotCharged, "no such booking")
}
