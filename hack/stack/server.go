package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	readyWithin = 90 * time.Second
	stopWithin  = 10 * time.Second
)

// errPortTaken means that somebody else took the port between its choice and its use.
var errPortTaken = errors.New("the port is taken")

// ensure leaves a server alone that runs as planned and answers; otherwise it starts it.
func (s *stack) ensure(ctx context.Context, sv server) error {
	if sv.External {
		if err := probe(ctx, s.data(), sv.Probe); err != nil {
			return fmt.Errorf("%s (%s) doesn't answer at %s; correct or unset the variable: %w", sv.Name, sv.Version, sv.Address, err)
		}
		return s.update(func(st *state) { st.put(sv.part) })
	}
	sv.Fingerprint, sv.Log, sv.StopSignal = fingerprint(sv), s.logOf(sv.Name), int(sv.signal)
	if old, known := s.was(sv.Name); known && !old.External {
		if old.Process.alive() && old.Fingerprint == sv.Fingerprint && probeFor(ctx, s.data(), old, 3*time.Second) == nil {
			return sv.ready(ctx)
		}
		if old.Process.alive() {
			say("%s doesn't run as it should; starting it anew", sv.Name)
		}
		if err := s.stop(ctx, old); err != nil {
			return err
		}
	}
	if err := s.start(sv); err != nil {
		return err
	}
	if err := s.awaitReady(ctx, sv); err != nil {
		return err
	}
	if err := sv.ready(ctx); err != nil {
		return err
	}
	say("%s %s answers at %s", sv.Name, sv.Version, sv.Address)
	return nil
}

func (sv server) ready(ctx context.Context) error {
	if sv.onReady == nil {
		return nil
	}
	return sv.onReady(ctx)
}

func (s *stack) start(sv server) error {
	for _, dir := range []string{sv.data, s.logs(), s.temp()} {
		if dir == "" {
			continue
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("making a folder for %s: %w", sv.Name, err)
		}
	}
	// The log of the run before is kept: it tells why the server had to be started again.
	if err := os.Rename(sv.Log, sv.Log+".1"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("keeping the last log of %s: %w", sv.Name, err)
	}
	log, err := os.OpenFile(sv.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("opening the log of %s: %w", sv.Name, err)
	}
	defer log.Close()
	cmd := exec.Command(sv.command[0], sv.command[1:]...)
	cmd.Dir, cmd.Env = s.data(), append(s.environment(), sv.env...)
	cmd.Stdout, cmd.Stderr = log, log
	// A session of its own, so that the server outlives this command and no key press reaches it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", sv.Name, err)
	}
	process, err := identify(cmd.Process.Pid)
	// Reap it if it ends while this command still runs.
	go func() { _ = cmd.Wait() }()
	if err != nil {
		return fmt.Errorf("%s ended at once; it said:\n%s", sv.Name, tail(sv.Log))
	}
	sv.Process = process
	return s.update(func(st *state) { st.put(sv.part) })
}

func (s *stack) awaitReady(ctx context.Context, sv server) error {
	defer progress("starting " + sv.Name)()
	p, _ := s.was(sv.Name)
	ctx, cancel := context.WithTimeoutCause(ctx, readyWithin, fmt.Errorf("%s didn't answer within %s", sv.Name, readyWithin))
	defer cancel()
	for {
		err := probeFor(ctx, s.data(), p, 3*time.Second)
		if !p.Process.alive() {
			return s.ended(sv)
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("starting %s: %w (last: %w); see %s, which ends:\n%s", sv.Name, context.Cause(ctx), err, sv.Log, tail(sv.Log))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// ended explains why a server that was just started runs no longer, and gives up its ports if they were the cause.
func (s *stack) ended(sv server) error {
	said := tail(sv.Log)
	err := fmt.Errorf("%s ended as soon as it was started; see %s, which ends:\n%s", sv.Name, sv.Log, said)
	if !strings.Contains(strings.ToLower(said), "address already in use") {
		return err
	}
	return errors.Join(errPortTaken, err, s.update(func(st *state) {
		for _, owner := range sv.ports {
			delete(st.Ports, owner)
		}
	}))
}

// stop ends a part and everything that it started, and makes sure of it.
func (s *stack) stop(ctx context.Context, p part) error {
	if p.External || !p.Process.alive() {
		return removeContainer(ctx, p.Container)
	}
	family, err := mountFamily(p.Process.PID)
	if err != nil {
		return err
	}
	first := syscall.Signal(p.StopSignal)
	if first == 0 {
		first = syscall.SIGTERM
	}
	for _, signal := range []syscall.Signal{first, syscall.SIGKILL} {
		if err := syscall.Kill(p.Process.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stopping %s (process %d): %w", p.Name, p.Process.PID, err)
		}
		if await(stopWithin, func() bool { return !p.Process.alive() && len(family.living()) == 0 }) {
			return removeContainer(ctx, p.Container)
		}
	}
	return fmt.Errorf("%s (process %d) doesn't end, not even when killed", p.Name, p.Process.PID)
}

// marker is in the environment of all servers of a stack, so that one whose start wasn't written down can be found.
const marker = "RECOUP_STACK"

func (s *stack) temp() string { return filepath.Join(s.data(), "tmp") }

// environment is all that the servers see of ours: a proxy or a test's variable is none of their business.
func (s *stack) environment() []string {
	env := []string{marker + "=" + s.dir, "TMPDIR=" + s.temp(), "LANG=C.UTF-8"}
	for _, name := range []string{"PATH", "HOME", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG"} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func fingerprint(sv server) string {
	h := sha256.New()
	for _, word := range append(append([]string{sv.Version, sv.Probe}, sv.command...), sv.env...) {
		fmt.Fprintf(h, "%d %s\n", len(word), word)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}
