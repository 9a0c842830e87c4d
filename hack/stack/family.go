package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// family is the set of processes that share a mount namespace that isn't ours. It finds the children of a server that
// runs in a namespace of its own even when they have left its process group.
type family struct{ namespace string }

// mountFamily returns the family of a process; an empty one if it lives in our own namespace.
func mountFamily(pid int) (family, error) {
	ours, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return family{}, fmt.Errorf("reading the mount namespace: %w", err)
	}
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) || theirs == ours { // it has just ended, or it has no namespace of its own
		return family{}, nil
	}
	if err != nil {
		return family{}, fmt.Errorf("reading the mount namespace of process %d: %w", pid, err)
	}
	return family{namespace: theirs}, nil
}

func (f family) living() []int {
	if f.namespace == "" {
		return nil
	}
	return processes(func(dir string) bool {
		namespace, err := os.Readlink(filepath.Join(dir, "ns", "mnt"))
		return err == nil && namespace == f.namespace
	})
}

// strays returns the processes that carry the marker of this stack.
func strays(stackDir string) []int {
	want := marker + "=" + stackDir
	return processes(func(dir string) bool {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		return err == nil && strings.Contains("\x00"+string(env)+"\x00", "\x00"+want+"\x00")
	})
}

// processes returns those living processes whose folder in /proc satisfies the condition.
func processes(is func(dir string) bool) []int {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	var found []int
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() || !is(dir) {
			continue
		}
		if _, err := identify(pid); err == nil {
			found = append(found, pid)
		}
	}
	return found
}
