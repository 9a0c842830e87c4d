package controllers

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"recoup.dev/recoup/internal/ledger"
)

// errInjected is what a call says that was made to fail.
var errInjected = errors.New("injected fault")

// faults makes single calls fail, before they took effect or after it, when the reply is lost.
type faults struct {
	mu     sync.Mutex
	before map[string]int
	after  map[string]int
	// script, if set, stands for every call and decides what becomes of it.
	script func(call string, do func() error) error
}

func (f *faults) failBefore(call string) { f.plan(&f.before, call) }
func (f *faults) failAfter(call string)  { f.plan(&f.after, call) }

func (f *faults) plan(m *map[string]int, call string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if *m == nil {
		*m = map[string]int{}
	}
	(*m)[call]++
}

func (f *faults) take(m map[string]int, call string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m[call] == 0 {
		return false
	}
	m[call]--
	return true
}

// pending tells whether a planned fault has not come to pass.
func (f *faults) pending() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range []map[string]int{f.before, f.after} {
		for _, n := range m {
			if n > 0 {
				return true
			}
		}
	}
	return false
}

func (f *faults) around(call string, do func() error) error {
	if f.script != nil {
		return f.script(call, do)
	}
	if f.take(f.before, call) {
		return errInjected
	}
	if err := do(); err != nil {
		return err
	}
	if f.take(f.after, call) {
		return errInjected
	}
	return nil
}

// faultyBooks are the real books with faults. "flag" faults hit a transition as a whole; that a flag is set and its row
// missing is made by removing the row, which no call can be made to do.
type faultyBooks struct {
	*ledger.Store
	fault *faults
}

func (b faultyBooks) edge(name string, do func() (ledger.Job, ledger.Outcome, error)) (ledger.Job, ledger.Outcome, error) {
	var job ledger.Job
	var outcome ledger.Outcome
	err := b.fault.around(name, func() (err error) {
		job, outcome, err = do()
		return err
	})
	if err != nil {
		return job, 0, err
	}
	return job, outcome, nil
}

func (b faultyBooks) Charge(ctx context.Context, j ledger.Job) (ledger.Job, ledger.Outcome, error) {
	return b.edge("charge", func() (ledger.Job, ledger.Outcome, error) { return b.Store.Charge(ctx, j) })
}

func (b faultyBooks) Deliver(ctx context.Context, j ledger.Job, at time.Time) (ledger.Job, ledger.Outcome, error) {
	return b.edge("deliver", func() (ledger.Job, ledger.Outcome, error) { return b.Store.Deliver(ctx, j, at) })
}

func (b faultyBooks) Refund(ctx context.Context, j ledger.Job, f ledger.Failure) (ledger.Job, ledger.Outcome, error) {
	return b.edge("refund", func() (ledger.Job, ledger.Outcome, error) { return b.Store.Refund(ctx, j, f) })
}

func (b faultyBooks) Reclaim(ctx context.Context, j ledger.Job, at time.Time) (ledger.Job, ledger.Outcome, error) {
	return b.edge("reclaim", func() (ledger.Job, ledger.Outcome, error) { return b.Store.Reclaim(ctx, j, at) })
}

func (b faultyBooks) FailAgain(ctx context.Context, j ledger.Job, f ledger.Failure) (ledger.Job, ledger.Outcome, error) {
	return b.edge("fail again", func() (ledger.Job, ledger.Outcome, error) { return b.Store.FailAgain(ctx, j, f) })
}

func (b faultyBooks) Redrive(ctx context.Context, j ledger.Job, at, notBefore time.Time) (ledger.Job, ledger.Outcome, error) {
	return b.edge("redrive", func() (ledger.Job, ledger.Outcome, error) { return b.Store.Redrive(ctx, j, at, notBefore) })
}

func (b faultyBooks) EnsureRows(ctx context.Context, j ledger.Job) error {
	return b.fault.around("ensure rows", func() error { return b.Store.EnsureRows(ctx, j) })
}

func mongoClient() (*mongo.Client, error) {
	return mongo.Connect(options.Client().ApplyURI(os.Getenv("MONGODB_URI")))
}

func dropDatabase(ctx context.Context, name string) error {
	c, err := mongoClient()
	if err != nil {
		return err
	}
	return errors.Join(c.Database(name).Drop(ctx), c.Disconnect(ctx))
}
