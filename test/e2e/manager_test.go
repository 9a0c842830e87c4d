package e2e

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is one manager, a process of its own.
type process struct {
	t       *testing.T
	cmd     *exec.Cmd
	probes  string
	metrics string
	exited  chan struct{} // closed when the process has ended, and err is how
	err     error
	log     *syncBuffer
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// launch starts a manager with the suite's settings, and stops it with the test. It doesn't wait until it is ready.
func launch(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, probes: freeAddress(t), metrics: freeAddress(t), exited: make(chan struct{}), log: &syncBuffer{}}
	p.cmd = exec.Command(binary, append([]string{
		"manager", "--accept-signals", "--cluster", cluster, "--database", database, "--retry-key", retryKey, "--dead-letter-key", deadKey,
		"--retry-grace", "2s", "--retry-lease", "5s", "--store-timeout", "3s", "--leader-election-namespace", managerNamespace,
		"--metrics-bind-address", p.metrics, "--health-probe-bind-address", p.probes,
	}, args...)...)
	p.cmd.Env = append(append(os.Environ(), "KUBECONFIG="+asManager), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(t, p.cmd.Start())
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("log of manager %d:\n%s", p.cmd.Process.Pid, tail(p.log.String(), 20_000))
		}
	})
	return p
}

// startManager starts a manager and waits until it is ready.
func startManager(t *testing.T, args ...string) *process {
	t.Helper()
	p := launch(t, nil, args...)
	eventually(t, func() error { return p.probe("/readyz", http.StatusOK) })
	return p
}

func (p *process) probe(path string, want int) error {
	resp, err := http.Get("http://" + p.probes + path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != want {
		return fmt.Errorf("%s answers %d, want %d", path, resp.StatusCode, want)
	}
	return nil
}

// scrape asks for the metrics, with a token if there is one.
func (p *process) scrape(token string) (int, string, error) {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // the manager signed its certificate itself
	}}
	req, err := http.NewRequest(http.MethodGet, "https://"+p.metrics+"/metrics", nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

// kill ends the manager at once, wherever it is. A manager that has ended stays ended.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.exited
}

// stop asks the manager to end and returns how it did.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.exited:
		return p.err
	case <-time.After(40 * time.Second):
		p.kill()
		return fmt.Errorf("the manager did not stop within 40s")
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

func tail(text string, n int) string {
	if len(text) > n {
		return "…" + text[len(text)-n:]
	}
	return text
}
