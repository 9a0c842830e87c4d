package controllers

import (
	"context"
	"errors"
	"fmt"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/billing"
	"recoup.dev/recoup/internal/ledger"
)

// readBooks reads the job document from the primary.
func (p *pass) readBooks(ctx context.Context) error {
	job, err := p.r.Books.Get(ctx, p.jobID())
	if errors.Is(err, ledger.ErrNotCharged) {
		p.setDoc(nil, true)
		return nil
	}
	if err != nil {
		return p.mongoAway(err)
	}
	p.setDoc(&job, true)
	return nil
}

// setDoc takes a job document as the state to decide on.
func (p *pass) setDoc(job *ledger.Job, fresh bool) {
	p.doc, p.fresh = job, fresh
	p.in.RowsProven = false
	if job == nil {
		p.in.Books = nil
		p.in.Reported = billing.Reported{}
		p.r.memory.doubt(p.bj.UID)
		return
	}
	if obstacle := ownership(&p.bj, job); obstacle != nil {
		p.in.Conflict, p.in.Books = obstacle, nil
		return
	}
	p.r.memory.believe(p.bj.UID, *job)
	p.in.Books = &billing.Books{
		Mine:      job.UID == string(p.bj.UID),
		ChargedAt: job.CreatedAt, RefundedAt: job.RefundedAt, DeliveredAt: job.DeliveredAt,
		Refunded: job.IsRefunded, Reclaimed: job.IsReclaimed, Delivered: job.IsDelivered,
		DeadLettered: job.IsDeadLettered, DeadLetteredAt: job.DeadLetteredAt,
		Attempt: job.Attempt, Retries: job.Retries, Redrives: job.Redrives, NotBefore: job.NotBefore,
		RefundReason: job.RefundReason, LatestFailure: job.FailReason,
	}
	p.in.Reported = reported(&p.bj.Status, job)
	if p.in.Books.IsRetry() {
		p.in.PushAgainAt = p.r.memory.pushAgainAt(p.bj.UID, job.Attempt, p.in.FromLane(job.NotBefore), p.r.PushGrace)
	}
}

// ownership tells why a document can't be this BillableJob's; nil when it is.
func ownership(bj *billingv1.BillableJob, job *ledger.Job) *billing.Obstacle {
	switch {
	case job.Name != bj.Name:
		return &billing.Obstacle{Reason: billingv1.ReasonJobIDTaken, Message: fmt.Sprintf(
			"job ID %q belongs to BillableJob %q, which was charged for it; give this one a spec.jobID of its own", bj.Spec.JobID, job.Name)}
	case job.Account != bj.Spec.Account:
		return &billing.Obstacle{Reason: billingv1.ReasonBooksDiffer, Message: fmt.Sprintf(
			"the books have this job for account %q, not %q; re-create it with the account that was charged, or with a new spec.jobID", job.Account, bj.Spec.Account)}
	case job.Cost != bj.Spec.Cost:
		return &billing.Obstacle{Reason: billingv1.ReasonBooksDiffer, Message: fmt.Sprintf(
			"the books have this job at %d credits, not %d; re-create it with the cost that was charged, or with a new spec.jobID", job.Cost, bj.Spec.Cost)}
	}
	return nil
}
