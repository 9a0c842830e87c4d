package main

import (
	"context"
	"path/filepath"
)

const ferretVersion = "2.7.0"

func (s *stack) buildFerret(ctx context.Context) (binary string, err error) {
	built, err := goBuild(s.checkout, "ferretdb", ferretVersion, "-s -w", "github.com/FerretDB/FerretDB/v2/cmd/ferretdb")
	if err != nil {
		return "", err
	}
	dir, err := built.get(ctx, s.cache)
	return filepath.Join(dir, "ferretdb"), err
}

// planFerret adds what speaks MongoDB's protocol in front of DocumentDB.
func (s *stack) planFerret(binary, postgres string) error {
	port, err := s.port("mongodb")
	if err != nil {
		return err
	}
	data := filepath.Join(s.data(), "ferretdb")
	s.addMongo(port, server{
		part: part{Name: "ferretdb", Version: ferretVersion, Level: 1},
		data: data,
		command: []string{binary, "--listen-addr", loopback(port), "--debug-addr=-", "--telemetry=disable", "--no-auth",
			"--postgresql-url", postgres, "--state-dir", data},
	})
	return nil
}
