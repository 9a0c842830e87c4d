package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// down ends all of the stack, makes sure that it has ended, and removes its data. The logs stay. The stack's lock is held.
func (s *stack) down(ctx context.Context) error {
	// Whoever interrupts this wants the stack gone all the more.
	ctx = context.WithoutCancel(ctx)
	var levels [][]part
	for _, p := range s.state.Parts {
		if n := len(levels); n == 0 || levels[n-1][0].Level != p.Level {
			levels = append(levels, nil)
		}
		levels[len(levels)-1] = append(levels[len(levels)-1], p)
	}
	for _, level := range slices.Backward(levels) {
		var stops []func(context.Context) error
		for _, p := range level {
			stops = append(stops, func(ctx context.Context) error { return s.stop(ctx, p) })
		}
		if err := together(ctx, stops...); err != nil {
			return err
		}
	}
	if err := s.stopStrays(); err != nil {
		return err
	}
	for _, path := range []string{s.data(), filepath.Join(s.dir, "bin"), s.kubeconfig(), filepath.Join(s.dir, "stages.yaml"), filepath.Join(s.dir, "nodes.yaml"), stateFile(s.dir)} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("removing the stack's data: %w", err)
		}
	}
	say("the stack %s is down; its logs are in %s", s.name, s.logs())
	return nil
}

// stopStrays ends servers of this stack that the state doesn't know, as after a command that was killed between the start
// of a server and the note of it.
func (s *stack) stopStrays() error {
	var left []int
	var failed error
	gone := await(stopWithin, func() bool {
		left = strays(s.dir)
		for _, pid := range left {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				failed = fmt.Errorf("ending process %d of the stack: %w", pid, err)
			}
		}
		return len(left) == 0 || failed != nil
	})
	if !gone {
		failed = fmt.Errorf("these processes of the stack don't end, not even when killed: %v", left)
	}
	return failed
}
