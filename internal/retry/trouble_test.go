package retry

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// A full server answers PING, refuses what is new and says so, and can be drained.
func TestAFullServer(t *testing.T) {
	t.Parallel()
	s := ownServer(t, "--maxmemory-policy", "noeviction")
	l := laneAt(t, s.url)
	l.lease = shortLease
	l.push(l.entry("a", -time.Second), l.entry("b", -time.Second), l.entry("later", time.Hour))
	l.pushRaw("hello")
	s.set("maxmemory", "1")

	l.g.Expect(l.Ping(t.Context())).To(Succeed())
	err := l.Push(t.Context(), l.entry("c", 0))
	l.g.Expect(err).To(MatchError(ErrFull))
	l.g.Expect(err).To(MatchError(And(ContainSubstring(`pushing the retry of job "c1/team-a/c"`), ContainSubstring("raise its maxmemory"))))
	l.g.Expect(l.DeadLetter(t.Context(), aDeadEntry("d", 1))).To(MatchError(ErrFull))

	// A manager that starts now can still work.
	l.g.Expect(l.twin().Prepare(t.Context())).To(Succeed())
	began := time.Now()
	l.g.Expect(l.Wait(t.Context(), 20*time.Millisecond)).To(Succeed())
	l.g.Expect(time.Since(began)).To(BeNumerically(">=", 20*time.Millisecond))
	batch := l.take(10)
	l.g.Expect(names(batch.Due)).To(Equal([]string{"a", "b"}))
	l.g.Expect(batch.Poison).To(HaveLen(1))
	l.g.Expect(l.Ack(t.Context(), batch.Due[0])).To(Succeed())
	l.g.Expect(l.Release(t.Context(), batch.Due[1], l.serverTime().Add(time.Hour))).To(Succeed())
	l.g.Expect(l.Bury(t.Context(), batch.Poison[0], batch.Poison[0].Err)).To(Succeed())
	l.g.Expect(l.RemoveDeadLetter(t.Context(), "c1/team-a/d")).To(Succeed())
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 2, 0, 1}))
	l.g.Expect(l.Flush(t.Context(), 10)).To(Equal(2))

	s.set("maxmemory", "0")
	l.g.Expect(l.Push(t.Context(), l.entry("c", 0))).To(Succeed())
}

// A new lane on a full server waits.
func TestAFullServerCannotBeClaimed(t *testing.T) {
	t.Parallel()
	s := ownServer(t, "--maxmemory", "1")
	l := openLane(t, config(s.url))
	l.g.Expect(l.Prepare(t.Context())).To(MatchError(ErrFull))
	s.set("maxmemory", "0")
	l.g.Expect(l.Prepare(t.Context())).To(Succeed())
}

// After a failover the address may lead to what is a replica now.
func TestAReadOnlyServer(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	l := laneAt(t, s.url)
	l.push(l.entry("j", -time.Second))
	d := l.take(1).Due[0]
	// Nobody listens there; it is a replica all the same.
	l.g.Expect(s.rdb.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err()).To(Succeed())

	readOnly := And(MatchError(ErrReadOnly), MatchError(ContainSubstring("let REDIS_URL lead to the primary")))
	l.g.Expect(l.Push(t.Context(), l.entry("k", 0))).To(readOnly)
	_, err := l.Take(t.Context(), 1)
	l.g.Expect(err).To(readOnly)
	l.g.Expect(l.Ack(t.Context(), d)).To(readOnly)
	l.g.Expect(l.Bury(t.Context(), d, errors.New("x"))).To(readOnly)
	l.g.Expect(l.Wait(t.Context(), time.Minute)).To(readOnly)
	l.g.Expect(l.Ping(t.Context())).To(Succeed())

	l.g.Expect(s.rdb.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err()).To(Succeed())
	l.g.Expect(l.Push(t.Context(), l.entry("k", -time.Second))).To(Succeed())
	l.g.Expect(names(l.take(1).Due)).To(Equal([]string{"k"}))
}

// The server forgets the scripts.
func TestScriptsSurviveSCRIPTFLUSH(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	l := laneAt(t, s.url)
	for range 2 {
		forget := func() { l.g.Expect(s.rdb.ScriptFlush(t.Context()).Err()).To(Succeed()) }
		l.push(l.entry("a", -time.Second))
		l.pushRaw("hello")
		forget()
		batch := l.take(10)
		l.g.Expect(names(batch.Due)).To(Equal([]string{"a"}))
		forget()
		l.g.Expect(l.Release(t.Context(), batch.Due[0], l.serverTime())).To(Succeed())
		forget()
		l.g.Expect(l.Bury(t.Context(), batch.Poison[0], batch.Poison[0].Err)).To(Succeed())
		forget()
		l.die(aDeadEntry("d", 1))
		forget()
		l.g.Expect(l.RemoveDeadLetter(t.Context(), "c1/team-a/d")).To(Succeed())
		forget()
		l.g.Expect(l.Flush(t.Context(), 10)).To(Equal(1))
		l.g.Expect(l.rdb.Del(t.Context(), l.keys.waiting).Err()).To(Succeed())
	}
}

// The server is killed and comes back with what it had saved; the same Lane goes
// on, whatever it was doing.
func TestTheServerIsKilledAndComesBack(t *testing.T) {
	t.Parallel()
	s := ownServer(t, "--appendonly", "yes", "--appendfsync", "always")
	cfg := config(s.url)
	cfg.Timeout = 2 * time.Second
	l := openLane(t, cfg)
	l.g.Expect(l.Prepare(t.Context())).To(Succeed())
	l.lease = shortLease
	l.push(l.entry("held", -time.Second), l.entry("later", 500*time.Millisecond))
	l.g.Expect(names(l.take(10).Due)).To(Equal([]string{"held"}))
	l.push(l.entry("waiting", -time.Second))
	ended := make(chan error, 1)

	s.stop()
	go func() { ended <- l.Wait(t.Context(), time.Minute) }()
	l.g.Eventually(ended, 10*time.Second).Should(Receive(MatchError(ContainSubstring(filepath.Base(s.dir)))))
	_, err := l.Take(t.Context(), 1)
	l.g.Expect(err).To(MatchError(ContainSubstring("taking what is due")))
	_, err = l.Lost(t.Context())
	l.g.Expect(err).To(HaveOccurred())
	s.start()

	l.g.Expect(l.Lost(t.Context())).To(BeFalse())
	var back []string
	l.g.Eventually(func() []string {
		back = append(back, names(l.take(10).Due)...)
		return back
	}, 10*time.Second, 5*time.Millisecond).Should(ContainElements("held", "waiting", "later"))
}

// A server that has stopped answering doesn't hold a caller beyond the time-out.
func TestEveryCallHasATimeout(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	cfg := config(s.url)
	cfg.Timeout = 300 * time.Millisecond
	l := openLane(t, cfg)
	l.g.Expect(l.Prepare(t.Context())).To(Succeed())
	e := l.entry("j", 0)
	l.g.Expect(s.rdb.Do(t.Context(), "CLIENT", "PAUSE", "3000", "ALL").Err()).To(Succeed())
	began := time.Now()
	l.g.Expect(l.Push(t.Context(), e)).To(MatchError(ContainSubstring("no answer in time (300ms a call)")))
	l.g.Expect(time.Since(began)).To(BeNumerically("<", 2*time.Second))
	began = time.Now()
	l.g.Expect(l.Wait(t.Context(), 10*time.Millisecond)).To(Succeed())
	l.g.Expect(time.Since(began)).To(BeNumerically("<", time.Second))
}

// blockedClient is the ID of the client that waits for a list, by CLIENT LIST.
func blockedClient(list string) int64 {
	for line := range strings.Lines(list) {
		if strings.Contains(line, "cmd=blmove") {
			text, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
			id, _ := strconv.ParseInt(text, 10, 64)
			return id
		}
	}
	return 0
}
