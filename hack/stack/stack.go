package main

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// stack is one set of servers, and what is planned for it.
type stack struct {
	cache, checkout, name string
	dir                   string // of this stack alone

	mu      sync.Mutex // guards everything below
	state   *state
	servers []server
	exports map[string]string
}

// server is a part as it should be.
type server struct {
	part
	command []string
	env     []string
	data    string                      // a folder that must exist
	ports   []string                    // whose ports it listens on
	onReady func(context.Context) error // must be harmless when done again
	signal  syscall.Signal              // that asks it to stop; SIGTERM if zero
}

func openStack(name string) (*stack, error) {
	if err := validName(name); err != nil {
		return nil, err
	}
	cache, err := cacheRoot()
	if err != nil {
		return nil, err
	}
	checkout, err := checkoutRoot()
	if err != nil {
		return nil, err
	}
	return &stack{cache: cache, checkout: checkout, name: name, dir: stackFolder(cache, checkout, name), exports: map[string]string{}}, nil
}

// lock keeps other commands off this stack, and reads its state.
func (s *stack) lock(ctx context.Context) (unlock func(), err error) {
	unlock, err = lockFile(ctx, filepath.Join(s.dir, "lock"), "the stack "+s.name)
	if err != nil {
		return nil, err
	}
	if s.state, err = readState(s.dir); err != nil {
		unlock()
		return nil, err
	}
	s.state.Checkout, s.state.Name = s.checkout, s.name
	return unlock, nil
}

// data is removed when the stack goes down; logs are kept.
func (s *stack) data() string { return filepath.Join(s.dir, "data") }
func (s *stack) logs() string { return filepath.Join(s.dir, "logs") }

func (s *stack) logOf(part string) string { return filepath.Join(s.logs(), part+".log") }

func (s *stack) port(owner string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Ports.of(owner)
}

func (s *stack) add(sv server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.servers = append(s.servers, sv)
}

// external adds a server that somebody else runs.
func (s *stack) external(name, url, variable string) {
	s.add(server{part: part{Name: name, Version: "of " + variable, Address: hideUser(url), Probe: url, External: true}})
}

func (s *stack) export(variable, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exports[variable] = value
}

// update changes the state and writes it down at once, so that a command that is cut short leaves a true state behind.
func (s *stack) update(change func(*state)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.state)
	return s.state.write(s.dir)
}

// was returns a part as it was started last.
func (s *stack) was(name string) (part, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.state.part(name); p != nil {
		return *p, true
	}
	return part{}, false
}

// levels groups the planned servers by level: those of a level need all those below, and nothing beside or above them.
func (s *stack) levels() [][]server {
	byLevel := map[int][]server{}
	for _, sv := range s.servers {
		byLevel[sv.Level] = append(byLevel[sv.Level], sv)
	}
	var all [][]server
	for _, level := range slices.Sorted(maps.Keys(byLevel)) {
		all = append(all, byLevel[level])
	}
	return all
}

// together runs the functions at the same time. The first failure cancels the others and is returned.
func together(ctx context.Context, functions ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for _, f := range functions {
		wg.Go(func() {
			if err := f(ctx); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
