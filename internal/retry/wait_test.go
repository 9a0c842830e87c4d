package retry

import (
	"context"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// blocked waits until n clients wait for a list on the server.
func (s *server) blocked(g *WithT, n int) {
	s.t.Helper()
	g.Eventually(func() (map[string]string, error) {
		text, err := s.rdb.Info(s.t.Context(), "clients").Result()
		return parseInfo(text), err
	}, 5*time.Second, time.Millisecond).Should(HaveKeyWithValue("blocked_clients", strconv.Itoa(n)))
}

func TestWaitEndsWithAnEntryAndTakesNothing(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	l := laneAt(t, s.url)
	ended := make(chan error, 1)
	go func() { ended <- l.Wait(context.Background(), time.Minute) }()
	s.blocked(l.g, 1)
	l.g.Consistently(ended, 50*time.Millisecond).ShouldNot(Receive())

	first, second := l.entry("first", -time.Second), l.entry("second", -time.Second)
	l.g.Expect(l.Push(t.Context(), first)).To(Succeed())
	l.g.Eventually(ended, 3*time.Second).Should(Receive(BeNil()))
	l.g.Expect(l.depth()).To(Equal([4]int64{1, 0, 0, 0}))

	// A list that has entries holds nobody up, and keeps their order.
	l.push(second)
	began := time.Now()
	l.g.Expect(l.Wait(t.Context(), time.Minute)).To(Succeed())
	l.g.Expect(time.Since(began)).To(BeNumerically("<", 5*time.Second))
	l.g.Expect(names(l.take(10).Due)).To(Equal([]string{"first", "second"}))
}

func TestWaitEndsWithItsTime(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	for _, d := range []time.Duration{0, -time.Second, time.Millisecond, 30 * time.Millisecond} {
		began := time.Now()
		l.g.Expect(l.Wait(t.Context(), d)).To(Succeed())
		l.g.Expect(time.Since(began)).To(BeNumerically(">=", d))
		l.g.Expect(time.Since(began)).To(BeNumerically("<", 3*time.Second))
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	l := laneAt(t, s.url)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Wait(ctx, time.Minute) }()
	s.blocked(l.g, 1)
	cancel()
	// Well before the command ends by itself.
	l.g.Eventually(ended, peekTime/3).Should(Receive(MatchError(context.Canceled)))

	// The next one goes on with the same command, and is woken by it.
	go func() { ended <- l.Wait(context.Background(), time.Minute) }()
	s.blocked(l.g, 1)
	l.g.Expect(l.Push(t.Context(), l.entry("j", 0))).To(Succeed())
	l.g.Eventually(ended, 3*time.Second).Should(Receive(BeNil()))
}

// Close leaves nobody waiting.
func TestCloseEndsAWait(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	opened, err := Open(config(s.url))
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	ended := make(chan error, 1)
	go func() { ended <- opened.Wait(context.Background(), time.Minute) }()
	s.blocked(g, 1)
	g.Expect(opened.Close()).To(Succeed())
	g.Eventually(ended, 3*time.Second).Should(Receive(MatchError(ContainSubstring("waiting for an entry"))))
	s.blocked(g, 0)
}

// An operator's CLIENT UNBLOCK, and a connection that breaks.
func TestWaitRecovers(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	l := laneAt(t, s.url)
	wait := func() chan error {
		ended := make(chan error, 1)
		go func() { ended <- l.Wait(context.Background(), time.Minute) }()
		s.blocked(l.g, 1)
		return ended
	}
	blockedID := func() int64 {
		list, err := s.rdb.Do(t.Context(), "CLIENT", "LIST").Text()
		l.g.Expect(err).NotTo(HaveOccurred())
		return blockedClient(list)
	}
	ended := wait()
	l.g.Expect(s.rdb.Do(t.Context(), "CLIENT", "UNBLOCK", blockedID(), "ERROR").Err()).To(Succeed())
	s.blocked(l.g, 1)
	l.g.Expect(ended).NotTo(Receive())
	l.g.Expect(s.rdb.Do(t.Context(), "CLIENT", "KILL", "ID", blockedID()).Err()).To(Succeed())
	l.g.Eventually(ended, 3*time.Second).Should(Receive(MatchError(ContainSubstring("waiting for an entry"))))

	ended = wait()
	l.push(l.entry("j", 0))
	l.g.Eventually(ended, 3*time.Second).Should(Receive(BeNil()))
}
