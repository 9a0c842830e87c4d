package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

const stateVersion = 1

// state is what one stack remembers between two commands. Whoever changes it holds the stack's lock.
type state struct {
	Version  int               `json:"version"`
	Checkout string            `json:"checkout"`
	Name     string            `json:"name"`
	Kept     bool              `json:"kept"`            // by `up`: the end of a `run` leaves it running
	Users    []identity        `json:"users,omitempty"` // the `run`s that use it
	Ports    ports             `json:"ports"`
	Parts    []part            `json:"parts"` // in the order of their levels
	Exports  map[string]string `json:"exports"`
}

// part is one server of the stack, as it was started last.
type part struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Address     string   `json:"address"`
	Level       int      `json:"level"`
	Probe       string   `json:"probe"`
	External    bool     `json:"external,omitempty"` // somebody else's: never started, never stopped
	Container   string   `json:"container,omitempty"`
	Process     identity `json:"process"`
	Fingerprint string   `json:"fingerprint"` // of the command line; a part whose command line changed is started anew
	StopSignal  int      `json:"stopSignal,omitempty"`
	Log         string   `json:"log,omitempty"`
}

func readState(dir string) (*state, error) {
	raw, err := os.ReadFile(stateFile(dir))
	if errors.Is(err, os.ErrNotExist) {
		return &state{Version: stateVersion, Ports: ports{}, Exports: map[string]string{}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the stack's state: %w", err)
	}
	var s state
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("reading the stack's state %s: %w", stateFile(dir), err)
	}
	if s.Version != stateVersion {
		return nil, fmt.Errorf("the stack's state %s has version %d, and this program knows version %d: stop that stack with the program that started it",
			stateFile(dir), s.Version, stateVersion)
	}
	if s.Ports == nil {
		s.Ports = ports{}
	}
	if s.Exports == nil {
		s.Exports = map[string]string{}
	}
	return &s, nil
}

// write replaces the file in one step, so that a reader never sees half of it.
func (s *state) write(dir string) error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the stack's state: %w", err)
	}
	return writeFile(stateFile(dir), append(raw, '\n'), 0o644)
}

func (s *state) part(name string) *part {
	for i := range s.Parts {
		if s.Parts[i].Name == name {
			return &s.Parts[i]
		}
	}
	return nil
}

// put adds the part, or replaces the one of that name.
func (s *state) put(p part) {
	if old := s.part(p.Name); old != nil {
		*old = p
		return
	}
	s.Parts = append(s.Parts, p)
	slices.SortStableFunc(s.Parts, func(a, b part) int { return a.Level - b.Level })
}

func (s *state) drop(name string) {
	s.Parts = slices.DeleteFunc(s.Parts, func(p part) bool { return p.Name == name })
}

// dropDeadUsers forgets each `run` that ended without saying so.
func (s *state) dropDeadUsers() {
	s.Users = slices.DeleteFunc(s.Users, func(u identity) bool { return !u.alive() })
}

func stateFile(dir string) string { return filepath.Join(dir, "state.json") }

// writeFile makes the file and its folder appear complete or not at all.
func writeFile(path string, content []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	temp := fmt.Sprintf("%s.%d.new", path, os.Getpid())
	if err := os.WriteFile(temp, content, mode); err != nil {
		return fmt.Errorf("writing a file: %w", err)
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(fmt.Errorf("putting a file in its place: %w", err), os.Remove(temp))
	}
	return nil
}
