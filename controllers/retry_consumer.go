package controllers

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"recoup.dev/recoup/internal/ledger"
	"recoup.dev/recoup/internal/retry"
)

const (
	// takeLimit is how many entries one pass of the consumer takes, and handlers how many it works on at once.
	takeLimit, handlers = 64, 8
	// longestWait bounds the consumer's sleep, so that an expired lease of a dead consumer is found.
	longestWait = 5 * time.Second
	// stopRecheck is how soon an entry comes back whose predecessor is being stopped; obstacleRecheck is for the rest.
	stopRecheck = time.Second
	// shortestPause and longestPause bound the pause after the lane failed.
	shortestPause, longestPause = 500 * time.Millisecond, 30 * time.Second
)

// Lane is what the consumer needs of *retry.Lane.
type Lane interface {
	Prepare(ctx context.Context) error
	Now() time.Time
	Take(ctx context.Context, limit int) (retry.Batch, error)
	Wait(ctx context.Context, d time.Duration) error
	Ack(ctx context.Context, d retry.Delivery) error
	Release(ctx context.Context, d retry.Delivery, at time.Time) error
	Bury(ctx context.Context, d retry.Delivery, reason error) error
}

// RetryConsumer starts attempts when the lane says that they are due. An entry is only a hint: what is done comes from the
// job document, and an entry about anything but the document's current attempt changes nothing.
type RetryConsumer struct {
	// Lane is where entries come from.
	Lane Lane
	// Reconciler makes the attempts.
	Reconciler *BillableJobReconciler
	// Log gets one line an entry.
	Log logr.Logger
}

// NeedLeaderElection keeps the consumer beside the reconciler that it works with.
func (c *RetryConsumer) NeedLeaderElection() bool { return true }

// Start consumes the lane until the context ends. What it holds by then goes back at once, or after its lease.
func (c *RetryConsumer) Start(ctx context.Context) error {
	pause := shortestPause
	for ctx.Err() == nil {
		more, quiet, err := c.round(ctx)
		if err == nil && !more {
			err = c.Lane.Wait(ctx, quiet)
		}
		if err == nil {
			pause = shortestPause
			continue
		}
		if ctx.Err() == nil {
			storeErrors.WithLabelValues("redis").Inc()
			c.Log.Error(err, "the retry lane doesn't answer", "again in", pause.String())
		}
		sleep(ctx, pause)
		pause = min(2*pause, longestPause)
	}
	return nil
}

// round takes what is due and works on it. It returns how long nothing will be due.
func (c *RetryConsumer) round(ctx context.Context) (more bool, quiet time.Duration, err error) {
	if err := c.Lane.Prepare(ctx); err != nil {
		return false, 0, err
	}
	batch, err := c.Lane.Take(ctx, takeLimit)
	if err != nil {
		return false, 0, err
	}
	for _, d := range batch.Poison {
		entries.WithLabelValues("undecodable").Inc()
		c.Log.Info("an entry can't be decoded and goes to the dead letters", "error", d.Err)
		if err := c.Lane.Bury(ctx, d, d.Err); err != nil {
			return false, 0, err
		}
	}
	var wg sync.WaitGroup
	places := make(chan struct{}, handlers)
	for _, d := range batch.Due {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			c.handle(ctx, d)
		})
	}
	wg.Wait()
	quiet = longestWait
	if !batch.NextDue.IsZero() {
		quiet = min(quiet, max(batch.NextDue.Sub(c.Lane.Now()), time.Millisecond))
	}
	return batch.More, quiet, nil
}

// handle works on one entry and gives it back or ends it. An entry whose end can't be told to the lane comes back after its
// lease and changes nothing then.
func (c *RetryConsumer) handle(ctx context.Context, d retry.Delivery) {
	log := c.Log.WithValues("jobID", d.Entry.JobID, "attempt", d.Entry.Attempts)
	result, err := c.Reconciler.runDue(ctx, d.Entry)
	// The lane is told even while the manager stops, so that the entry doesn't wait for its lease.
	tell, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	var laneErr error
	switch {
	case errors.Is(err, ledger.ErrInvalid):
		log.Info("an entry can't be about any job and goes to the dead letters", "error", err.Error())
		result.word = "undecodable"
		laneErr = c.Lane.Bury(tell, d, err)
	case apierrors.IsConflict(err):
		result.word = "postponed"
		laneErr = c.Lane.Release(tell, d, c.Lane.Now().Add(conflictRecheck))
	case err != nil:
		log.Error(err, "a due retry could not be started", "again in", obstacleRecheck.String())
		laneErr = c.Lane.Release(tell, d, c.Lane.Now().Add(obstacleRecheck))
		result.word = "postponed"
	case !result.later.IsZero():
		laneErr = c.Lane.Release(tell, d, result.later)
	default:
		log.Info("done with an entry", "result", result.word)
		laneErr = c.Lane.Ack(tell, d)
	}
	entries.WithLabelValues(result.word).Inc()
	if laneErr != nil {
		log.Error(laneErr, "giving an entry back; it comes back after its lease")
	}
}

// entryResult is what became of an entry: one word for the metric and, if it is to come back, when.
type entryResult struct {
	word  string
	later time.Time
}

// runDue starts the attempt that a due entry is about, if the job document agrees.
func (r *BillableJobReconciler) runDue(ctx context.Context, entry retry.Entry) (entryResult, error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	if err := r.Books.Prepare(ctx); err != nil {
		return entryResult{}, err
	}
	job, err := r.Books.Get(ctx, entry.JobID)
	switch {
	case errors.Is(err, ledger.ErrNotCharged):
		return entryResult{word: "unknown"}, nil
	case err != nil:
		return entryResult{}, err
	case job.IsDelivered, job.IsDeadLettered, !job.IsRefunded:
		return entryResult{word: "settled"}, nil
	case job.Attempt != entry.Attempts:
		return entryResult{word: "outdated"}, nil
	case job.NotBefore.After(r.Lane.Now()):
		return entryResult{word: "early", later: job.NotBefore}, nil
	}

	p, err := r.run(ctx, types.NamespacedName{Namespace: job.Namespace, Name: job.Name}, &entry)
	if err != nil {
		return entryResult{}, err
	}
	return p.dueResult(entry), nil
}

// dueResult tells whether the pass that an entry asked for did what it asked for.
func (p *pass) dueResult(entry retry.Entry) entryResult {
	b := p.in.Books
	switch {
	case !p.found, p.gone:
		return entryResult{word: "gone"}
	case p.doc == nil || p.doc.ID != entry.JobID || b == nil:
		return entryResult{word: "unknown"}
	case b.Delivered, b.DeadLettered, p.in.Order.Deleting, p.in.Order.Cancel:
		return entryResult{word: "settled"}
	case b.Attempt != entry.Attempts:
		return entryResult{word: "outdated"}
	case p.in.Attempt(b.Attempt).Recorded():
		return entryResult{word: "started"}
	case p.in.Obstacle != nil, p.in.Conflict != nil:
		return entryResult{word: "postponed", later: p.in.LaneNow.Add(obstacleRecheck)}
	}
	// The attempt before it is being stopped. The longer that takes, the rarer are the looks.
	late := p.in.LaneNow.Sub(b.NotBefore) / 4
	return entryResult{word: "postponed", later: p.in.LaneNow.Add(min(max(late, stopRecheck), obstacleRecheck))}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
