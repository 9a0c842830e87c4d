package controllers

import (
	"context"
	"time"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/ledger"
	"recoup.dev/recoup/internal/retry"
)

// push announces the current attempt to the lane. The entry is a function of the document, so that it is the same, byte
// for byte, however often and by whomever it is written.
func (p *pass) push(ctx context.Context, again bool) error {
	if err := p.r.Lane.Prepare(ctx); err != nil {
		return p.redisAway(err)
	}
	if p.doc.Redrives > 0 && p.doc.Retries == 0 && !again {
		// A fresh round takes the job off the list for people.
		if err := p.r.Lane.RemoveDeadLetter(ctx, p.doc.ID); err != nil {
			return p.redisAway(err)
		}
	}
	if err := p.r.Lane.Push(ctx, retryEntry(p.doc)); err != nil {
		return p.redisAway(err)
	}
	if again {
		p.r.memory.pushedAgain(p.bj.UID, p.doc.Attempt, p.now)
		p.log.Info("a retry that was due hasn't appeared and was announced again", "attempt", p.doc.Attempt)
		pushedAgain.Inc()
	} else {
		p.in.Reported.Announced = true
	}
	p.in.PushAgainAt = p.r.memory.pushAgainAt(p.bj.UID, p.doc.Attempt, p.in.FromLane(p.doc.NotBefore), p.r.PushGrace)
	return nil
}

// deadLetter puts the job on the list for people.
func (p *pass) deadLetter(ctx context.Context) error {
	if err := p.r.Lane.Prepare(ctx); err != nil {
		return p.redisAway(err)
	}
	if err := p.r.Lane.DeadLetter(ctx, deadEntry(p.doc)); err != nil {
		return p.redisAway(err)
	}
	p.in.Reported.DeadLettered = true
	return nil
}

func retryEntry(job *ledger.Job) retry.Entry {
	return retry.Entry{
		Version: retry.Version, JobID: job.ID, Cluster: job.Cluster, Namespace: job.Namespace, Name: job.Name, UID: job.UID,
		Account: job.Account, Cost: job.Cost, Attempts: job.Attempt, NotBefore: job.NotBefore, Reason: job.FailReason,
	}
}

func deadEntry(job *ledger.Job) retry.DeadEntry {
	return retry.DeadEntry{
		Version: retry.Version, JobID: job.ID, Cluster: job.Cluster, Namespace: job.Namespace, Name: job.Name, UID: job.UID,
		Account: job.Account, Cost: job.Cost, Attempts: job.Attempt, Reason: job.FailReason,
		FirstFailedAt: job.RefundedAt, FailedAt: job.FailedAt,
	}
}

// backoff is the pause before retry n of this job, counted from 1.
func (p *pass) backoff(n int) time.Duration {
	base, limit := billingv1.DefaultBaseDelay, billingv1.DefaultMaxDelay
	if r := p.bj.Spec.Retry; r != nil {
		if r.BaseDelay != nil {
			base = r.BaseDelay.Duration
		}
		if r.MaxDelay != nil {
			limit = r.MaxDelay.Duration
		}
	}
	return retry.Backoff(n, base, limit, p.r.Jitter, p.r.Random)
}

// isAnnounced tells that the status names the current retry, which it does only after the lane has the entry.
func isAnnounced(status *billingv1.BillableJobStatus, job *ledger.Job) bool {
	return status.NotBefore != nil && !job.NotBefore.IsZero() && !job.IsDeadLettered &&
		status.NotBefore.UTC().Equal(job.NotBefore.UTC()) && status.Attempt != nil && int(*status.Attempt) == job.Attempt
}
