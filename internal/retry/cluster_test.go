package retry

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// clusterNode starts a Redis Cluster of one node, which holds every slot.
func clusterNode(t testing.TB) string {
	t.Helper()
	g := NewWithT(t)
	// A node needs a TCP port of its own, and another one for the cluster's bus.
	port, bus := freePort(t), freePort(t)
	s := ownServer(t, "--port", port, "--cluster-enabled", "yes", "--cluster-port", bus, "--bind", "127.0.0.1")
	g.Expect(s.rdb.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", "0", "16383").Err()).To(Succeed())
	g.Eventually(func() (string, error) { return s.rdb.ClusterInfo(t.Context()).Result() }, 10*time.Second, 10*time.Millisecond).
		Should(ContainSubstring("cluster_state:ok"))
	return "redis://127.0.0.1:" + port
}

func freePort(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)
}

func TestARedisCluster(t *testing.T) {
	t.Parallel()
	url := clusterNode(t)

	// It isn't taken for a single server.
	l := openLane(t, config(url))
	l.g.Expect(l.Prepare(t.Context())).To(MatchError(ContainSubstring("give REDIS_URL the scheme redis+cluster://")))

	cfg := config(strings.Replace(url, "redis:", "redis+cluster:", 1))
	cfg.RetryKey, cfg.DeadLetterKey = "{jobs}:retry", "{jobs}:dead-letter"
	l = openLane(t, cfg)
	l.g.Expect(l.Prepare(t.Context())).To(Succeed())
	l.g.Expect(l.Warnings(t.Context())).To(BeEmpty())
	l.g.Expect(l.Now()).To(BeTemporally("~", l.serverTime(), time.Second))

	l.g.Expect(l.Push(t.Context(), l.entry("a", -time.Second))).To(Succeed())
	l.g.Expect(l.Push(t.Context(), l.entry("later", time.Hour))).To(Succeed())
	l.pushRaw("hello")
	l.g.Expect(l.Wait(t.Context(), time.Minute)).To(Succeed())
	batch := l.take(10)
	l.g.Expect(names(batch.Due)).To(Equal([]string{"a"}))
	l.g.Expect(l.Release(t.Context(), batch.Due[0], l.serverTime().Add(-time.Second))).To(Succeed())
	l.g.Expect(l.Ack(t.Context(), l.take(10).Due[0])).To(Succeed())
	l.g.Expect(l.Bury(t.Context(), batch.Poison[0], batch.Poison[0].Err)).To(Succeed())
	l.die(aDeadEntry("d", 1))
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 1, 0, 2}))
	l.g.Expect(l.RemoveDeadLetter(t.Context(), "c1/team-a/d")).To(Succeed())
	l.g.Expect(l.Flush(t.Context(), 10)).To(Equal(1))
	l.g.Expect(l.Lost(t.Context())).To(BeFalse())
}
