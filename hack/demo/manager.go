package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// startManager runs the real manager binary against the stack and returns when it is ready. The returned function stops it.
func startManager(ctx context.Context, root, logFile string) (func() error, error) {
	probes, err := freePort()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(logFile)
	if err != nil {
		return nil, fmt.Errorf("creating the manager's log: %w", err)
	}
	cmd := exec.Command(filepath.Join(root, "bin", "recoup"), "manager", "--accept-signals",
		"--cluster", cluster, "--database", database, "--retry-key", retryKey, "--dead-letter-key", deadLetterKey,
		"--metrics-bind-address", "0", "--health-probe-bind-address", probes)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the manager (run `make build` first): %w", err), log.Close())
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	stop := func() error {
		defer log.Close() //nolint:errcheck // the log was flushed by the process that wrote it
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return fmt.Errorf("stopping the manager: %w", err)
		}
		select {
		case err := <-exited:
			if err != nil {
				return fmt.Errorf("the manager did not stop in good order (see %s): %w", logFile, err)
			}
			return nil
		case <-time.After(30 * time.Second):
			return errors.Join(errors.New("the manager did not stop within 30s"), cmd.Process.Kill())
		}
	}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		select {
		case err := <-exited:
			exited <- err
			return false, fmt.Errorf("it ended at its start: %w", err)
		default:
			return ready(ctx, probes), nil
		}
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("waiting for the manager to be ready (see %s): %w", logFile, err), stop())
	}
	return stop, nil
}

func ready(ctx context.Context, address string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close() // only the status matters
	return resp.StatusCode == http.StatusOK
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	defer l.Close() //nolint:errcheck // it was never used
	return l.Addr().String(), nil
}
