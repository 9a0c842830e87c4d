package controllers

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/go-logr/logr"

	"recoup.dev/recoup/internal/retry"
)

const (
	keepInterval  = 15 * time.Second
	flushInterval = 5 * time.Second
)

// KeptLane is what the keeper needs of *retry.Lane.
type KeptLane interface {
	Prepare(ctx context.Context) error
	Lost(ctx context.Context) (bool, error)
	MeasureClock(ctx context.Context) error
	Depth(ctx context.Context) (retry.Depth, error)
	DeadLetter(ctx context.Context, entry retry.DeadEntry) error
	Flush(ctx context.Context, limit int) (int, error)
}

// LaneKeeper looks after the lane: it measures the server's clock and the depth of each part, writes the dead letters again
// that an emptied server lost, and, where the consumer is off, puts parked entries back on the list for a user's workers.
type LaneKeeper struct {
	// Lane is the lane to look after.
	Lane KeptLane
	// Books tell which jobs are dead-lettered.
	Books Books
	// Cluster limits the dead letters to this cluster's jobs.
	Cluster string
	// FlushParked is set where no consumer runs.
	FlushParked bool
	// Log gets a line for each loss that was mended.
	Log logr.Logger

	restored bool
}

// NeedLeaderElection keeps one keeper at work.
func (k *LaneKeeper) NeedLeaderElection() bool { return true }

// Start looks after the lane until the context ends.
func (k *LaneKeeper) Start(ctx context.Context) error {
	if k.FlushParked {
		go k.every(ctx, flushInterval, k.flush)
	}
	k.every(ctx, keepInterval, k.keep)
	return nil
}

func (k *LaneKeeper) every(ctx context.Context, interval time.Duration, do func(context.Context) error) {
	for ctx.Err() == nil {
		if err := do(ctx); err != nil && ctx.Err() == nil {
			k.Log.Error(err, "looking after the retry lane", "again in", interval.String())
		}
		sleep(ctx, interval)
	}
}

func (k *LaneKeeper) keep(ctx context.Context) error {
	lost, err := k.Lane.Lost(ctx)
	if err != nil {
		return err
	}
	// The first look can't tell a server that was emptied while no manager ran from one that others claimed anew since. A
	// restoration that was cut short is begun again, even if somebody claims the lane in the meantime.
	k.restored = k.restored && !lost
	if !k.restored {
		if err := k.restore(ctx); err != nil {
			return err
		}
		k.restored = true
	}
	if err := k.Lane.MeasureClock(ctx); err != nil {
		return err
	}
	depth, err := k.Lane.Depth(ctx)
	if err != nil {
		return err
	}
	laneDepth.WithLabelValues("waiting").Set(float64(depth.Waiting))
	laneDepth.WithLabelValues("parked").Set(float64(depth.Parked))
	laneDepth.WithLabelValues("leased").Set(float64(depth.Leased))
	laneDepth.WithLabelValues("dead_letters").Set(float64(depth.DeadLetters))
	return nil
}

// restore writes the dead letters of an emptied server again, from the books. Retries need none of this: each that doesn't
// appear when it is due is announced again. The owner key is written last, so that a restoration that was cut short is
// begun anew.
func (k *LaneKeeper) restore(ctx context.Context) error {
	n := 0
	for job, err := range k.Books.DeadLettered(ctx, k.Cluster) {
		if err != nil {
			return fmt.Errorf("reading the dead-lettered jobs of cluster %s: %w", k.Cluster, err)
		}
		if err := k.Lane.DeadLetter(ctx, deadEntry(&job)); err != nil {
			return fmt.Errorf("writing the dead letter of job %s again: %w", job.ID, err)
		}
		n++
	}
	if err := k.Lane.Prepare(ctx); err != nil {
		return err
	}
	k.Log.Info("the list of dead letters was compared with the books", "dead letters", n)
	return nil
}

// flush empties the parked entries; the lane does so in batches.
func (k *LaneKeeper) flush(ctx context.Context) error {
	_, err := k.Lane.Flush(ctx, math.MaxInt)
	return err
}
