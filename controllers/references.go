package controllers

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/billing"
	"recoup.dev/recoup/internal/workload"
)

// gatherReferenced looks for the workload that the BillableJob names, unless the cache has it or its end is recorded. One
// that was applied again looks for it even where the books are at a retry: it may run on, and lends the retry its template.
func (p *pass) gatherReferenced(ctx context.Context, record *billingv1.AttemptStatus) error {
	ref := p.bj.Spec.WorkloadRef
	settled := p.in.Books != nil && (p.in.Books.Delivered || (p.in.Books.Attempt > 0 && p.in.Books.Mine))
	if ref == nil || p.objects[0] != nil || settled || (record != nil && record.Outcome != "") {
		return nil
	}
	if _, known := workload.Lookup(ref.APIVersion, ref.Kind); !known {
		p.in.Obstacle = &billing.Obstacle{Reason: billingv1.ReasonTemplateRefused, Permanent: true, Message: fmt.Sprintf(
			"spec.workloadRef names %s %s, a kind that Recoup can't bill; use batch/v1 Job", ref.APIVersion, ref.Kind)}
		return nil
	}
	obj, err := p.readLive(ctx, schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), ref.Name)
	if err != nil {
		return err
	}
	if obj == nil {
		if p.in.Books == nil {
			p.in.Obstacle = &billing.Obstacle{Reason: billingv1.ReasonWorkloadNotFound, Message: fmt.Sprintf(
				"%s %q, which spec.workloadRef names, doesn't exist in namespace %q; create it, or correct the name", ref.Kind, ref.Name, p.bj.Namespace)}
		}
		return nil
	}
	if p.in.Books != nil && record != nil && record.Workload != nil && record.Workload.UID != obj.GetUID() {
		return nil // another object under the same name
	}
	claimant, err := p.claimant(ctx, obj)
	switch {
	case err != nil:
		return err
	case claimant != "":
		p.in.Conflict = &billing.Obstacle{Reason: billingv1.ReasonWorkloadClaimed, Message: fmt.Sprintf(
			"%s %q is billed by BillableJob %q already; name another workload", ref.Kind, ref.Name, claimant)}
	default:
		p.objects[0] = obj
	}
	return nil
}

// missTemplate notes that a retry has nothing to be made from: a BillableJob that was applied again finds its workload gone
// before the template was filled in.
func (p *pass) missTemplate() {
	b, ref := p.in.Books, p.bj.Spec.WorkloadRef
	if b == nil || ref == nil || b.Delivered || b.Attempt == 0 || p.in.Order.Templated || p.objects[0] != nil || p.in.Obstacle != nil {
		return
	}
	p.in.Obstacle = &billing.Obstacle{Reason: billingv1.ReasonWorkloadNotFound, Message: fmt.Sprintf(
		"no retry can be made: %s %q, which spec.workloadRef names, doesn't exist; create it, or set spec.template", ref.Kind, ref.Name)}
}

// claimant is the name of another BillableJob that the workload belongs to; empty when there is none. One that is gone left
// a run that goes on to whoever names it next, but a run that has ended was its own: nobody pays for it again.
func (p *pass) claimant(ctx context.Context, obj *unstructured.Unstructured) (string, error) {
	uid, name := ownerUID(obj), ownerName(obj)
	if uid == "" || uid == p.bj.UID || name == "" || name == p.bj.Name {
		return "", nil
	}
	if kind, ok := workload.Lookup(obj.GetAPIVersion(), obj.GetKind()); ok && kind.Observe(obj).Phase.Ended() {
		return name, nil
	}
	other, err := p.r.liveBillableJob(ctx, types.NamespacedName{Namespace: p.bj.Namespace, Name: name})
	if apierrors.IsNotFound(err) || (err == nil && other.UID != uid) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("looking for who claimed %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return name, nil
}
