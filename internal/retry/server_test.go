package retry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"
)

// sharedServer is the server that all tests may use at once. There is no test
// without one.
func sharedServer(t testing.TB) string {
	t.Helper()
	url := os.Getenv("REDIS_URL")
	if url == "" {
		t.Fatal("REDIS_URL is not set: run `make test`, which brings up a server and sets it")
	}
	return url
}

// server is a Redis of one test's own, to flush, fill and kill.
type server struct {
	t    testing.TB
	dir  string
	args []string
	url  string
	rdb  *redis.Client
	proc *exec.Cmd
}

// ownServer starts a Redis that keeps nothing and that nobody else uses.
func ownServer(t testing.TB, args ...string) *server {
	t.Helper()
	dir, err := os.MkdirTemp("", "retry") //nolint:usetesting // the path of a socket has a length limit
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	s := &server{t: t, dir: dir, url: "unix://" + socket,
		args: append([]string{"--port", "0", "--unixsocket", socket, "--dir", dir, "--save", ""}, args...)}
	s.rdb = redis.NewClient(&redis.Options{Network: "unix", Addr: socket})
	t.Cleanup(func() {
		s.stop()
		_ = s.rdb.Close()
		_ = os.RemoveAll(dir)
	})
	s.start()
	return s
}

func (s *server) start() {
	s.t.Helper()
	binary := os.Getenv("REDIS_SERVER")
	if binary == "" {
		found, err := exec.LookPath("redis-server")
		if err != nil {
			s.t.Fatal("there is no redis-server on the PATH and REDIS_SERVER is not set: run `make test`, which finds or installs one")
		}
		binary = found
	}
	s.proc = exec.Command(binary, s.args...)
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	s.proc.Stdout, s.proc.Stderr = log, log
	if err := s.proc.Start(); err != nil {
		s.t.Fatal(err)
	}
	NewWithT(s.t).Eventually(func() error { return s.rdb.Ping(context.Background()).Err() }, 20*time.Second, 10*time.Millisecond).
		Should(Succeed())
}

// stop kills the server: it gets no chance to tidy up.
func (s *server) stop() {
	if s.proc == nil {
		return
	}
	_ = s.proc.Process.Kill()
	_ = s.proc.Wait()
	s.proc = nil
}

// set changes the server's configuration.
func (s *server) set(name, value string) {
	s.t.Helper()
	if err := s.rdb.ConfigSet(s.t.Context(), name, value).Err(); err != nil {
		s.t.Fatal(err)
	}
}

// calls returns how often each command ran since the last resetstat.
func (s *server) calls() map[string]int {
	s.t.Helper()
	text, err := s.rdb.Info(s.t.Context(), "commandstats").Result()
	if err != nil {
		s.t.Fatal(err)
	}
	calls := map[string]int{}
	for line := range strings.Lines(text) {
		name, rest, found := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":")
		if !found {
			continue
		}
		var n int
		if _, err := fmt.Sscanf(rest, "calls=%d", &n); err == nil {
			calls[name] = n
		}
	}
	// The test's own.
	for _, own := range []string{"info", "config|resetstat", "config|set", "client|setinfo", "hello", "ping"} {
		delete(calls, own)
	}
	return calls
}

var prefixes atomic.Int64

// lane is a Lane under names of its own, with a client beside it.
type lane struct {
	*Lane
	g   *WithT
	t   testing.TB
	cfg Config
	rdb *redis.Client
	// anHourHence is what fill makes its entries of.
	anHourHence Entry
}

// newLane opens and prepares a lane on the shared server. Its keys are removed
// afterwards.
func newLane(t testing.TB) *lane {
	t.Helper()
	return laneAt(t, sharedServer(t))
}

func laneAt(t testing.TB, url string) *lane {
	t.Helper()
	l := openLane(t, config(url))
	l.g.Expect(l.Prepare(t.Context())).To(Succeed())
	return l
}

func config(url string) Config {
	prefix := fmt.Sprintf("retry-test-%d-%d-%d", os.Getpid(), time.Now().UnixNano(), prefixes.Add(1))
	return Config{URL: url, RetryKey: prefix + ":retry", DeadLetterKey: prefix + ":dead", Owner: "c1",
		Timeout: 10 * time.Second, Lease: time.Minute}
}

func openLane(t testing.TB, cfg Config) *lane {
	t.Helper()
	g := NewWithT(t)
	opened, err := Open(cfg)
	g.Expect(err).NotTo(HaveOccurred())
	options, err := redis.ParseURL(sharedOr(cfg.URL))
	g.Expect(err).NotTo(HaveOccurred())
	l := &lane{Lane: opened, g: g, t: t, cfg: cfg, rdb: redis.NewClient(options)}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		// A test may have left its own server dead, with nothing to remove.
		_ = l.rdb.Del(ctx, l.keys.waiting, l.keys.parked, l.keys.leased, l.keys.owner, l.keys.deadOwner, l.keys.dead, l.keys.deadIndex).Err()
		_ = l.rdb.Close()
		// A test may have closed it already.
		if err := l.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

func sharedOr(url string) string { return strings.Replace(url, "+cluster", "", 1) }

// twin opens a second connection to the same lane, as another replica does.
func (l *lane) twin() *lane {
	l.t.Helper()
	twin := openLane(l.t, l.cfg)
	l.g.Expect(twin.Prepare(l.t.Context())).To(Succeed())
	twin.lease = l.lease
	return twin
}

// entry is a retry of a job of that name, due after d from now by the server's
// clock.
func (l *lane) entry(name string, d time.Duration) Entry {
	return Entry{Version: Version, JobID: "c1/team-a/" + name, Cluster: "c1", Namespace: "team-a", Name: name, UID: "uid-" + name,
		Account: "acme", Cost: 25, Attempts: 1, NotBefore: l.serverTime().Add(d).Truncate(time.Millisecond), Reason: "OOMKilled"}
}

func (l *lane) serverTime() time.Time {
	l.t.Helper()
	now, err := l.rdb.Time(l.t.Context()).Result()
	l.g.Expect(err).NotTo(HaveOccurred())
	return now.UTC()
}

// push pushes entries, in one go where there are many.
func (l *lane) push(entries ...Entry) {
	l.t.Helper()
	raws := make([]any, 0, len(entries))
	for _, e := range entries {
		raw, err := e.Encode()
		l.g.Expect(err).NotTo(HaveOccurred())
		raws = append(raws, raw)
	}
	l.pushRaw(raws...)
}

func (l *lane) pushRaw(raws ...any) {
	l.t.Helper()
	for len(raws) > 0 {
		n := min(len(raws), 1000)
		l.g.Expect(l.rdb.RPush(l.t.Context(), l.keys.waiting, raws[:n]...).Err()).To(Succeed())
		raws = raws[n:]
	}
}

// take makes one pass.
func (l *lane) take(limit int) Batch {
	l.t.Helper()
	batch, err := l.Take(l.t.Context(), limit)
	l.g.Expect(err).NotTo(HaveOccurred())
	return batch
}

// depth is waiting, parked, leased, dead letters.
func (l *lane) depth() [4]int64 {
	l.t.Helper()
	d, err := l.Depth(l.t.Context())
	l.g.Expect(err).NotTo(HaveOccurred())
	return [4]int64{d.Waiting, d.Parked, d.Leased, d.DeadLetters}
}

// letters are the dead letters, as they stand.
func (l *lane) letters() []string {
	l.t.Helper()
	letters, err := l.rdb.LRange(l.t.Context(), l.keys.dead, 0, -1).Result()
	l.g.Expect(err).NotTo(HaveOccurred())
	return letters
}

// names are the names in deliveries, in order.
func names(deliveries []Delivery) []string {
	out := []string{}
	for _, d := range deliveries {
		out = append(out, d.Entry.Name)
	}
	return out
}

// wire stands between a lane and a server, and can lose the server's replies.
type wire struct {
	listener net.Listener
	losing   atomic.Bool
	lost     atomic.Int64
}

// newWire forwards to a Redis URL of either kind; its own URL is the second result.
func newWire(t testing.TB, url string) (*wire, string) {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{}
	w.listener, err = net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.listener.Close() })
	go func() {
		for {
			client, err := w.listener.Accept()
			if err != nil {
				return
			}
			upstream, err := net.Dial(o.Network, o.Addr)
			if err != nil {
				_ = client.Close()
				continue
			}
			go w.carry(upstream, client, false)
			go w.carry(client, upstream, true)
		}
	}()
	return w, fmt.Sprintf("redis://%s/%d", w.listener.Addr(), o.DB)
}

func (w *wire) carry(to, from net.Conn, replies bool) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if replies && w.losing.Load() {
			w.lost.Add(1)
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
