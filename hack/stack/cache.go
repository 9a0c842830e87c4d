package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// artifact is something that takes long to make and stays the same as long as its inputs do.
type artifact struct {
	name, version string
	inputs        []string // whatever changes the result besides the version
	make          func(ctx context.Context, into, log string) error
}

// key names the artifact's folder.
func (a artifact) key() string {
	h := sha256.New()
	for _, in := range a.inputs {
		fmt.Fprintf(h, "%d %s\n", len(in), in)
	}
	return a.name + "-" + a.version + "-" + hex.EncodeToString(h.Sum(nil))[:12]
}

// get returns the artifact's folder, making it first if no earlier run did. A folder is complete or absent: it is made
// under another name and then renamed. Two processes never make the same one at once.
func (a artifact) get(ctx context.Context, cache string) (string, error) {
	key := a.key()
	final := filepath.Join(cache, "built", key)
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	unlock, err := lockFile(ctx, filepath.Join(cache, "locks", key), a.name+" "+a.version+" in the cache")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	temp, log := final+".part", filepath.Join(cache, "logs", key+".log")
	if err := errors.Join(os.RemoveAll(temp), os.MkdirAll(temp, 0o755), os.MkdirAll(filepath.Dir(log), 0o755)); err != nil {
		return "", fmt.Errorf("making room for %s in the cache: %w", a.name, err)
	}
	begun := time.Now()
	done := progress(fmt.Sprintf("making %s %s (once; log: %s)", a.name, a.version, log))
	defer done()
	if err := a.make(ctx, temp, log); err != nil {
		return "", errors.Join(fmt.Errorf("making %s %s: %w", a.name, a.version, err), os.RemoveAll(temp))
	}
	if err := os.Rename(temp, final); err != nil {
		return "", fmt.Errorf("putting %s in the cache: %w", a.name, err)
	}
	say("made %s %s in %s", a.name, a.version, time.Since(begun).Round(time.Second))
	return final, nil
}

// digest is a short name for some bytes.
func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])[:12]
}
