package controllers

import (
	"context"
	"iter"
	"time"

	"recoup.dev/recoup/internal/ledger"
	"recoup.dev/recoup/internal/retry"
)

// Books is what the controllers need of *ledger.Store. It is an interface so that tests can make single calls fail,
// before or after they took effect, which a real server can't be made to do at will.
type Books interface {
	Prepare(ctx context.Context) error
	Get(ctx context.Context, id string) (ledger.Job, error)
	Charge(ctx context.Context, job ledger.Job) (ledger.Job, ledger.Outcome, error)
	Deliver(ctx context.Context, job ledger.Job, at time.Time) (ledger.Job, ledger.Outcome, error)
	Refund(ctx context.Context, job ledger.Job, failure ledger.Failure) (ledger.Job, ledger.Outcome, error)
	Reclaim(ctx context.Context, job ledger.Job, at time.Time) (ledger.Job, ledger.Outcome, error)
	FailAgain(ctx context.Context, job ledger.Job, failure ledger.Failure) (ledger.Job, ledger.Outcome, error)
	Redrive(ctx context.Context, job ledger.Job, at, notBefore time.Time) (ledger.Job, ledger.Outcome, error)
	EnsureRows(ctx context.Context, job ledger.Job) error
	DeadLettered(ctx context.Context, cluster string) iter.Seq2[ledger.Job, error]
}

// Announcer is what the reconciler needs of *retry.Lane; an interface for the same reason as Books.
type Announcer interface {
	Prepare(ctx context.Context) error
	Now() time.Time
	Push(ctx context.Context, entry retry.Entry) error
	DeadLetter(ctx context.Context, entry retry.DeadEntry) error
	RemoveDeadLetter(ctx context.Context, jobID string) error
}
