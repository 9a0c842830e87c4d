package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// command is one run of another program that isn't a server.
type command struct {
	dir  string
	env  []string // on top of ours
	log  string   // where its output goes
	args []string
}

// run waits for the end and, when it is a bad one, says how the output ended.
func (c command) run(ctx context.Context) error {
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("opening a log: %w", err)
	}
	defer log.Close()
	fmt.Fprintf(log, "+ %s\n", strings.Join(c.args, " "))
	cmd := c.prepare(ctx)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		return c.failed(ctx, err, tail(c.log))
	}
	return nil
}

// output waits for the end and returns what the program wrote to its standard output.
func (c command) output(ctx context.Context) (string, error) {
	cmd := c.prepare(ctx)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", c.failed(ctx, err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

func (c command) prepare(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), c.env...)
	// A group of its own, so that what it starts ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

func (c command) failed(ctx context.Context, err error, said string) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	err = fmt.Errorf("running %s: %w", filepath.Base(c.args[0]), err)
	if said != "" {
		err = errors.Join(err, errors.New("it said:\n"+said))
	}
	return err
}

// tail returns the last lines of a file, or why there are none.
func tail(path string) string {
	const lines = 15
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(raw), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
