package controllers

import (
	"context"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/billing"
	"recoup.dev/recoup/internal/workload"
)

// hold adds the settlement finalizer, before anything is booked for the BillableJob.
func (p *pass) hold(ctx context.Context) error {
	base := p.bj.DeepCopy()
	controllerutil.AddFinalizer(&p.bj, billingv1.FinalizerSettlement)
	if err := p.r.Client.Patch(ctx, &p.bj, optimistic(base)); err != nil {
		return fmt.Errorf("adding the settlement finalizer to BillableJob %s: %w", p.key(), err)
	}
	p.in.Order.Held = true
	return nil
}

// claim ties the referenced workload to this BillableJob.
func (p *pass) claim(ctx context.Context) error {
	obj := p.objects[0]
	return p.tie(ctx, obj, 0, func(tied *unstructured.Unstructured) {
		setAnnotation(tied, billingv1.AnnotationClaimedBy, string(p.bj.UID))
	})
}

// adopt takes a workload that a user's own worker created for an attempt under the same protection as any other.
func (p *pass) adopt(ctx context.Context, n int) error {
	return p.tie(ctx, p.objects[n], n, func(*unstructured.Unstructured) {})
}

// tie adds the outcome finalizer and the labels in one write.
func (p *pass) tie(ctx context.Context, obj *unstructured.Unstructured, n int, more func(*unstructured.Unstructured)) error {
	tied := obj.DeepCopy()
	controllerutil.AddFinalizer(tied, billingv1.FinalizerOutcome)
	setLabel(tied, billingv1.LabelBillableJob, p.bj.Name)
	setLabel(tied, billingv1.LabelAttempt, strconv.Itoa(n))
	more(tied)
	if err := p.r.Client.Patch(ctx, tied, optimistic(obj)); err != nil {
		return fmt.Errorf("tying %s %s to BillableJob %s: %w", obj.GetKind(), obj.GetName(), p.key(), err)
	}
	p.reobserve(n, tied)
	return nil
}

// fill writes the referenced workload's template into the BillableJob, so that retries can be made.
func (p *pass) fill(ctx context.Context) error {
	seen := p.objects[0]
	obj, err := p.readLive(ctx, seen.GroupVersionKind(), seen.GetName())
	if err != nil {
		return err
	}
	if obj == nil || obj.GetUID() != seen.GetUID() {
		return fmt.Errorf("%s %s went away before its template was read", seen.GetKind(), seen.GetName())
	}
	raw, err := workload.FromObject(obj)
	if err != nil {
		p.in.Obstacle = &billing.Obstacle{Reason: billingv1.ReasonTemplateRefused, Message: bound(err.Error()), Permanent: true}
		return nil
	}
	base := p.bj.DeepCopy()
	p.bj.Spec.Template = &runtime.RawExtension{Raw: raw}
	if err := p.r.Client.Patch(ctx, &p.bj, optimistic(base)); err != nil {
		if refused := refusal(err); refused != nil && refused.Permanent {
			p.bj = *base
			p.in.Obstacle = refused
			return nil
		}
		return fmt.Errorf("filling in the template of BillableJob %s: %w", p.key(), err)
	}
	p.in.Order.Templated = true
	return nil
}

// tryOut makes a dry run of the next workload that would be created, so that most of what can be wrong with it is found
// before anything is charged.
func (p *pass) tryOut(ctx context.Context) error {
	n := 0
	if p.in.Order.Referenced {
		n = 1
	}
	obj := p.render(n)
	if obj == nil {
		return nil
	}
	// A field that the kind doesn't have is a typing error, which a plain creation would drop in silence.
	strict := client.WithFieldValidation(p.r.Client, metav1.FieldValidationStrict)
	err := strict.Create(ctx, obj, client.DryRunAll)
	switch {
	case err == nil:
	case dryRunUnsupported(err):
		p.warnings = append(p.warnings, warning{"DryRunSkipped", bound("the workload could not be tried out before the charge: " + err.Error())})
	case apierrors.IsAlreadyExists(err):
		if _, err := p.takeOver(ctx, obj, n); err != nil {
			return err
		}
	default:
		if err := p.refused(obj, err); err != nil {
			return err
		}
	}
	if o := p.in.Obstacle; o != nil && !o.Permanent && p.in.Order.Referenced {
		// What may pass stands in the way of a retry, not of the run that is there: that one is charged on sight.
		p.warnings = append(p.warnings, warning{o.Reason, bound("a retry could not be started now: " + o.Message)})
		p.in.Obstacle = nil
	}
	p.in.TriedOut = true
	return nil
}

// start creates the current attempt's workload.
func (p *pass) start(ctx context.Context, n int) error {
	if n == 0 && p.in.Order.Referenced {
		p.lose(0)
		p.in.Attempts = append(p.in.Attempts, billing.Attempt{Number: 0, Referenced: true, Vanished: true})
		return nil
	}
	if err := p.mustBeCurrent(ctx); err != nil {
		return err
	}
	obj := p.render(n)
	if obj == nil {
		return nil
	}
	err := p.r.Client.Create(ctx, obj)
	switch {
	case err == nil:
		p.log.Info("started", "attempt", n, "workload", obj.GetName())
		p.reobserve(n, obj)
		return nil
	case apierrors.IsAlreadyExists(err):
		found, err := p.takeOver(ctx, obj, n)
		if err == nil && found != nil {
			p.reobserve(n, found)
		}
		return err
	}
	return p.refused(obj, err)
}

// mustBeCurrent makes sure that no start rests on a BillableJob as it was before a write that the cache doesn't show yet.
func (p *pass) mustBeCurrent(ctx context.Context) error {
	now, err := p.r.liveBillableJob(ctx, p.key())
	if err != nil {
		return fmt.Errorf("before a start: %w", err)
	}
	if now.UID != p.bj.UID || now.ResourceVersion != p.bj.ResourceVersion {
		return apierrors.NewConflict(schema.GroupResource{Group: billingv1.Group, Resource: "billablejobs"}, p.bj.Name,
			fmt.Errorf("the cache is at resource version %s, the API server at %s", p.bj.ResourceVersion, now.ResourceVersion))
	}
	return nil
}

// render makes the workload of attempt n from the template; nil, with an obstacle, if the template can't be used.
func (p *pass) render(n int) *unstructured.Unstructured {
	obj, _, err := workload.Parse(p.bj.Spec.Template.Raw, p.bj.Namespace)
	if err != nil {
		p.in.Obstacle = &billing.Obstacle{Reason: billingv1.ReasonTemplateRefused, Message: bound(err.Error()), Permanent: true}
		return nil
	}
	obj.SetName(attemptName(&p.bj, n))
	obj.SetNamespace(p.bj.Namespace)
	setLabel(obj, billingv1.LabelBillableJob, p.bj.Name)
	setLabel(obj, billingv1.LabelAttempt, strconv.Itoa(n))
	obj.SetFinalizers([]string{billingv1.FinalizerOutcome})
	obj.SetOwnerReferences([]metav1.OwnerReference{
		*metav1.NewControllerRef(&p.bj, billingv1.GroupVersion.WithKind("BillableJob")),
	})
	return obj
}

// refused notes what the API server's refusal means; an error that says nothing about the workload is returned.
func (p *pass) refused(obj *unstructured.Unstructured, err error) error {
	if obstacle := refusal(err); obstacle != nil {
		p.in.Obstacle = obstacle
		return nil
	}
	return fmt.Errorf("creating %s %s for BillableJob %s: %w", obj.GetKind(), obj.GetName(), p.key(), err)
}

// takeOver looks at the object that has an attempt's name already. It returns it if it is that attempt; a predecessor's is
// waited out, and any other is a conflict.
func (p *pass) takeOver(ctx context.Context, wanted *unstructured.Unstructured, n int) (*unstructured.Unstructured, error) {
	obj, err := p.readLive(ctx, wanted.GroupVersionKind(), wanted.GetName())
	if err != nil || obj == nil {
		return nil, err
	}
	if number, ok := p.attemptOf(obj); ok && number == n {
		return obj, nil
	}
	owner := metav1.GetControllerOf(obj)
	if owner != nil && owner.UID == p.bj.UID {
		p.in.Conflict = &billing.Obstacle{Reason: billingv1.ReasonBooksDiffer, Message: fmt.Sprintf(
			"%s %q is an earlier run of this BillableJob, of which the books don't know: has the manager another --cluster or --database than before, or was the database lost or restored? Nothing is booked or run; delete nothing before that is clear",
			obj.GetKind(), obj.GetName())}
		return nil, nil
	}
	if owner != nil && owner.Kind == "BillableJob" && owner.Name == p.bj.Name {
		if controllerutil.ContainsFinalizer(obj, billingv1.FinalizerOutcome) {
			p.leftovers = append(p.leftovers, obj)
		}
		p.in.Obstacle = &billing.Obstacle{Reason: billingv1.ReasonWaitingForPredecessor, Message: fmt.Sprintf(
			"%s %q of a deleted BillableJob of the same name is still going away", obj.GetKind(), obj.GetName())}
		return nil, nil
	}
	p.in.Conflict = &billing.Obstacle{Reason: billingv1.ReasonNameTaken, Message: fmt.Sprintf(
		"attempt %d would be %s %q, which exists and isn't this BillableJob's; delete or rename that one, or re-create this one under another name",
		n, obj.GetKind(), obj.GetName())}
	return nil, nil
}

// stop deletes an attempt's workload, unless a last look shows that it succeeded; that outcome then decides.
func (p *pass) stop(ctx context.Context, n int) error {
	cached := p.objects[n]
	obj, err := p.readLive(ctx, cached.GroupVersionKind(), cached.GetName())
	if err != nil {
		return err
	}
	if obj == nil || obj.GetUID() != cached.GetUID() {
		p.lose(n)
		return nil
	}
	p.reobserve(n, obj)
	seen := p.in.Attempt(n)
	if seen.Phase.Ended() || seen.Deleting {
		return nil
	}
	uid, version, foreground := obj.GetUID(), obj.GetResourceVersion(), metav1.DeletePropagationForeground
	err = p.r.Client.Delete(ctx, obj, &client.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}, PropagationPolicy: &foreground,
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("stopping attempt %d of BillableJob %s: %w", n, p.key(), err)
	}
	p.stopped[n] = p.stopReason()
	p.log.Info("stopped", "attempt", n, "workload", obj.GetName())
	after, err := p.readLive(ctx, obj.GroupVersionKind(), obj.GetName())
	switch {
	case err != nil:
		return err
	case after == nil || after.GetUID() != uid:
		p.lose(n)
	default:
		p.reobserve(n, after)
	}
	return nil
}

func (p *pass) stopReason() string {
	switch {
	case p.in.Order.Deleting:
		return billingv1.ReasonJobDeleted
	case p.in.Order.Cancel:
		return billingv1.ReasonCancelled
	}
	return billingv1.ReasonSuperseded
}

func optimistic(base client.Object) client.Patch {
	return client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
}

func setLabel(obj client.Object, key, value string) {
	labels := obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = value
	obj.SetLabels(labels)
}

func setAnnotation(obj client.Object, key, value string) {
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	obj.SetAnnotations(annotations)
}
