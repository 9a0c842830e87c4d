package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// planRedis takes REDIS_URL's server, else starts the one on the PATH, else the one of Debian.
func (s *stack) planRedis(ctx context.Context) error {
	if url := os.Getenv("REDIS_URL"); url != "" {
		s.external("redis", url, "REDIS_URL")
		s.export("REDIS_URL", url)
		return nil
	}
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		if refusal := aptRefusal(); refusal != nil {
			return fmt.Errorf("no Redis: set REDIS_URL, or install redis-server (it can't be done from here: %w)", refusal)
		}
		if err := aptInstall(ctx, s.cache, "redis-server"); err != nil {
			return err
		}
		if binary, err = exec.LookPath("redis-server"); err != nil {
			return fmt.Errorf("looking for what was just installed: %w", err)
		}
	}
	port, err := s.port("redis")
	if err != nil {
		return err
	}
	url := "redis://" + loopback(port) + "/0"
	data := filepath.Join(s.data(), "redis")
	s.add(server{
		part:  part{Name: "redis", Version: redisVersion(ctx, binary), Address: loopback(port), Probe: url},
		data:  data,
		ports: []string{"redis"},
		// Nothing is saved: a test's data is worth nothing after it.
		command: []string{binary, "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", data, "--save", "", "--appendonly", "no", "--daemonize", "no"},
	})
	s.export("REDIS_URL", url)
	return nil
}

func redisVersion(ctx context.Context, binary string) string {
	out, err := command{args: []string{binary, "--version"}}.output(ctx)
	if err != nil {
		return "unknown"
	}
	for field := range strings.FieldsSeq(out) {
		if version, ok := strings.CutPrefix(field, "v="); ok {
			return version
		}
	}
	return "unknown"
}
