package controllers

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	billingv1 "recoup.dev/recoup/api/v1"
)

// TestTwoManagersInTurnsTellTheSameStories gives each pass and each entry to another of two active managers, so that each
// believes what was true two passes ago.
func TestTwoManagersInTurnsTellTheSameStories(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			b.t = t
			told := newTeller(t, b, s, fmt.Sprintf("s%d", i), -1, "")
			other := b.newReconciler(b.c)
			told.before = func() { b.r, other = other, b.r }
			told.tell()
			told.wantEnd()
		})
	}
	b.t = t
}

// TestACacheThatLagsTellsTheSameStories shows a manager, every second pass, what its cache held before the last pass: its
// own writes and everybody else's are not in it. Only lost resource versions may come of that.
func TestACacheThatLagsTellsTheSameStories(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			b.t = t
			told := newTeller(t, b, s, fmt.Sprintf("s%d", i), -1, "")
			cache := &lagging{WithWatch: b.c}
			told.conflicts = true
			passes := 0
			told.before = func() {
				if passes == 0 {
					told.b.r = told.b.newReconciler(cache)
					told.b.r.Live = b.c
				}
				passes++
				if passes%2 == 0 {
					cache.catchUp()
				}
			}
			told.tell()
			told.wantEnd()
		})
	}
	b.t = t
}

// lagging is a cache that shows what it saw first until it catches up.
type lagging struct {
	client.WithWatch
	bj   *billingv1.BillableJob
	jobs *unstructured.UnstructuredList
}

func (c *lagging) catchUp() { c.bj, c.jobs = nil, nil }

func (c *lagging) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	bj, ok := obj.(*billingv1.BillableJob)
	if !ok {
		return c.WithWatch.Get(ctx, key, obj, opts...)
	}
	if c.bj == nil {
		if err := c.WithWatch.Get(ctx, key, bj, opts...); err != nil {
			return err
		}
		c.bj = bj.DeepCopy()
	}
	c.bj.DeepCopyInto(bj)
	return nil
}

func (c *lagging) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	jobs, ok := list.(*unstructured.UnstructuredList)
	if !ok {
		return c.WithWatch.List(ctx, list, opts...)
	}
	if c.jobs == nil {
		if err := c.WithWatch.List(ctx, jobs, opts...); err != nil {
			return err
		}
		c.jobs = jobs.DeepCopy()
	}
	c.jobs.DeepCopyInto(jobs)
	return nil
}
