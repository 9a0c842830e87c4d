package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	billingv1 "recoup.dev/recoup/api/v1"
)

// release takes the outcome finalizer, and with it the label that the watch selects on, off workloads whose end is in the
// status by now, and off what predecessors left. The claim stays, so that no second BillableJob bills the same run.
func (p *pass) release(ctx context.Context) error {
	var errs []error
	for _, a := range p.in.Attempts {
		obj := p.objects[a.Number]
		switch {
		case obj == nil:
		case a.Releasable() && p.attemptRecorded(a.Number):
			errs = append(errs, p.r.untie(ctx, obj, false))
		case a.Held && p.in.Conflict != nil && p.in.Books == nil && p.in.Conflict.Reason != billingv1.ReasonNameTaken:
			// It was claimed before the books said that the job is somebody else's. A name that is taken can become free, and
			// claiming anew at each look would write for ever.
			errs = append(errs, p.r.untie(ctx, obj, true))
		case a.Held && a.Gone && p.neverCharged():
			errs = append(errs, p.r.untie(ctx, obj, true))
		}
	}
	for _, obj := range p.leftovers {
		errs = append(errs, p.r.untie(ctx, obj, true))
	}
	return errors.Join(errs...)
}

// neverCharged tells that nothing is booked, and that waiting won't change it, so that no outcome matters.
func (p *pass) neverCharged() bool {
	return p.doc == nil && p.fresh && p.in.Obstacle != nil && p.in.Obstacle.Permanent
}

// attemptRecorded tells that the status, as it was written, holds the attempt's outcome, or has dropped the attempt as one
// of the oldest.
func (p *pass) attemptRecorded(n int) bool {
	if p.in.Books == nil {
		return false
	}
	record := p.record(n)
	return record == nil || record.Outcome != ""
}

// untie takes a workload out of Recoup's hands. One that is gone by now needs nothing.
func (r *BillableJobReconciler) untie(ctx context.Context, obj *unstructured.Unstructured, unclaim bool) error {
	base := obj.DeepCopy()
	controllerutil.RemoveFinalizer(obj, billingv1.FinalizerOutcome)
	labels := obj.GetLabels()
	delete(labels, billingv1.LabelAttempt)
	obj.SetLabels(labels)
	if unclaim {
		annotations := obj.GetAnnotations()
		delete(annotations, billingv1.AnnotationClaimedBy)
		obj.SetAnnotations(annotations)
	}
	if err := r.Client.Patch(ctx, obj, optimistic(base)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("letting go of %s %s/%s: %w", obj.GetKind(), obj.GetNamespace(), obj.GetName(), err)
	}
	return nil
}

// finish lets go of every workload and of the BillableJob, whose books are settled.
func (p *pass) finish(ctx context.Context) error {
	for _, a := range p.in.Attempts {
		if obj := p.objects[a.Number]; obj != nil && a.Held {
			if err := p.r.untie(ctx, obj, a.Referenced && !a.Phase.Ended()); err != nil {
				return err
			}
		}
	}
	for _, obj := range p.leftovers {
		if err := p.r.untie(ctx, obj, true); err != nil {
			return err
		}
	}
	p.r.memory.forget(p.bj.UID)
	p.gone = true
	if !controllerutil.ContainsFinalizer(&p.bj, billingv1.FinalizerSettlement) {
		return nil
	}
	base := p.bj.DeepCopy()
	controllerutil.RemoveFinalizer(&p.bj, billingv1.FinalizerSettlement)
	if err := p.r.Client.Patch(ctx, &p.bj, optimistic(base)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing the settlement finalizer from BillableJob %s: %w", p.key(), err)
	}
	p.log.Info("let go", "rule", p.decision.Rule)
	return nil
}

// expire deletes the BillableJob after its time to live; its finalizer does the rest.
func (p *pass) expire(ctx context.Context) error {
	p.gone = true
	uid, version := p.bj.UID, p.bj.ResourceVersion
	err := p.r.Client.Delete(ctx, &p.bj, &client.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
	})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting BillableJob %s, whose time to live is over: %w", p.key(), err)
	}
	return nil
}

// releaseOrphans lets go of workloads whose BillableJob is gone although they were never let go of, because somebody took
// its finalizer off by hand.
func (r *BillableJobReconciler) releaseOrphans(ctx context.Context, key types.NamespacedName) error {
	named, err := r.workloadsOf(ctx, key)
	if err != nil {
		return err
	}
	held := slices.DeleteFunc(named, func(obj unstructured.Unstructured) bool {
		return !controllerutil.ContainsFinalizer(&obj, billingv1.FinalizerOutcome)
	})
	if len(held) == 0 {
		return nil
	}
	if _, err := r.liveBillableJob(ctx, key); !apierrors.IsNotFound(err) {
		return err // nil if it exists: the cache will show it
	}
	var errs []error
	for i := range held {
		errs = append(errs, r.untie(ctx, &held[i], true))
	}
	return errors.Join(errs...)
}
