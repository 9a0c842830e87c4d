package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// identity names one process for ever. A process ID alone doesn't: the kernel gives it to another process later, which must
// never be taken for ours.
type identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // in clock ticks since the machine booted
	Boot  string `json:"boot"`  // the kernel's ID of this boot
}

// identify reads the identity of a running process.
func identify(pid int) (identity, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return identity{}, fmt.Errorf("reading about process %d: %w", pid, err)
	}
	state, start, err := parseStat(stat)
	if err != nil {
		return identity{}, fmt.Errorf("reading about process %d: %w", pid, err)
	}
	if state == 'Z' || state == 'X' {
		return identity{}, fmt.Errorf("process %d has ended", pid)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return identity{}, fmt.Errorf("reading the boot ID: %w", err)
	}
	return identity{PID: pid, Start: start, Boot: strings.TrimSpace(string(boot))}, nil
}

// alive tells if this very process still runs.
func (i identity) alive() bool {
	if i.PID <= 0 {
		return false
	}
	now, err := identify(i.PID)
	return err == nil && now == i
}

// parseStat takes the state and the start time out of /proc/<pid>/stat. The command's name comes before them in brackets
// and may itself hold spaces and brackets.
func parseStat(stat []byte) (state byte, start uint64, err error) {
	_, rest, found := bytes.Cut(stat, []byte("("))
	end := bytes.LastIndexByte(rest, ')')
	if !found || end < 0 {
		return 0, 0, fmt.Errorf("no command name in %q", stat)
	}
	fields := strings.Fields(string(rest[end+1:]))
	if len(fields) < 20 || len(fields[0]) != 1 {
		return 0, 0, fmt.Errorf("too few fields in %q", stat)
	}
	start, err = strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("reading the start time: %w", err)
	}
	return fields[0][0], start, nil
}
