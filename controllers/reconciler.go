package controllers

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/retry"
	"recoup.dev/recoup/internal/workload"
)

const (
	// maxBackoff is the longest pause after a failed pass. The library's default of 1,000 s would keep a job waiting for
	// a quarter of an hour after the stores are back.
	maxBackoff = time.Minute
	// passTimeout bounds one pass; each call to a store has a shorter time-out of its own.
	passTimeout = time.Minute
	// obstacleRecheck is how often something that a watch doesn't show, such as a missing workload or a quota, is
	// looked at again.
	obstacleRecheck = 10 * time.Second
	// conflictRecheck is how soon a pass is made again whose write met a newer resource version.
	conflictRecheck = 200 * time.Millisecond
)

// BillableJobReconciler keeps BillableJobs, their workloads, the books and the retry lane in step.
type BillableJobReconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server itself.
	Live client.Reader
	// Recorder writes events.
	Recorder events.EventRecorder
	// Books are the ledger.
	Books Books
	// Lane carries the retries.
	Lane Announcer
	// Cluster is the first part of every job document's ID.
	Cluster string
	// AcceptSignals lets annotations report deliveries and failures.
	AcceptSignals bool
	// Now is the manager's clock.
	Now func() time.Time
	// Jitter is the largest part of a back-off that is taken off at random, from 0 to 1.
	Jitter float64
	// Random returns numbers from 0 to 1 for the jitter.
	Random func() float64
	// PushGrace is how long after its due time a retry that hasn't appeared is announced again; it doubles each time.
	PushGrace time.Duration
	// Concurrency is how many BillableJobs are worked on at once.
	Concurrency int

	memory memory
	keys   keyLocks
}

// SetupWithManager registers the reconciler, its index and its watches.
func (r *BillableJobReconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	builder := ctrl.NewControllerManagedBy(mgr).
		Named("billablejob").
		For(&billingv1.BillableJob{}).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: r.Concurrency,
			ReconciliationTimeout:   passTimeout,
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
				100*time.Millisecond, maxBackoff),
		})
	for _, kind := range workload.Kinds() {
		if err := mgr.GetFieldIndexer().IndexField(ctx, blank(kind.GVK), ownerIndex, indexOwner); err != nil {
			return fmt.Errorf("indexing %s by its BillableJob: %w", kind.GVK, err)
		}
		builder = builder.Watches(blank(kind.GVK), handler.EnqueueRequestsFromMapFunc(toOwner))
	}
	if err := builder.Complete(r); err != nil {
		return fmt.Errorf("setting up the BillableJob controller: %w", err)
	}
	return nil
}

// Reconcile brings one BillableJob a pass further.
func (r *BillableJobReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p, err := r.run(ctx, req.NamespacedName, nil)
	if apierrors.IsConflict(err) {
		// Somebody else wrote first, or the cache is a moment behind: nothing is wrong, and another look settles it.
		p.log.V(1).Info("looking again", "reason", err.Error())
		return ctrl.Result{RequeueAfter: conflictRecheck}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: p.lookAgainIn()}, nil
}

// run makes one pass. With a due entry it is the lane that asks, and everything that decides is read live.
func (r *BillableJobReconciler) run(ctx context.Context, key types.NamespacedName, due *retry.Entry) (*pass, error) {
	defer r.keys.lock(key)()

	p := r.newPass(ctx, due)
	reader := client.Reader(r.Client)
	if due != nil {
		reader = r.Live
	}
	if err := reader.Get(ctx, key, &p.bj); apierrors.IsNotFound(err) {
		return p, r.releaseOrphans(ctx, key)
	} else if err != nil {
		return p, fmt.Errorf("reading BillableJob %s: %w", key, err)
	}
	p.found = true

	err := p.gather(ctx)
	if err == nil {
		err = p.work(ctx)
	}
	if p.gone {
		return p, err
	}
	if statusErr := p.report(ctx); statusErr != nil {
		// Whatever was booked stands in the books; the next pass reports it.
		if err == nil {
			err = statusErr
		}
		return p, err
	}
	if releaseErr := p.release(ctx); err == nil {
		err = releaseErr
	}
	return p, err
}
