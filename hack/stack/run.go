package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// killAfter is how long a command has to end once it was asked to.
const killAfter = 30 * time.Second

// run brings the stack up, runs a command that sees it, takes the stack down again unless somebody else uses it or `up`
// was asked for it, and returns the command's exit code.
func (s *stack) run(ctx context.Context, args []string) (code int, err error) {
	me, err := identify(os.Getpid())
	if err != nil {
		return 0, err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return 0, err
	}
	env, err := s.join(ctx, me)
	unlock()
	defer func() { err = errors.Join(err, s.leave(ctx, me)) }()
	if err != nil {
		return 0, err
	}
	return execute(ctx, args, env)
}

// join notes that this process uses the stack, and brings it up. The stack's lock is held.
func (s *stack) join(ctx context.Context, me identity) ([]string, error) {
	if err := s.update(func(st *state) { st.dropDeadUsers(); st.Users = append(st.Users, me) }); err != nil {
		return nil, err
	}
	if err := s.up(ctx); err != nil {
		return nil, err
	}
	return s.variables()
}

// leave takes the note back, and takes the stack down if nobody is left who wants it.
func (s *stack) leave(ctx context.Context, me identity) error {
	unlock, err := s.lock(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	defer unlock()
	err = s.update(func(st *state) {
		st.dropDeadUsers()
		st.Users = slices.DeleteFunc(st.Users, func(u identity) bool { return u == me })
	})
	if err != nil || s.state.Kept || len(s.state.Users) > 0 {
		return err
	}
	return s.down(ctx)
}

// execute runs the command in a process group of its own, and ends all of the group when ctx ends or the command does.
func execute(ctx context.Context, args, env []string) (code int, err error) {
	// Looked up on the PATH that the command will have.
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		if err := os.Setenv(name, value); err != nil {
			return 0, fmt.Errorf("setting %s: %w", name, err)
		}
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&os.ModeCharDevice == 0 {
		cmd.Stdin = os.Stdin // a terminal isn't passed on: only its own process group may read it
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = killAfter
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("starting %s: %w", args[0], err)
	}
	err = cmd.Wait()
	if killErr := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); killErr != nil && !errors.Is(killErr, syscall.ESRCH) {
		return 0, fmt.Errorf("ending what %s left running: %w", args[0], killErr)
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return 128 + int(status.Signal()), nil
		}
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 0, fmt.Errorf("running %s: %w", args[0], err)
	}
	return 0, nil
}

// untilSignal returns a context that ends with a signal, or when the process that started us has ended: whoever kills
// `make` means its tests, too.
func untilSignal() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	parent := os.Getppid()
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case got := <-signals:
				cancel(interrupted{got.(syscall.Signal)})
			case <-tick.C:
				if os.Getppid() != parent {
					cancel(interrupted{syscall.SIGHUP})
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// interrupted is the cause of a context's end by a signal.
type interrupted struct{ signal syscall.Signal }

func (i interrupted) Error() string { return "interrupted: " + i.signal.String() }
