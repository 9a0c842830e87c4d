package retry

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// poison is what can't be decoded, and what is said about it.
var poison = map[string]string{
	"":                                "unexpected end",
	"hello":                           "invalid character",
	"\xff\xfe\x00":                    "isn't UTF-8",
	"[]":                              "cannot unmarshal",
	`{"version":1}`:                   "not_before is missing",
	strings.Repeat("[", 5000):         "unexpected end",
	"x" + strings.Repeat("a", 64<<10): "at most 65536 are read",
	`{"version":2,"not_before":"2099-01-01T00:00:00Z"}`:             "version is 2, and this release reads version 1",
	spoilt(`2026-03-01T08:00:00.005Z`, `2099-01-01T00:00:00+00:00`): "give an RFC 3339 time in UTC with a Z",
	spoilt(`2026-03-01T08:00:00.005Z`, `2099-13-01T00:00:00Z`):      "give an RFC 3339 time in UTC with a Z",
	spoilt(`2026-03-01T08:00:00.005Z`, `2099-02-29T00:00:00Z`):      "give an RFC 3339 time in UTC with a Z",
	spoilt(`2026-03-01T08:00:00.005Z`, `2099-01-01T24:00:00Z`):      "give an RFC 3339 time in UTC with a Z",
	spoilt(`2026-03-01T08:00:00.005Z`, `2099-01-01T00:00:001Z`):     "not_before",
	spoilt(`2026-03-01T08:00:00.005Z`, `2099-01-01T00:00:00.Z`):     "not_before",
	spoilt(`2026-03-01T08:00:00.005Z`, `tomorrow`):                  "not_before",
	spoilt(`"2026-03-01T08:00:00.005Z"`, `1772352000`):              "not_before",
	// It decodes, but a second field by the same name hides the time by which it was sorted.
	spoilt(`"reason"`, `"Not_Before":"2099-01-01T00:00:00Z","reason"`): "was read as another time where it was sorted",
	// It decodes, but its due time is not where the script looks for it.
	spoilt(`"not_before":"2026-03-01T08`, `"NOT_BEFORE":"2099-03-01T08`): "can't be read where it was sorted",
	// It decodes, but the script's reader refuses half of a surrogate pair.
	spoilt(`"OOM`, `"\ud800OOM`): "can't be read where it was sorted",
}

func spoilt(old, replacement string) string {
	return strings.Replace(anEntryEncoded, old, replacement, 1)
}

// Entries that can't be decoded stand at the head of the list, and the rest goes on.
func TestPoisonBlocksNothing(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	for raw := range poison {
		l.pushRaw(raw)
	}
	l.push(l.entry("good", -time.Second), l.entry("later", time.Hour))

	batch := l.take(100)
	l.g.Expect(names(batch.Due)).To(Equal([]string{"good"}))
	l.g.Expect(batch.Poison).To(HaveLen(len(poison)))
	for _, d := range batch.Poison {
		l.g.Expect(d.Entry).To(BeZero())
		l.g.Expect(d.Err).To(MatchError(ErrUndecodable))
		l.g.Expect(d.Err).To(MatchError(ContainSubstring(poison[string(d.Raw)])), "%.100q", d.Raw)
		l.g.Expect(l.Bury(t.Context(), d, d.Err)).To(Succeed())
	}
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 1, 1, int64(len(poison))}))

	// They lie there with their bytes.
	set := map[string]bool{}
	for _, text := range l.letters() {
		var letter PoisonEntry
		l.g.Expect(json.Unmarshal([]byte(text), &letter)).To(Succeed())
		l.g.Expect(letter.Version).To(Equal(1))
		l.g.Expect(letter.Error).To(ContainSubstring("can't be"))
		l.g.Expect(letter.At).To(BeTemporally("~", l.serverTime(), 10*time.Second))
		set[string(letter.Raw)] = true
	}
	l.g.Expect(set).To(HaveLen(len(poison)))
	for raw := range poison {
		l.g.Expect(set).To(HaveKey(raw))
	}
}

// What is said of a poisoned entry is part of a contract with people's tools.
func TestAPoisonLetter(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	l.pushRaw("hello")
	d := l.take(1).Poison[0]
	l.g.Expect(l.Bury(t.Context(), d, d.Err)).To(Succeed())
	var letter map[string]any
	l.g.Expect(json.Unmarshal([]byte(l.letters()[0]), &letter)).To(Succeed())
	l.g.Expect(letter).To(HaveKeyWithValue("version", 1.0))
	l.g.Expect(letter).To(HaveKeyWithValue("raw", "aGVsbG8="))
	l.g.Expect(letter).To(HaveKeyWithValue("error", "the entry can't be decoded: invalid character 'h' looking for beginning of value"))
	l.g.Expect(letter).To(HaveKey("at"))
	l.g.Expect(letter).To(HaveLen(4))
}

func TestPoisonIsBuriedOnce(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	l.pushRaw("hello")
	d := l.take(1).Poison[0]
	// A lost reply, a second consumer after the lease, the same bytes again.
	l.g.Expect(l.Bury(t.Context(), d, d.Err)).To(Succeed())
	l.g.Expect(l.Bury(t.Context(), d, d.Err)).To(Succeed())
	l.pushRaw("hello")
	d = l.take(1).Poison[0]
	l.g.Expect(l.Bury(t.Context(), d, d.Err)).To(Succeed())
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 0, 0, 1}))

	// Once somebody took it off the list, it is news again.
	l.g.Expect(l.rdb.LPop(t.Context(), l.keys.dead).Err()).To(Succeed())
	l.g.Expect(l.Bury(t.Context(), d, d.Err)).To(Succeed())
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 0, 0, 1}))

	// Also where a note in its place hides that it is gone: its bytes would be nowhere.
	l.g.Expect(l.rdb.LSet(t.Context(), l.keys.dead, 0, "a note").Err()).To(Succeed())
	l.g.Expect(l.Bury(t.Context(), d, d.Err)).To(Succeed())
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 0, 0, 2}))
}

// A consumer that dies before it buried one, and poison without room in a pass.
func TestPoisonComesBackAsPoison(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	l.lease = shortLease
	early := spoilt(`"not_before":"2026-03-01T08`, `"NOT_BEFORE":"2099-03-01T08`)
	l.pushRaw("hello", early)
	l.g.Expect(l.take(1).Poison).To(HaveLen(1))
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 1, 1, 0}))
	var back []string
	l.g.Eventually(func() []string {
		batch := l.take(2)
		l.g.Expect(batch.Due).To(BeEmpty())
		for _, d := range batch.Poison {
			back = append(back, string(d.Raw))
		}
		return back
	}, 5*time.Second, time.Millisecond).Should(ContainElements("hello", early))
}

func TestLongReasonsAreCut(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	l.pushRaw("hello")
	d := l.take(1).Poison[0]
	l.g.Expect(l.Bury(t.Context(), d, &OwnedError{Owner: strings.Repeat("x", 1<<20)})).To(Succeed())
	l.g.Expect(len(l.letters()[0])).To(BeNumerically("<", 500))
}
