package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const mongoImage = "mongo:8"

// planMongo takes, in this order: MONGODB_URI's server, the mongod on the PATH, one in Docker, DocumentDB behind FerretDB.
// All of them decide a guarded update atomically; that is what the product stands on, so no imitation will do.
func (s *stack) planMongo(ctx context.Context) error {
	if uri := os.Getenv("MONGODB_URI"); uri != "" {
		s.external("mongodb", uri, "MONGODB_URI")
		s.export("MONGODB_URI", uri)
		return nil
	}
	if binary, err := exec.LookPath("mongod"); err == nil {
		return s.planMongod(ctx, binary)
	}
	if docker, err := exec.LookPath("docker"); err == nil && engineRuns(ctx, docker) {
		return s.planMongoContainer(docker)
	}
	if refusal := documentDBRefusal(); refusal != nil {
		return fmt.Errorf("no MongoDB: set MONGODB_URI, install mongod, start a Docker engine, or run this as root on Debian (not possible here: %w)", refusal)
	}
	return s.planDocumentDB(ctx)
}

func (s *stack) planMongod(ctx context.Context, binary string) error {
	port, err := s.port("mongodb")
	if err != nil {
		return err
	}
	version := "unknown"
	if out, err := (command{args: []string{binary, "--version"}}).output(ctx); err == nil {
		version = strings.TrimPrefix(firstLine(errors.New(out)), "db version v")
	}
	data := filepath.Join(s.data(), "mongodb")
	s.addMongo(port, server{
		part:    part{Version: version},
		data:    data,
		command: []string{binary, "--bind_ip", "127.0.0.1", "--port", strconv.Itoa(port), "--dbpath", data, "--nounixsocket"},
	})
	return nil
}

func (s *stack) planMongoContainer(docker string) error {
	port, err := s.port("mongodb")
	if err != nil {
		return err
	}
	name := "recoup-" + digest([]byte(s.dir))
	s.addMongo(port, server{
		part: part{Version: mongoImage, Container: name},
		command: []string{docker, "run", "--rm", "--name", name, "--publish", loopback(port) + ":27017",
			"--tmpfs", "/data/db", mongoImage},
	})
	return nil
}

// addMongo adds what answers clients.
func (s *stack) addMongo(port int, sv server) {
	uri := "mongodb://" + loopback(port) + "/"
	if sv.Name == "" {
		sv.Name = "mongodb"
	}
	sv.Address, sv.Probe, sv.ports = loopback(port), uri, []string{"mongodb"}
	s.add(sv)
	s.export("MONGODB_URI", uri)
}

// engineRuns tells if there is an engine behind the docker command.
func engineRuns(ctx context.Context, docker string) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err := command{args: []string{docker, "version", "--format", "{{.Server.Version}}"}}.output(ctx)
	return err == nil
}

// removeContainer makes sure that a container has gone with the command that ran it.
func removeContainer(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	if _, err := (command{args: []string{"docker", "rm", "--force", "--volumes", name}}).output(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("removing the container %s: %w", name, err)
	}
	return nil
}
