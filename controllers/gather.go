package controllers

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/billing"
)

// gather observes everything that a decision depends on. An error means that something could not be seen; what can't be
// seen is unknown, and nothing is decided on it.
func (p *pass) gather(ctx context.Context) error {
	p.log = p.log.WithValues("jobID", p.jobID())
	p.in.Now = p.now
	p.in.LaneNow = p.r.Lane.Now()
	p.in.Due = p.due != nil
	p.in.Order = order(&p.bj)
	p.signals = readSignals(p.bj.Annotations, p.r.AcceptSignals)
	p.in.Signals = p.signals.Signals

	if err := p.r.Books.Prepare(ctx); err != nil {
		return p.mongoAway(err)
	}
	if err := p.recall(ctx); err != nil {
		return err
	}
	return p.gatherAttempts(ctx)
}

func order(bj *billingv1.BillableJob) billing.Order {
	o := billing.Order{
		CreatedAt:  bj.CreationTimestamp.UTC(),
		Held:       controllerutil.ContainsFinalizer(bj, billingv1.FinalizerSettlement),
		Deleting:   bj.DeletionTimestamp != nil,
		Cancel:     bj.Spec.Cancel,
		Keep:       bj.Spec.DeletionPolicy == billingv1.DeletionPolicyKeep,
		Referenced: bj.Spec.WorkloadRef != nil,
		Templated:  bj.Spec.Template != nil && len(bj.Spec.Template.Raw) > 0,
	}
	if bj.Spec.Deadline != nil {
		o.Deadline = bj.Spec.Deadline.Duration
	}
	if bj.Spec.StartDeadline != nil {
		o.StartDeadline = bj.Spec.StartDeadline.Duration
	}
	if ttl := bj.Spec.TTLSecondsAfterFinished; ttl != nil {
		o.Expires, o.TTL = true, time.Duration(*ttl)*time.Second
	}
	if r := bj.Spec.Retry; r != nil {
		if r.MaxRetries != nil {
			o.MaxRetries = int(*r.MaxRetries)
		}
		o.PermanentReasons = r.PermanentReasons
	}
	return o
}

// recall takes the document as it was last seen, or, for a BillableJob that is new, as absent: the guards find out what is
// wrong with a belief, and what isn't guarded is not done on one. Else it reads the document.
func (p *pass) recall(ctx context.Context) error {
	certain := p.due != nil || p.in.Order.Deleting
	if job, ok := p.r.memory.belief(p.bj.UID); ok && !certain {
		p.setDoc(&job, false)
		return nil
	}
	if p.isNew() && !certain && !p.in.Order.Cancel {
		p.setDoc(nil, false)
		return nil
	}
	return p.readBooks(ctx)
}

// isNew tells that nothing was ever said about the BillableJob and that it was never held, which comes before the charge. A
// reference under a job ID of the user's own may be somebody else's, or delivered, and its workload isn't to be marked then.
func (p *pass) isNew() bool {
	marksNothing := !p.in.Order.Referenced || p.bj.Spec.JobID == ""
	return p.bj.Status.Phase == "" && !p.in.Order.Held && marksNothing
}
