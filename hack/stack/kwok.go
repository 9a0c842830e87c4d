package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
)

const kwokVersion = "0.8.0"

// stagesYAML tells kwok what becomes of nodes and pods.
//
//go:embed stages.yaml
var stagesYAML []byte

// nodesYAML is the cluster's hardware.
//
//go:embed nodes.yaml
var nodesYAML []byte

const nodeLabel = "stack.recoup.dev/node=gpu"

func (s *stack) buildKwok(ctx context.Context) (binary string, err error) {
	built, err := goBuild(s.checkout, "kwok", kwokVersion, "-s -w", "sigs.k8s.io/kwok/cmd/kwok")
	if err != nil {
		return "", err
	}
	dir, err := built.get(ctx, s.cache)
	return filepath.Join(dir, "kwok"), err
}

// planNodes adds what stands in for the nodes' kubelets. It minds no node but those of nodes.yaml.
func (s *stack) planNodes(kwok, kubectl string) error {
	stages, nodes := filepath.Join(s.dir, "stages.yaml"), filepath.Join(s.dir, "nodes.yaml")
	if err := errors.Join(writeFile(stages, stagesYAML, 0o644), writeFile(nodes, nodesYAML, 0o644)); err != nil {
		return err
	}
	port, err := s.port("kwok")
	if err != nil {
		return err
	}
	s.add(server{
		part:  part{Name: "kwok", Version: kwokVersion, Address: loopback(port), Level: 2, Probe: "http://" + loopback(port) + "/healthz"},
		ports: []string{"kwok"},
		command: []string{kwok, "--kubeconfig", s.kubeconfig(), "--config", stages, "--manage-all-nodes=false",
			"--manage-nodes-with-label-selector", nodeLabel, "--node-lease-duration-seconds=40",
			"--server-address", loopback(port)},
		// The command line says nothing about the stages, and kwok reads them once.
		env: []string{"RECOUP_STAGES=" + digest(stagesYAML)},
		onReady: func(ctx context.Context) error {
			return s.readyForPods(ctx, kubectl, nodes)
		},
	})
	return nil
}

// readyForPods registers the nodes and waits until a pod can be made and scheduled.
func (s *stack) readyForPods(ctx context.Context, kubectl, nodes string) error {
	for _, args := range [][]string{
		{"apply", "--server-side", "--force-conflicts", "-f", nodes},
		{"wait", "--for=create", "serviceaccount/default", "--namespace=default", "--timeout=60s"},
		{"wait", "--for=condition=Ready", "nodes", "--selector", nodeLabel, "--timeout=60s"},
	} {
		args = append([]string{kubectl, "--kubeconfig", s.kubeconfig()}, args...)
		if err := (command{log: filepath.Join(s.logs(), "kubectl.log"), args: args}).run(ctx); err != nil {
			return fmt.Errorf("making the cluster ready for pods: %w", err)
		}
	}
	return nil
}
