package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// ensureCompiler installs a C compiler where there is none: Go's race detector is linked by one.
func (s *stack) ensureCompiler(ctx context.Context) error {
	names := []string{"gcc", "clang", "cc"}
	if cc := os.Getenv("CC"); cc != "" {
		names = []string{cc}
	}
	for _, name := range names {
		if _, err := exec.LookPath(name); err == nil {
			return nil
		}
	}
	if refusal := aptRefusal(); refusal != nil {
		return fmt.Errorf("no C compiler, which the race detector needs: install gcc (it can't be done from here: %w)", refusal)
	}
	return aptInstall(ctx, s.cache, "gcc", "libc6-dev")
}
