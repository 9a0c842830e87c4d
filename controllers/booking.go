package controllers

import (
	"context"
	"errors"
	"fmt"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/billing"
	"recoup.dev/recoup/internal/ledger"
	"recoup.dev/recoup/internal/retry"
)

// book makes one transition in the books. Whoever loses a guard takes the document as it is and decides anew.
func (p *pass) book(ctx context.Context, d billing.Decision) error {
	var job ledger.Job
	var outcome ledger.Outcome
	var err error
	books := p.r.Books
	switch d.Verb {
	case billing.Charge:
		job, outcome, err = books.Charge(ctx, ledger.Job{
			ID: p.jobID(), Account: p.bj.Spec.Account, Cost: p.bj.Spec.Cost,
			Cluster: p.r.Cluster, Namespace: p.bj.Namespace, Name: p.bj.Name, UID: string(p.bj.UID), CreatedAt: p.now,
		})
	case billing.Deliver:
		job, outcome, err = books.Deliver(ctx, *p.doc, p.now)
	case billing.Reclaim:
		job, outcome, err = books.Reclaim(ctx, *p.doc, p.now)
	case billing.Refund:
		job, outcome, err = books.Refund(ctx, *p.doc, p.failure(d))
	case billing.FailAgain:
		job, outcome, err = books.FailAgain(ctx, *p.doc, p.failure(d))
	case billing.Redrive:
		job, outcome, err = books.Redrive(ctx, *p.doc, p.now, p.r.Lane.Now())
	}

	var lost *ledger.LostError
	var conflict *ledger.ConflictError
	switch {
	case err == nil:
		p.setDoc(&job, true)
		p.in.RowsProven = true
	case errors.As(err, &lost):
		p.log.V(1).Info("another writer was first", "verb", d.Verb, "error", err.Error())
		p.setDoc(&lost.Job, true)
		return nil
	case errors.Is(err, ledger.ErrNotCharged):
		p.setDoc(nil, true)
		return nil
	case errors.As(err, &conflict):
		p.r.memory.doubt(p.bj.UID)
		p.in.Conflict = p.booksDiffer(ctx, conflict)
		return nil
	default:
		p.r.memory.doubt(p.bj.UID)
		return p.mongoAway(err)
	}
	switch {
	case d.Reason == billing.ReasonCancelled, d.Reason == billing.ReasonJobDeleted:
		p.stopped[d.Attempt] = d.Reason
	case d.Verb == billing.Refund, d.Verb == billing.FailAgain:
		p.failures[d.Attempt] = d.Reason
	}
	if outcome == ledger.Won {
		transitions.WithLabelValues(string(d.Verb)).Inc()
		p.log.Info("booked", "transition", d.Verb, "attempt", d.Attempt, "cost", job.Cost, "account", job.Account,
			"reason", d.Reason, "then", d.Then, "rule", d.Rule)
	}
	return nil
}

// booksDiffer says whose the document is; the document itself explains it better than the field that differs.
func (p *pass) booksDiffer(ctx context.Context, conflict *ledger.ConflictError) *billing.Obstacle {
	if job, err := p.r.Books.Get(ctx, p.jobID()); err == nil {
		if obstacle := ownership(&p.bj, &job); obstacle != nil {
			return obstacle
		}
	}
	return &billing.Obstacle{Reason: billingv1.ReasonBooksDiffer, Message: bound(conflict.Error())}
}

func (p *pass) failure(d billing.Decision) ledger.Failure {
	f := ledger.Failure{Attempt: d.Attempt, At: p.now, Reason: d.Reason}
	switch d.Then {
	case billing.ThenRetry:
		f.Then = ledger.ThenRetry
		f.NotBefore = p.r.Lane.Now().Add(p.backoff(p.in.Books.Retries + 1))
	case billing.ThenDeadLetter:
		f.Then = ledger.ThenDeadLetter
	default:
		f.Then = ledger.ThenNothing
	}
	return f
}

// ensureRows appends the rows that the document demands, where they are missing.
func (p *pass) ensureRows(ctx context.Context) error {
	err := p.r.Books.EnsureRows(ctx, *p.doc)
	var conflict *ledger.ConflictError
	switch {
	case errors.As(err, &conflict):
		p.in.Conflict = &billing.Obstacle{Reason: billingv1.ReasonBooksDiffer, Message: bound(conflict.Error())}
		return nil
	case err != nil:
		return p.mongoAway(err)
	}
	p.in.RowsProven = true
	return nil
}

// mongoAway notes, for the status, that the books can't be reached, and returns the error for the back-off.
func (p *pass) mongoAway(err error) error {
	p.trouble = &trouble{
		reason:  billingv1.ReasonMongoUnavailable,
		message: "the books (MongoDB) don't answer; nothing is booked or started until they do, and nothing is lost",
	}
	if errors.Is(err, ledger.ErrSchema) {
		p.trouble = &trouble{reason: billingv1.ReasonSchemaMismatch, message: bound(err.Error())}
	}
	storeErrors.WithLabelValues("mongodb").Inc()
	return fmt.Errorf("books of job %s: %w", p.jobID(), err)
}

// redisAway notes, for the status, that the lane can't be written, and returns the error for the back-off.
func (p *pass) redisAway(err error) error {
	p.trouble = &trouble{
		reason:  billingv1.ReasonRedisUnavailable,
		message: "the retry lane (Redis) takes no entries; what was booked stands, and the entry is written when it does",
	}
	var owned *retry.OwnedError
	if errors.As(err, &owned) {
		p.trouble.message = bound(err.Error())
	}
	storeErrors.WithLabelValues("redis").Inc()
	return fmt.Errorf("retry lane for job %s: %w", p.jobID(), err)
}
