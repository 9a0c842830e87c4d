package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// oneBuild keeps two builds of Go from competing for the same processors and memory.
var oneBuild sync.Mutex

// goBuild describes binaries that are built from a module of hack/stack/modules, at the versions that its go.mod pins.
func goBuild(checkout, module, version string, ldflags string, packages ...string) (artifact, error) {
	dir := filepath.Join(checkout, "hack", "stack", "modules", module)
	inputs := append([]string{runtime.Version(), runtime.GOOS, runtime.GOARCH, ldflags}, packages...)
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && (name != "main.go" || !os.IsNotExist(err)) {
			return artifact{}, fmt.Errorf("reading what to build: %w", err)
		}
		inputs = append(inputs, string(content))
	}
	return artifact{name: module, version: version, inputs: inputs, make: func(ctx context.Context, into, log string) error {
		oneBuild.Lock()
		defer oneBuild.Unlock()
		args := append([]string{"go", "build", "-ldflags", ldflags, "-o", into + string(filepath.Separator)}, packages...)
		return command{dir: dir, env: []string{"GOWORK=off", "GOFLAGS=-mod=readonly -buildvcs=false"}, log: log, args: args}.run(ctx)
	}}, nil
}
