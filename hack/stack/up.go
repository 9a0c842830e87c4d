package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// up brings the stack to where all of it runs and answers. What runs well already is left alone. The stack's lock is held.
func (s *stack) up(ctx context.Context) error {
	if err := os.MkdirAll(s.data(), 0o755); err != nil {
		return fmt.Errorf("making the stack's folder: %w", err)
	}
	begun := time.Now()
	for attempt := 1; ; attempt++ {
		err := s.converge(ctx)
		if err == nil {
			say("the stack %s is up (%s)", s.name, time.Since(begun).Round(100*time.Millisecond))
			return nil
		}
		if !errors.Is(err, errPortTaken) || attempt == 5 || ctx.Err() != nil {
			return err
		}
		say("somebody else took a port in the meantime; trying others")
	}
}

// converge plans the stack and makes what runs agree with the plan.
func (s *stack) converge(ctx context.Context) error {
	s.servers, s.exports = nil, map[string]string{}
	if err := together(ctx, s.planKubernetes, s.planMongo, s.planRedis); err != nil {
		return err
	}
	if err := s.stopUnplanned(ctx); err != nil {
		return err
	}
	for _, level := range s.levels() {
		var starts []func(context.Context) error
		for _, sv := range level {
			starts = append(starts, func(ctx context.Context) error { return s.ensure(ctx, sv) })
		}
		if err := together(ctx, starts...); err != nil {
			return err
		}
	}
	return s.update(func(st *state) { st.Exports = s.exports })
}

// stopUnplanned ends parts that the plan has no longer, as when another MongoDB is to be used.
func (s *stack) stopUnplanned(ctx context.Context) error {
	for _, p := range slices.Backward(slices.Clone(s.state.Parts)) {
		if slices.ContainsFunc(s.servers, func(sv server) bool { return sv.Name == p.Name && sv.External == p.External }) {
			continue
		}
		if err := s.stop(ctx, p); err != nil {
			return err
		}
		if err := s.update(func(st *state) { st.drop(p.Name) }); err != nil {
			return err
		}
	}
	return nil
}

// variables returns what a program needs to use the stack, in the form "NAME=value".
func (s *stack) variables() ([]string, error) {
	if len(s.state.Exports) == 0 {
		return nil, fmt.Errorf("the stack %s isn't up: run make stack-up", s.name)
	}
	var all []string
	for name, value := range s.state.Exports {
		all = append(all, name+"="+value)
	}
	bin := s.state.Exports["KUBEBUILDER_ASSETS"]
	path := os.Getenv("PATH")
	if !strings.HasPrefix(path, bin+":") {
		path = bin + ":" + path
	}
	all = append(all, "PATH="+path)
	slices.Sort(all)
	return all, nil
}
