package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

var (
	oneApt     sync.Mutex
	aptUpdated bool
)

// aptRefusal says why apt can't be used here, or nil.
func aptRefusal() error {
	if os.Getuid() != 0 {
		return errors.New("this isn't root")
	}
	for _, tool := range []string{"apt-get", "dpkg"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("there is no %s here", tool)
		}
	}
	return nil
}

// aptInstall installs Debian packages. A service that a package brings isn't left running.
func aptInstall(ctx context.Context, cache string, packages ...string) error {
	oneApt.Lock()
	defer oneApt.Unlock()
	log, err := aptUpdate(ctx, cache)
	if err != nil {
		return err
	}
	done := progress(fmt.Sprintf("installing from Debian: %v", packages))
	defer done()
	allow, err := forbidServices()
	if err != nil {
		return err
	}
	args := append([]string{"apt-get", "install", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300"}, packages...)
	err = command{env: []string{"DEBIAN_FRONTEND=noninteractive"}, log: log, args: args}.run(ctx)
	if err = errors.Join(err, allow()); err != nil {
		return fmt.Errorf("installing %v: %w", packages, err)
	}
	return nil
}

// aptUpdate fetches apt's lists, once in the life of this process, and returns the log to go on with.
func aptUpdate(ctx context.Context, cache string) (log string, err error) {
	log = filepath.Join(cache, "logs", "apt.log")
	if aptUpdated {
		return log, nil
	}
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return "", fmt.Errorf("making the folder of logs: %w", err)
	}
	defer progress("updating apt's lists")()
	if err := (command{log: log, args: []string{"apt-get", "update"}}).run(ctx); err != nil {
		return "", fmt.Errorf("updating apt's lists: %w", err)
	}
	aptUpdated = true
	return log, nil
}

// aptLists makes sure that apt knows where its packages come from.
func aptLists(ctx context.Context, cache string) error {
	oneApt.Lock()
	defer oneApt.Unlock()
	_, err := aptUpdate(ctx, cache)
	return err
}

// forbidServices keeps package scripts from starting services, the way Debian provides for it, until allow is called. A
// policy that the machine has already is left as it is.
func forbidServices() (allow func() error, err error) {
	const policy = "/usr/sbin/policy-rc.d"
	f, err := os.OpenFile(policy, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if errors.Is(err, os.ErrExist) {
		return func() error { return nil }, nil
	}
	if err != nil {
		return nil, fmt.Errorf("keeping services from starting: %w", err)
	}
	_, err = f.WriteString("#!/bin/sh\nexit 101\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("keeping services from starting: %w", err), os.Remove(policy))
	}
	return func() error { return os.Remove(policy) }, nil
}
