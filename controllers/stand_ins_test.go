package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	billingv1 "recoup.dev/recoup/api/v1"
)

// The API server of these tests has no controllers beside it: the test plays the users, the job controller and the garbage
// collector.

// plainJob is a Job as its user wrote it, before anything bills it.
const plainJob = `
backoffLimit: 0
template:
  spec:
    restartPolicy: Never
    containers:
    - name: train
      image: train
`

// userJob creates a plainJob that no BillableJob made.
func (b *bench) userJob(name string, more ...func(*batchv1.Job)) *batchv1.Job {
	b.t.Helper()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.ns}}
	must(b.t, yaml.UnmarshalStrict([]byte(plainJob), &job.Spec))
	for _, change := range more {
		change(job)
	}
	must(b.t, b.c.Create(b.ctx, job))
	return job
}

// jobStatus writes a Job's status as the job controller does.
func (b *bench) jobStatus(name string, change func(*batchv1.JobStatus)) {
	b.t.Helper()
	job := b.job(name)
	change(&job.Status)
	must(b.t, b.c.Status().Update(b.ctx, job))
}

// conditions sets a Job's conditions, in this order; "-" before a type makes it False.
func (b *bench) conditions(types ...string) func(*batchv1.JobStatus) {
	now := metav1.NewTime(b.clock.Now())
	return func(s *batchv1.JobStatus) {
		if s.StartTime == nil {
			s.StartTime = &now
		}
		s.Conditions = nil
		for _, text := range types {
			c := batchv1.JobCondition{Status: corev1.ConditionTrue, Reason: "Played", LastProbeTime: now, LastTransitionTime: now}
			if bare, no := strings.CutPrefix(text, "-"); no {
				text, c.Status = bare, corev1.ConditionFalse
			}
			c.Type = batchv1.JobConditionType(text)
			if text == "Complete" && c.Status == corev1.ConditionTrue {
				s.CompletionTime = &now
			}
			if (text == "Complete" || text == "Failed") && c.Status == corev1.ConditionTrue {
				s.Active, s.Ready = 0, nil
			}
			s.Conditions = append(s.Conditions, c)
		}
	}
}

// suspend holds the Job "job-0" back, or lets it go on, as a queue manager and the job controller do.
func (b *bench) suspend(suspended bool) {
	b.t.Helper()
	const name = "job-0"
	job := b.job(name)
	job.Spec.Suspend = &suspended
	must(b.t, b.c.Update(b.ctx, job))
	b.jobStatus(name, func(s *batchv1.JobStatus) {
		now, none := metav1.NewTime(b.clock.Now()), int32(0)
		s.Active, s.Ready, s.StartTime = 0, &none, nil
		condition := batchv1.JobCondition{Type: "Suspended", Status: corev1.ConditionTrue, Reason: "JobSuspended", LastTransitionTime: now}
		if !suspended {
			s.StartTime, s.Active = &now, 1
			condition.Status, condition.Reason = corev1.ConditionFalse, "JobResumed"
		}
		s.Conditions = []batchv1.JobCondition{condition}
	})
}

// deleteJob deletes a Job as a user does.
func (b *bench) deleteJob(name string, propagation metav1.DeletionPropagation) {
	b.t.Helper()
	must(b.t, b.c.Delete(b.ctx, b.job(name), client.PropagationPolicy(propagation)))
}

// collect plays the garbage collector, which lets a Job go once its pods are gone.
func (b *bench) collect(name string) {
	b.t.Helper()
	job := b.job(name)
	if job.DeletionTimestamp == nil {
		b.t.Fatalf("Job %s isn't being deleted", name)
	}
	job.Finalizers = slices.DeleteFunc(job.Finalizers, func(f string) bool { return f == foregroundDeletion })
	must(b.t, b.c.Update(b.ctx, job))
}

// strip takes all finalizers off a Job by hand.
func (b *bench) strip(name string) {
	b.t.Helper()
	job := b.job(name)
	job.Finalizers = nil
	must(b.t, b.c.Update(b.ctx, job))
}

// delete deletes a BillableJob as a user does.
func (b *bench) delete(name string) {
	b.t.Helper()
	must(b.t, b.c.Delete(b.ctx, b.get(name)))
}

// change updates the spec of the BillableJob "job" as a user does.
func (b *bench) change(change func(*billingv1.BillableJobSpec)) {
	b.t.Helper()
	bj := b.get("job")
	change(&bj.Spec)
	must(b.t, b.c.Update(b.ctx, bj))
}

func cancelled(spec *billingv1.BillableJobSpec) { spec.Cancel = true }

// restart forgets all that the manager remembers.
func (b *bench) restart() { b.r = b.newReconciler(b.c) }

// watchPatches restarts the manager with a log of its patches, such as "Job train".
func (b *bench) watchPatches() *[]string {
	var log []string
	b.r = b.newReconciler(interceptor.NewClient(b.c, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			log = append(log, kindOf(obj)+" "+obj.GetName())
			return c.Patch(ctx, obj, p, opts...)
		},
	}))
	return &log
}

// wantGone asserts that neither a BillableJob nor, unless the names say so, a Job of that name is left.
func (b *bench) wantGone(objects ...client.Object) {
	b.t.Helper()
	for _, obj := range objects {
		key := client.ObjectKeyFromObject(obj)
		err := b.c.Get(b.ctx, key, obj)
		if err == nil {
			b.t.Fatalf("%T %s is still there, with the finalizers %q", obj, key.Name, obj.GetFinalizers())
		}
		if !apierrors.IsNotFound(err) {
			b.t.Fatal(err)
		}
	}
}

func (b *bench) bjNamed(name string) *billingv1.BillableJob {
	return &billingv1.BillableJob{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.ns}}
}

func (b *bench) jobNamed(name string) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.ns}}
}

// wantJobs asserts which Jobs the namespace holds.
func (b *bench) wantJobs(names ...string) {
	b.t.Helper()
	var list batchv1.JobList
	must(b.t, b.c.List(b.ctx, &list, client.InNamespace(b.ns)))
	var got []string
	for i := range list.Items {
		got = append(got, list.Items[i].Name)
	}
	slices.Sort(got)
	if !slices.Equal(got, names) {
		b.t.Fatalf("the namespace has the Jobs %q, want %q", got, names)
	}
}

// wantCondition asserts a condition of a BillableJob by status, reason and a part of its message.
func (b *bench) wantCondition(name, conditionType string, status metav1.ConditionStatus, reason, message string) {
	b.t.Helper()
	c := meta.FindStatusCondition(b.get(name).Status.Conditions, conditionType)
	if c == nil {
		b.t.Fatalf("BillableJob %s has no condition %s; it has %+v", name, conditionType, b.get(name).Status.Conditions)
	}
	if c.Status != status || c.Reason != reason || !strings.Contains(c.Message, message) {
		b.t.Fatalf("condition %s of BillableJob %s is %s, %s, %q; want %s, %s, a message with %q",
			conditionType, name, c.Status, c.Reason, c.Message, status, reason, message)
	}
}

// wantUncharged asserts that the books know nothing of a BillableJob.
func (b *bench) wantUncharged(bj *billingv1.BillableJob) {
	b.t.Helper()
	b.wantRows(bj, "")
	if job, err := b.books.Get(b.ctx, b.docID(bj)); err == nil {
		b.t.Fatalf("the books have a document: %+v", job)
	}
}

// wantOutcome asserts how an attempt of the BillableJob "job" ended, in words: "Failed BackoffLimitExceeded".
func (b *bench) wantOutcome(attempt int32, want string) {
	b.t.Helper()
	attempts := b.get("job").Status.Attempts
	for _, a := range attempts {
		if a.Number == attempt {
			if got := strings.TrimSpace(fmt.Sprintf("%s %s", a.Outcome, a.Reason)); got != want {
				b.t.Fatalf("attempt %d is %q, want %q", attempt, got, want)
			}
			return
		}
	}
	b.t.Fatalf("attempt %d isn't in the status: %+v", attempt, attempts)
}

// eventually waits for something that others do in their own time.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	NewWithT(t).Eventually(done, 30*time.Second, 20*time.Millisecond).Should(BeTrue(), "it never came to pass that %s", what)
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	must(t, yaml.Unmarshal([]byte(a), &x))
	must(t, yaml.Unmarshal([]byte(b), &y))
	return equality.Semantic.DeepEqual(x, y)
}

func yamlStrict(text string, into any) error { return yaml.UnmarshalStrict([]byte(text), into) }
