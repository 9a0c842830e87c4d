package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"recoup.dev/recoup/internal/ledger"
	"recoup.dev/recoup/internal/retry"
)

// gateInterval is the pause between two tries to reach the stores at start.
const gateInterval = 2 * time.Second

// gate waits for both stores. It runs on every replica, so that a stand-by is ready to take over.
type gate struct {
	books *ledger.Store
	lane  *retry.Lane
	ready *atomic.Bool
}

func addGate(mgr manager.Manager, books *ledger.Store, lane *retry.Lane, ready *atomic.Bool) error {
	if err := mgr.Add(&gate{books: books, lane: lane, ready: ready}); err != nil {
		return fmt.Errorf("adding the gate that waits for the stores: %w", err)
	}
	return nil
}

// NeedLeaderElection lets the gate run on every replica.
func (g *gate) NeedLeaderElection() bool { return false }

// Start returns when both stores have answered, or with an error that waiting doesn't mend.
func (g *gate) Start(ctx context.Context) error {
	log := ctrl.Log.WithName("stores")
	for ctx.Err() == nil {
		err := g.open(ctx)
		var owned *retry.OwnedError
		switch {
		case err == nil:
			for _, warning := range g.lane.Warnings(ctx) {
				log.Info("warning: " + warning)
			}
			log.Info("both stores answer")
			g.ready.Store(true)
			return nil
		case errors.Is(err, ledger.ErrSchema), errors.As(err, &owned):
			return err
		}
		log.Error(err, "waiting for the stores", "again in", gateInterval.String())
		select {
		case <-ctx.Done():
		case <-time.After(gateInterval):
		}
	}
	return nil
}

func (g *gate) open(ctx context.Context) error {
	if err := g.books.Prepare(ctx); err != nil {
		return err
	}
	return g.lane.Prepare(ctx)
}
