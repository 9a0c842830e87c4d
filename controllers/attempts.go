package controllers

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/billing"
	"recoup.dev/recoup/internal/workload"
)

// foregroundDeletion is the finalizer that keeps an object until what it owns is gone.
const foregroundDeletion = metav1.FinalizerDeleteDependents

// observe reads a workload and moves the attempt's clock, which the record in the status keeps between passes.
func (p *pass) observe(n int, obj *unstructured.Unstructured, record *billingv1.AttemptStatus) billing.Attempt {
	a := billing.Attempt{
		Number: n, Exists: true,
		Referenced: n == 0 && p.in.Order.Referenced,
		Held:       controllerutil.ContainsFinalizer(obj, billingv1.FinalizerOutcome) && p.isOurs(n, obj),
		Unseen:     obj.GetLabels()[billingv1.LabelAttempt] != strconv.Itoa(n) || obj.GetLabels()[billingv1.LabelBillableJob] != p.bj.Name,
		Deleting:   obj.GetDeletionTimestamp() != nil,
		CreatedAt:  obj.GetCreationTimestamp().UTC(),
		Phase:      billing.Unknown,
	}
	a.Gone = a.Deleting && !controllerutil.ContainsFinalizer(obj, foregroundDeletion)
	if record != nil {
		a.Settled = record.Outcome != ""
		if record.FinishedAt != nil {
			a.FinishedAt = record.FinishedAt.UTC()
		}
	}
	clock := clockOf(record)
	if kind, ok := workload.Lookup(obj.GetAPIVersion(), obj.GetKind()); ok {
		o := kind.Observe(obj)
		a.Phase, a.Reason, a.Message = billing.Phase(o.Phase), o.Reason, bound(o.Message)
		a.Suspended, a.ResumedAt = o.Suspended, o.ResumedAt
		if !o.FinishedAt.IsZero() {
			a.FinishedAt = o.FinishedAt
		}
		possible := a.CreatedAt
		if planned := p.in.PlannedAt(n); planned.After(possible) {
			possible = planned
		}
		clock = clock.Advance(billing.Observed{
			Phase: a.Phase, Suspended: o.Suspended, Ready: o.Ready,
			StartedAt: o.StartedAt, CreatedAt: possible, FinishedAt: o.FinishedAt,
			SuspendedAt: o.SuspendedAt, ResumedAt: o.ResumedAt,
		}, p.now)
	}
	a.Clock = clock
	return a
}

// reobserve looks at an attempt's workload once more after it was written or read live in this pass.
func (p *pass) reobserve(n int, obj *unstructured.Unstructured) {
	p.objects[n] = obj
	seen := p.observe(n, obj, p.record(n))
	for i := range p.in.Attempts {
		if p.in.Attempts[i].Number == n {
			p.in.Attempts[i] = seen
			return
		}
	}
	p.in.Attempts = append(p.in.Attempts, seen)
}

// lose notes that an attempt's workload is no longer there.
func (p *pass) lose(n int) {
	delete(p.objects, n)
	for i := range p.in.Attempts {
		if p.in.Attempts[i].Number == n {
			p.in.Attempts[i].Exists, p.in.Attempts[i].Held, p.in.Attempts[i].Vanished = false, false, true
		}
	}
}

func (p *pass) record(n int) *billingv1.AttemptStatus {
	for i := range p.bj.Status.Attempts {
		if int(p.bj.Status.Attempts[i].Number) == n {
			return &p.bj.Status.Attempts[i]
		}
	}
	return nil
}

func clockOf(record *billingv1.AttemptStatus) billing.Clock {
	var c billing.Clock
	if record == nil {
		return c
	}
	if record.StartedAt != nil {
		c.StartedAt = record.StartedAt.UTC()
	}
	if record.RunningSince != nil {
		c.RunningSince = record.RunningSince.UTC()
	}
	if record.Ran != nil {
		c.Ran = record.Ran.Duration
	}
	return c
}

// microTime is a time as a status stores it; nil for an absent one.
func microTime(t time.Time) *metav1.MicroTime {
	if t.IsZero() {
		return nil
	}
	m := metav1.NewMicroTime(t.UTC().Truncate(time.Millisecond))
	return &m
}
