package retry

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestOpenRefusesWhatCannotWork(t *testing.T) {
	for says, spoil := range map[string]func(*Config){
		"set --cluster":                          func(c *Config) { c.Owner = "" },
		"set --store-timeout above 0":            func(c *Config) { c.Timeout = 0 },
		"set --retry-lease to 1s or more":        func(c *Config) { c.Lease = time.Millisecond },
		"need names":                             func(c *Config) { c.DeadLetterKey = "" },
		`would both use the key "jobs:retry"`:    func(c *Config) { c.DeadLetterKey = c.RetryKey },
		`would both use the key "d:owner"`:       func(c *Config) { c.RetryKey, c.DeadLetterKey = "d", "d:owner" },
		`would both use the key "d:index"`:       func(c *Config) { c.RetryKey, c.DeadLetterKey = "d:index", "d" },
		"no Redis URL":                           func(c *Config) { c.URL = "" },
		"special characters in the password":     func(c *Config) { c.URL = "redis://:se%cret@host" },
		"invalid URL scheme":                     func(c *Config) { c.URL = "http://:secret@host" },
		"invalid database number":                func(c *Config) { c.URL = "redis://:secret@host/x" },
		"unexpected option: colour":              func(c *Config) { c.URL = "redis://:secret@host/0?colour=red" },
		"unable to parse addr":                   func(c *Config) { c.URL = "redis://:secret@host?addr=x" },
		"both lists need one hash tag in common": func(c *Config) { c.URL = "redis+cluster://:secret@host" },
		`"{a}:retry" and "{b}:dead" have none`:   func(c *Config) { c.URL, c.RetryKey, c.DeadLetterKey = "redis://host?addr=b:1", "{a}:retry", "{b}:dead" },
		`"{}:retry" and "{}:dead" have none`:     func(c *Config) { c.URL, c.RetryKey, c.DeadLetterKey = "rediss+cluster://host", "{}:retry", "{}:dead" },
		`"jobs}{:retry" and "jobs}{:dead" have no`: func(c *Config) {
			c.URL, c.RetryKey, c.DeadLetterKey = "redis+cluster://host", "jobs}{:retry", "jobs}{:dead"
		},
	} {
		g := NewWithT(t)
		cfg := Config{URL: "redis://:secret@host:6379/0", RetryKey: "jobs:retry", DeadLetterKey: "jobs:dead-letter", Owner: "c1",
			Timeout: time.Second, Lease: time.Minute}
		spoil(&cfg)
		_, err := Open(cfg)
		g.Expect(err).To(MatchError(ContainSubstring(says)))
		g.Expect(err.Error()).NotTo(MatchRegexp("se%?cret"))
	}
}

func TestOpenTakesWhatCanWork(t *testing.T) {
	for _, c := range [][3]string{
		{"redis://host", "jobs:retry", "jobs:dead-letter"},
		{"rediss://user:secret@host:7000/3", "a", "b"},
		{"unix:///run/redis.sock?db=2", "a", "b"},
		{"redis+cluster://host", "{jobs}:retry", "{jobs}:dead-letter"},
		{"rediss+cluster://:secret@host", "x{jobs}", "{jobs}y{z}"},
		{"redis://host?addr=other:6379", "{jobs}:retry", "{jobs}:dead-letter"},
	} {
		g := NewWithT(t)
		l, err := Open(Config{URL: c[0], RetryKey: c[1], DeadLetterKey: c[2], Owner: "c1", Timeout: time.Second, Lease: time.Second})
		g.Expect(err).NotTo(HaveOccurred(), c[0])
		g.Expect(l.where).NotTo(ContainSubstring("secret"))
		g.Expect(l.Close()).To(Succeed())
	}
}

func TestALaneBelongsToOneCluster(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	other := l.cfg
	other.Owner = "c2"
	err := openLane(t, other).Prepare(t.Context())
	l.g.Expect(err).To(MatchError(ErrOwned))
	l.g.Expect(err).To(BeEquivalentTo(&OwnedError{Key: l.keys.owner, Owner: "c1", Want: "c2"}))
	l.g.Expect(err).To(MatchError(ContainSubstring(
		`belongs to cluster "c1" by the Redis key "%s", not to cluster "c2": give each cluster names of its own by --retry-key and --dead-letter-key`, l.keys.owner)))

	// Sharing the dead letters alone is sharing too, and claims nothing.
	other.RetryKey += ":2"
	second := openLane(t, other)
	l.g.Expect(second.Prepare(t.Context())).To(MatchError(ErrOwned))
	l.g.Expect(l.rdb.Exists(t.Context(), second.keys.owner).Val()).To(BeZero())

	l.g.Expect(l.twin().Prepare(t.Context())).To(Succeed())
}

func TestPrepareCostsNothingOnceItHasSucceeded(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	l := laneAt(t, s.url)
	l.g.Expect(s.rdb.ConfigResetStat(t.Context()).Err()).To(Succeed())
	for range 10 {
		l.g.Expect(l.Prepare(t.Context())).To(Succeed())
	}
	l.g.Expect(s.calls()).To(BeEmpty())
}

// FLUSHALL, or a server that came back with an empty disk.
func TestAnEmptiedServerIsFoundAndClaimedAgain(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	l := laneAt(t, s.url)
	l.die(aDeadEntry("a", 3))
	e := l.entry("j", -time.Second)
	l.push(e, l.entry("later", time.Hour))
	held := l.take(10).Due[0]
	l.g.Expect(s.rdb.ConfigResetStat(t.Context()).Err()).To(Succeed())
	l.g.Expect(l.Lost(t.Context())).To(BeFalse())
	l.g.Expect(s.calls()).To(Equal(map[string]int{"get": 1}))

	l.g.Expect(s.rdb.FlushAll(t.Context()).Err()).To(Succeed())
	l.g.Expect(l.Lost(t.Context())).To(BeTrue())
	l.g.Expect(l.Lost(t.Context())).To(BeTrue())

	// What was in hand ends quietly, and what should be there is pushed again.
	l.g.Expect(l.Ack(t.Context(), held)).To(Succeed())
	l.die(aDeadEntry("a", 3))
	l.g.Expect(l.Push(t.Context(), e)).To(Succeed())
	l.g.Expect(l.Prepare(t.Context())).To(Succeed())
	l.g.Expect(l.Lost(t.Context())).To(BeFalse())
	l.g.Expect(l.take(10).Due).To(Equal([]Delivery{held}))
	l.g.Expect(l.dead()).To(Equal([]string{"a 3"}))

	// Another cluster was faster.
	l.g.Expect(s.rdb.Set(t.Context(), l.keys.owner, "c2", 0).Err()).To(Succeed())
	_, err := l.Lost(t.Context())
	l.g.Expect(err).To(MatchError(ErrOwned))
	l.g.Expect(l.Prepare(t.Context())).To(MatchError(ErrOwned))
}

func TestOldServersAreRefused(t *testing.T) {
	g := NewWithT(t)
	for _, version := range []string{"6.2.0", "6.2.14", "7.0.15", "8.10.0", "10.0"} {
		g.Expect(serverInfo{"redis_version": version}.tooOld()).To(Succeed())
	}
	for _, version := range []string{"2.8.24", "5.0.14", "6.0.16"} {
		g.Expect(serverInfo{"redis_version": version}.tooOld()).To(MatchError(
			fmt.Sprintf("its version is %s; the retry lane needs 6.2 or newer", version)))
	}
	g.Expect(serverInfo{}.tooOld()).To(MatchError(ContainSubstring("can't be read")))
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	l := laneAt(t, s.url)
	l.g.Expect(l.Warnings(t.Context())).To(BeEmpty())
	s.set("maxmemory-policy", "volatile-lru")
	l.g.Expect(l.Warnings(t.Context())).To(BeEmpty())
	s.set("maxmemory-policy", "allkeys-lru")
	l.g.Expect(l.Warnings(t.Context())).To(ConsistOf(ContainSubstring("its maxmemory-policy is allkeys-lru; set it to noeviction")))
}

// A server that tells this user nothing about itself can still carry the lane.
func TestAUserWithoutINFO(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	l := laneAt(t, s.url)
	l.g.Expect(s.rdb.Do(t.Context(), "ACL", "SETUSER", "lane", "on", ">secret", "~*", "+@all", "-info").Err()).To(Succeed())
	cfg := config(strings.Replace(s.url, "unix://", "unix://lane:secret@", 1))
	narrow := openLane(t, cfg)
	l.g.Expect(narrow.Prepare(t.Context())).To(Succeed())
	l.g.Expect(narrow.Warnings(t.Context())).To(ConsistOf(ContainSubstring("may not run INFO")))

	// A wrong password and a missing permission are told apart.
	cfg.URL = strings.Replace(cfg.URL, "secret", "wrong", 1)
	l.g.Expect(openLane(t, cfg).Ping(t.Context())).To(MatchError(And(
		ContainSubstring("refuses the user or password of REDIS_URL"), Not(ContainSubstring("wrong@")))))
	l.g.Expect(s.rdb.Do(t.Context(), "ACL", "SETUSER", "lane", "-rpush").Err()).To(Succeed())
	l.g.Expect(narrow.Push(t.Context(), l.entry("j", 0))).To(MatchError(ContainSubstring("allow it the commands and the keys of the lane")))
}

// A name that something else uses.
func TestANameThatIsTaken(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	l.g.Expect(l.rdb.Set(t.Context(), l.keys.waiting, "x", 0).Err()).To(Succeed())
	says := MatchError(And(ContainSubstring("set --retry-key and --dead-letter-key to names that nobody else uses"), ContainSubstring("WRONGTYPE")))
	l.g.Expect(l.Push(t.Context(), l.entry("j", 0))).To(says)
	_, err := l.Take(t.Context(), 1)
	l.g.Expect(err).To(says)
	l.g.Expect(l.Wait(t.Context(), time.Minute)).To(says)
}
