package retry

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// However a URL with a password is broken, no message quotes a part of it.
func TestNoBrokenURLIsQuotedWithItsPassword(t *testing.T) {
	for _, url := range []string{
		"redis://user:hunter2@local host:6379/0",
		"redis://user:hunter2@localhost:six/0",
		"redis://user:hunter2%@localhost:6379/0",
		"redis://user:1/hunter2@localhost:6379/0",
		"redis://user:1/hunter2@localhost:6379",
		"redis://user:1?hunter2@localhost:6379/0",
		"redis://user:1?hunter2%40localhost",
		"redis://user:1#hunter2@localhost:6379/0",
		"redis+cluster://user:1/hunter2@localhost:6379",
		"http://user:hunter2@localhost:6379/0",
		"redis://user:hunter2@localhost:6379/zero",
		"redis://user:hunter2@localhost:6379/0?colour=red",
		"redis://localhost:6379?addr=redis://user:hunter2@localhost:6379",
		"redis+cluster://user:hunter2@localhost:6379?colour=red",
		"user:hunter2@localhost:6379",
	} {
		g := NewWithT(t)
		_, err := Open(Config{URL: url, RetryKey: "{jobs}:retry", DeadLetterKey: "{jobs}:dead", Owner: "c1", Timeout: time.Second, Lease: time.Minute})
		g.Expect(err).To(HaveOccurred(), url)
		g.Expect(err.Error()).NotTo(ContainSubstring("hunter2"), url)
	}
}

// Nor does any call, to a server that refuses it or isn't there.
func TestNoFailedCallQuotesThePassword(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	s.set("requirepass", "hunter3")
	socket := strings.TrimPrefix(s.url, "unix://")
	for url, says := range map[string]string{
		"unix://" + socket:                   "wants a password; put it into REDIS_URL",
		"unix://:hunter2@" + socket:          "refuses the user or password of REDIS_URL",
		"redis://user:hunter2@127.0.0.1:1/0": "in Redis at 127.0.0.1:1/0",
	} {
		g := NewWithT(t)
		cfg := config(url)
		cfg.Timeout = 500 * time.Millisecond
		l, err := Open(cfg)
		g.Expect(err).NotTo(HaveOccurred())
		_, take := l.Take(t.Context(), 1)
		_, depth := l.Depth(t.Context())
		_, lost := l.Lost(t.Context())
		for _, err := range []error{take, depth, lost, l.Prepare(t.Context()), l.Ping(t.Context()), l.Push(t.Context(), anEntry()),
			l.DeadLetter(t.Context(), aDeadEntry("a", 1)), l.Wait(t.Context(), time.Minute)} {
			g.Expect(err).To(MatchError(And(ContainSubstring(says), Not(ContainSubstring("hunter")))))
		}
		g.Expect(l.Close()).To(Succeed())
	}
}
