package controllers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	billingv1 "recoup.dev/recoup/api/v1"
)

// quick is a template whose retry is due two seconds after the failure.
var quick = strings.Replace(trainingJob, "baseDelay: 5s", "baseDelay: 1s", 1)

// manage runs a real manager, with its cache, its watches and the real clock, over the bench's namespace.
func (b *bench) manage(consume bool) manager.Manager {
	b.t.Helper()
	options := CacheOptions()
	options.DefaultNamespaces = map[string]cache.Config{b.ns: {}}
	again := true // each test has a manager of its own in this process
	mgr, err := ctrl.NewManager(apiServer, ctrl.Options{
		Scheme:                 b.c.Scheme(),
		Cache:                  options,
		Client:                 client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Metrics:                metricsserver.Options{BindAddress: "127.0.0.1:0"},
		HealthProbeBindAddress: "127.0.0.1:0",
		Controller:             config.Controller{SkipNameValidation: &again},
	})
	must(b.t, err)
	b.r = &BillableJobReconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder("recoup"),
		Books: b.books, Lane: b.lane, Cluster: "test", AcceptSignals: true,
		Now: time.Now, Random: func() float64 { return 0 }, PushGrace: 30 * time.Second, Concurrency: 4,
	}
	ctx, stop := context.WithCancel(b.ctx)
	must(b.t, b.r.SetupWithManager(ctx, mgr))
	must(b.t, mgr.Add(&LaneKeeper{Lane: b.lane, Books: b.books, Cluster: "test", FlushParked: !consume, Log: logr.Discard()}))
	if consume {
		must(b.t, mgr.Add(&RetryConsumer{Lane: b.lane, Reconciler: b.r, Log: logr.Discard()}))
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	b.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			b.t.Errorf("the manager ended with %v", err)
		}
	})
	return mgr
}

// comes waits until the manager has brought a BillableJob to a phase.
func (b *bench) comes(name string, phase billingv1.Phase) {
	b.t.Helper()
	eventually(b.t, fmt.Sprintf("BillableJob %s is %s", name, phase), func() bool { return b.get(name).Status.Phase == phase })
}

// isHeld waits until a Job carries Recoup's finalizer and label, or carries neither.
func (b *bench) isHeld(name string, held bool) {
	b.t.Helper()
	eventually(b.t, fmt.Sprintf("Job %s is held: %t", name, held), func() bool {
		job := b.jobNamed(name)
		err := b.c.Get(b.ctx, client.ObjectKeyFromObject(job), job)
		if apierrors.IsNotFound(err) {
			return false
		}
		must(b.t, err)
		return controllerutil.ContainsFinalizer(job, billingv1.FinalizerOutcome) == held && (job.Labels[billingv1.LabelAttempt] != "") == held
	})
}

func TestTheManagerSeesWhatHappens(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.manage(true)

	retried := b.apply("retried", quick)
	b.isHeld("retried-0", true)
	b.comes("retried", billingv1.PhaseCharged)
	b.runs("retried-0")
	b.comes("retried", billingv1.PhaseRunning)
	b.fails("retried-0")
	b.isHeld("retried-1", true) // by the lane, two seconds later
	b.isHeld("retried-0", false)
	b.succeeds("retried-1")
	b.comes("retried", billingv1.PhaseReclaimed)
	b.isHeld("retried-1", false)
	b.wantRows(retried, "charge -40, refund +40, reclaim -40")

	claimed := b.apply("claimed", reference)
	eventually(t, "the missing Job is in a condition", func() bool {
		for _, c := range b.get("claimed").Status.Conditions {
			if c.Type == billingv1.ConditionBlocked {
				return c.Status == metav1.ConditionTrue
			}
		}
		return false
	})
	b.userJob("train")
	b.isHeld("train", true)
	b.comes("claimed", billingv1.PhaseCharged)
	b.succeeds("train")
	b.comes("claimed", billingv1.PhaseDelivered)
	b.isHeld("train", false)
	b.wantRows(claimed, "charge -40")

	deleted := b.apply("deleted", quick)
	b.comes("deleted", billingv1.PhaseCharged)
	b.delete("deleted")
	eventually(t, "the attempt of a deleted BillableJob is stopped", func() bool { return b.job("deleted-0").DeletionTimestamp != nil })
	b.collect("deleted-0")
	eventually(t, "the BillableJob is gone", func() bool {
		return apierrors.IsNotFound(b.c.Get(b.ctx, client.ObjectKeyFromObject(deleted), b.bjNamed("")))
	})
	b.wantRows(deleted, "charge -40, refund +40")

	orphaned := b.apply("orphaned", quick)
	b.comes("orphaned", billingv1.PhaseCharged)
	byHand := b.get("orphaned")
	byHand.Finalizers = nil
	must(t, b.c.Update(b.ctx, byHand))
	b.delete("orphaned")
	b.isHeld("orphaned-0", false)
	b.wantRows(orphaned, "charge -40")

	eventually(t, "the refund is an event", func() bool {
		var list eventsv1.EventList
		must(t, b.c.List(b.ctx, &list, client.InNamespace(b.ns)))
		for _, e := range list.Items {
			if e.Reason == billingv1.ConditionRefunded && e.Regarding.UID == retried.UID && e.Type == corev1.EventTypeWarning {
				return true
			}
		}
		return false
	})
}

// A user's own worker makes the attempt, with a controller reference and the attempt's number; nothing else is asked of it.
func TestAWorkersAttemptIsSeenByItsControllerReference(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.manage(false)
	bj := b.apply("job", quick)
	b.isHeld("job-0", true)
	b.comes("job", billingv1.PhaseCharged)
	b.fails("job-0")
	b.comes("job", billingv1.PhaseRetryScheduled)
	if entry := b.lastEntry(); entry.Attempts != 1 || entry.Name != "job" {
		t.Fatalf("the lane has %+v, want attempt 1", entry)
	}

	b.userJob("job-1", func(job *batchv1.Job) {
		controller := true
		job.Labels = map[string]string{billingv1.LabelAttempt: "1"}
		job.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: billingv1.GroupVersion.String(), Kind: "BillableJob", Name: "job", UID: bj.UID, Controller: &controller,
		}}
	})
	b.isHeld("job-1", true)
	if got := b.job("job-1").Labels[billingv1.LabelBillableJob]; got != "job" {
		t.Errorf("the adopted Job names BillableJob %q, want job", got)
	}
	b.runs("job-1")
	b.comes("job", billingv1.PhaseRunning)
	b.succeeds("job-1")
	b.comes("job", billingv1.PhaseReclaimed)
	b.isHeld("job-1", false)
	b.wantRows(bj, "charge -40, refund +40, reclaim -40")
}

func TestTheCacheHoldsOnlyWhatIsRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	mgr := b.manage(true)
	b.userJob("unrelated")
	b.apply("job", quick)
	b.comes("job", billingv1.PhaseCharged)
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("batch/v1")
	list.SetKind("JobList")
	eventually(t, "the attempt is in the cache", func() bool {
		must(t, mgr.GetCache().List(b.ctx, list))
		return len(list.Items) > 0
	})
	if len(list.Items) != 1 || list.Items[0].GetName() != "job-0" {
		t.Fatalf("the cache holds %d Jobs, the first is %s", len(list.Items), list.Items[0].GetName())
	}
	job := list.Items[0]
	if _, found, _ := unstructured.NestedMap(job.Object, "spec", "template"); found || len(job.GetManagedFields()) > 0 { //nolint:errcheck // absent or of another form is the same here
		t.Errorf("the cache holds what nobody reads: %v", job.Object)
	}
}

// quietFor is longer than the pause after which something in the way is looked at again.
const quietFor = obstacleRecheck + 2*time.Second

func TestAnIdleManagerWritesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.manage(true)
	b.userJob("train")
	b.apply("charged", trainingJob)
	b.apply("running", "deadline: 1h\nstartDeadline: 1h\n"+trainingJob)
	b.apply("delivered", trainingJob)
	b.apply("waiting", strings.Replace(trainingJob, "baseDelay: 5s, maxDelay: 1m", "baseDelay: 1h, maxDelay: 1h", 1))
	b.apply("dead", strings.Replace(trainingJob, "maxRetries: 2", "maxRetries: 0", 1))
	b.apply("claimed", reference)
	b.apply("missing", strings.Replace(reference, "name: train", "name: nothing", 1))
	b.apply("refused", strings.Replace(trainingJob, "restartPolicy: Never", "restartPolicy: Always", 1))
	for _, name := range []string{"charged", "running", "delivered", "waiting", "dead", "claimed"} {
		b.comes(name, billingv1.PhaseCharged)
	}
	b.comes("missing", billingv1.PhasePending)
	b.comes("refused", billingv1.PhasePending)
	b.apply("conflict", reference)
	b.runs("running-0")
	b.succeeds("delivered-0")
	b.fails("waiting-0")
	b.fails("dead-0")
	b.comes("running", billingv1.PhaseRunning)
	b.comes("delivered", billingv1.PhaseDelivered)
	b.comes("waiting", billingv1.PhaseRetryScheduled)
	b.comes("dead", billingv1.PhaseDeadLettered)
	b.comes("conflict", billingv1.PhaseConflict)
	for _, name := range []string{"delivered-0", "waiting-0", "dead-0"} {
		b.isHeld(name, false)
	}

	versions := func() string {
		var s strings.Builder
		for _, list := range []client.ObjectList{&billingv1.BillableJobList{}, &batchv1.JobList{}} {
			must(t, b.c.List(b.ctx, list, client.InNamespace(b.ns)))
			switch l := list.(type) {
			case *billingv1.BillableJobList:
				for i := range l.Items {
					fmt.Fprintf(&s, "%s=%s ", l.Items[i].Name, l.Items[i].ResourceVersion)
				}
			case *batchv1.JobList:
				for i := range l.Items {
					fmt.Fprintf(&s, "%s=%s ", l.Items[i].Name, l.Items[i].ResourceVersion)
				}
			}
		}
		return s.String()
	}
	g, want := NewWithT(t), ""
	g.Eventually(func() bool {
		was := want
		want = versions()
		return was == want
	}, 30*time.Second, 500*time.Millisecond).Should(BeTrue(), "the manager never comes to rest")
	g.Consistently(versions, quietFor, 200*time.Millisecond).Should(Equal(want), "an idle manager wrote")
}
