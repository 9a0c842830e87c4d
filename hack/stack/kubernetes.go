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

const kubernetesVersion = "1.37.2"

// assets are the programs that envtest wants in one folder, too.
var assets = []string{"etcd", "kube-apiserver", "kubectl"}

// planKubernetes adds a control plane that is complete as far as Jobs are concerned, and nodes with GPUs.
func (s *stack) planKubernetes(ctx context.Context) error {
	built, err := goBuild(s.checkout, "kubernetes", kubernetesVersion, "-s -w -X k8s.io/component-base/version.gitVersion=v"+kubernetesVersion,
		"k8s.io/kubernetes/cmd/kube-apiserver", "k8s.io/kubernetes/cmd/kube-controller-manager",
		"k8s.io/kubernetes/cmd/kube-scheduler", "k8s.io/kubernetes/cmd/kubectl")
	if err != nil {
		return err
	}
	kubernetes, err := built.get(ctx, s.cache)
	if err != nil {
		return err
	}
	kwok, err := s.buildKwok(ctx)
	if err != nil {
		return err
	}
	bin, versions, err := s.assetsFolder(ctx, kubernetes)
	if err != nil {
		return err
	}
	s.export("KUBEBUILDER_ASSETS", bin)
	return s.planControlPlane(kubernetes, bin, kwok, versions)
}

// assetsFolder returns the folder of etcd, kube-apiserver and kubectl: the one that the user has, or setup-envtest's, or
// one with what was built.
func (s *stack) assetsFolder(ctx context.Context, kubernetes string) (dir string, versions assetVersions, err error) {
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		for _, name := range assets {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				return "", versions, fmt.Errorf("KUBEBUILDER_ASSETS is set, but lacks %s; correct or unset it: %w", name, err)
			}
		}
		return dir, assetVersions{etcd: "of KUBEBUILDER_ASSETS", apiServer: "of KUBEBUILDER_ASSETS"}, nil
	}
	if dir := envtestAssets(ctx); dir != "" {
		return dir, assetVersions{etcd: "of setup-envtest", apiServer: "of setup-envtest"}, nil
	}
	built, err := goBuild(s.checkout, "etcd", etcdVersion, "-s -w", ".")
	if err != nil {
		return "", versions, err
	}
	etcd, err := built.get(ctx, s.cache)
	if err != nil {
		return "", versions, err
	}
	dir = filepath.Join(s.dir, "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", versions, fmt.Errorf("making the folder of programs: %w", err)
	}
	for _, name := range assets {
		target := filepath.Join(kubernetes, name)
		if name == "etcd" {
			target = filepath.Join(etcd, name)
		}
		link := filepath.Join(dir, name)
		if at, err := os.Readlink(link); err == nil && at == target {
			continue
		}
		if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", versions, fmt.Errorf("replacing a link: %w", err)
		}
		if err := os.Symlink(target, link); err != nil {
			return "", versions, fmt.Errorf("linking %s: %w", name, err)
		}
	}
	return dir, assetVersions{etcd: etcdVersion, apiServer: kubernetesVersion}, nil
}

type assetVersions struct{ etcd, apiServer string }

// envtestAssets asks setup-envtest, where there is one that reaches its server in good time. It returns "" otherwise.
func envtestAssets(ctx context.Context) string {
	tool, err := exec.LookPath("setup-envtest")
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out, err := command{args: []string{tool, "use", kubernetesVersion, "--print", "path"}}.output(ctx)
	if err != nil {
		say("setup-envtest is of no help here, so Kubernetes is built from source (%v)", firstLine(err))
		return ""
	}
	dir := strings.TrimSpace(out)
	for _, name := range assets {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return ""
		}
	}
	return dir
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// planControlPlane adds the servers. Everything listens on the loopback interface alone.
func (s *stack) planControlPlane(kubernetes, bin, kwok string, versions assetVersions) error {
	keys, err := openPKI(filepath.Join(s.data(), "pki"))
	if err != nil {
		return err
	}
	etcd, err := s.planEtcd(filepath.Join(bin, "etcd"), versions.etcd)
	if err != nil {
		return err
	}
	port, err := s.port("kube-apiserver")
	if err != nil {
		return err
	}
	api := "https://" + loopback(port)
	s.add(server{
		part:  part{Name: "kube-apiserver", Version: versions.apiServer, Address: loopback(port), Level: 1, Probe: api + "/readyz"},
		ports: []string{"kube-apiserver"},
		command: []string{filepath.Join(bin, "kube-apiserver"), "--etcd-servers", etcd,
			"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port", strconv.Itoa(port),
			"--tls-cert-file", keys.file("serving.crt"), "--tls-private-key-file", keys.file("serving.key"),
			"--client-ca-file", keys.file("ca.crt"), "--authorization-mode=RBAC", "--allow-privileged",
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-key-file", keys.file("service-accounts.key"), "--service-account-signing-key-file", keys.file("service-accounts.key"),
			"--service-cluster-ip-range=10.0.0.0/24",
			// A loopback address can't stand in the endpoints of the service "kubernetes".
			"--endpoint-reconciler-type=none",
			// A stack that goes down has nobody to wait for.
			"--shutdown-delay-duration=0s"},
	})
	kubeconfigs := map[string]string{"admin": s.kubeconfig()}
	for user := range clusterUsers {
		if kubeconfigs[user] == "" {
			kubeconfigs[user] = filepath.Join(keys.dir, user+".kubeconfig")
		}
		if err := writeKubeconfig(kubeconfigs[user], api, "recoup-"+s.name, user, keys); err != nil {
			return err
		}
	}
	s.export("KUBECONFIG", s.kubeconfig())
	for _, controller := range []struct {
		name  string
		flags []string
	}{
		{"kube-controller-manager", []string{"--controllers=*", "--use-service-account-credentials", "--root-ca-file", keys.file("ca.crt"),
			"--service-account-private-key-file", keys.file("service-accounts.key"), "--kube-api-qps=200", "--kube-api-burst=400"}},
		{"kube-scheduler", []string{"--kube-api-qps=200", "--kube-api-burst=400"}},
	} {
		if err := s.planController(controller.name, kubernetes, kubeconfigs["system:"+controller.name], keys, controller.flags); err != nil {
			return err
		}
	}
	return s.planNodes(kwok, filepath.Join(bin, "kubectl"))
}

// planController adds a client of the API server that serves its health.
func (s *stack) planController(name, kubernetes, kubeconfig string, keys pki, flags []string) error {
	port, err := s.port(name)
	if err != nil {
		return err
	}
	s.add(server{
		part:  part{Name: name, Version: kubernetesVersion, Address: loopback(port), Level: 2, Probe: "https://" + loopback(port) + "/healthz"},
		ports: []string{name},
		command: append([]string{filepath.Join(kubernetes, name),
			"--kubeconfig", kubeconfig, "--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig,
			"--bind-address=127.0.0.1", "--secure-port", strconv.Itoa(port), "--leader-elect=false",
			"--tls-cert-file", keys.file("serving.crt"), "--tls-private-key-file", keys.file("serving.key")}, flags...),
	})
	return nil
}

func (s *stack) kubeconfig() string { return filepath.Join(s.dir, "kubeconfig") }
