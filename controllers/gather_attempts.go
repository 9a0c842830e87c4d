package controllers

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/billing"
	"recoup.dev/recoup/internal/workload"
)

// gatherAttempts puts together what the cache, the record in the status and, where these leave a gap, live reads say of
// the attempts.
func (p *pass) gatherAttempts(ctx context.Context) error {
	named, err := p.r.workloadsOf(ctx, p.key())
	if err != nil {
		return err
	}
	for i := range named {
		p.place(&named[i])
	}
	live := p.due != nil || p.in.Order.Deleting
	if live {
		for n, obj := range p.objects {
			if err := p.refresh(ctx, n, obj); err != nil {
				return err
			}
		}
	}
	records := map[int]*billingv1.AttemptStatus{}
	for i := range p.bj.Status.Attempts {
		records[int(p.bj.Status.Attempts[i].Number)] = &p.bj.Status.Attempts[i]
	}
	if err := p.gatherReferenced(ctx, records[0]); err != nil {
		return err
	}
	p.missTemplate()
	vanished, err := p.findMissing(ctx, records, live)
	if err != nil {
		return err
	}

	p.in.Attempts = nil
	for n, obj := range p.objects {
		p.in.Attempts = append(p.in.Attempts, p.observe(n, obj, records[n]))
		delete(records, n)
	}
	for n, record := range records {
		a := billing.Attempt{
			Number: n, Vanished: vanished[n], Referenced: n == 0 && p.in.Order.Referenced,
			Clock: clockOf(record), Settled: record.Outcome != "", Elsewhere: record.Workload == nil && record.Outcome == "",
		}
		if record.FinishedAt != nil {
			a.FinishedAt = record.FinishedAt.UTC()
		}
		p.in.Attempts = append(p.in.Attempts, a)
	}
	p.gatherElsewhere()
	p.observed = true
	return nil
}

// findMissing reads live what the record says was there and the cache doesn't show: a cache that lags brings no news of a
// disappearance. It returns the numbers of the attempts that are really gone.
func (p *pass) findMissing(ctx context.Context, records map[int]*billingv1.AttemptStatus, live bool) (map[int]bool, error) {
	vanished := map[int]bool{}
	for n, record := range records {
		if p.objects[n] != nil || record.Outcome != "" || record.Workload == nil {
			continue
		}
		w := record.Workload
		obj, err := p.readLive(ctx, schema.FromAPIVersionAndKind(w.APIVersion, w.Kind), w.Name)
		if err != nil {
			return nil, err
		}
		if obj == nil || obj.GetUID() != w.UID {
			vanished[n] = true
			continue
		}
		p.objects[n] = obj
	}
	if b := p.in.Books; live && b != nil && p.objects[b.Attempt] == nil && p.in.Order.Templated && records[b.Attempt] == nil {
		return vanished, p.findUnrecorded(ctx, b.Attempt)
	}
	return vanished, nil
}

// findUnrecorded looks for a current attempt that was started without leaving a record, by a pass that died or by a
// user's own worker, and that the cache doesn't show yet.
func (p *pass) findUnrecorded(ctx context.Context, n int) error {
	if n == 0 && p.in.Order.Referenced {
		return nil
	}
	_, kind, err := workload.Parse(p.bj.Spec.Template.Raw, p.bj.Namespace)
	if err != nil {
		return nil //nolint:nilerr // a template that can't be read has no workload; whoever starts it says what is wrong
	}
	obj, err := p.readLive(ctx, kind.GVK, attemptName(&p.bj, n))
	if err != nil || obj == nil {
		return err
	}
	if number, ok := p.attemptOf(obj); ok && number == n {
		p.objects[n] = obj
	}
	return nil
}

// gatherElsewhere takes a user's own worker at its word that it runs an attempt.
func (p *pass) gatherElsewhere() {
	s := p.signals.started
	if s == nil || p.in.Books == nil || s.attempt != p.in.Books.Attempt {
		return
	}
	for _, a := range p.in.Attempts {
		if a.Number == s.attempt {
			return
		}
	}
	start := s.at
	if planned := p.in.PlannedAt(s.attempt); start.Before(planned) {
		start = planned
	}
	if start.After(p.now) {
		start = p.now
	}
	p.in.Attempts = append(p.in.Attempts, billing.Attempt{
		Number: s.attempt, Elsewhere: true, Phase: billing.Running,
		Clock: billing.Clock{StartedAt: start, RunningSince: start},
	})
}

func attemptName(bj *billingv1.BillableJob, n int) string { return fmt.Sprintf("%s-%d", bj.Name, n) }

// refresh replaces a cached workload by what the API server has now, or drops it when its UID is gone.
func (p *pass) refresh(ctx context.Context, n int, cached *unstructured.Unstructured) error {
	obj, err := p.readLive(ctx, cached.GroupVersionKind(), cached.GetName())
	switch {
	case err != nil:
		return err
	case obj == nil || obj.GetUID() != cached.GetUID():
		delete(p.objects, n)
	default:
		p.objects[n] = obj
	}
	return nil
}

// readLive reads a workload from the API server; nil means that there is none under that name. A kind that isn't served
// and a refusal to read are errors: they say nothing about the workload.
func (p *pass) readLive(ctx context.Context, gvk schema.GroupVersionKind, name string) (*unstructured.Unstructured, error) {
	obj := blank(gvk)
	err := p.r.Live.Get(ctx, types.NamespacedName{Namespace: p.bj.Namespace, Name: name}, obj)
	if apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s/%s: %w", gvk.Kind, p.bj.Namespace, name, err)
	}
	return obj, nil
}
