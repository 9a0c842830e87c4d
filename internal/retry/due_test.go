package retry

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

// cleared removes all entries, so that one lane serves many checks.
func (l *lane) cleared() {
	l.t.Helper()
	l.g.Expect(l.rdb.Del(l.t.Context(), l.keys.waiting, l.keys.parked, l.keys.leased).Err()).To(Succeed())
}

// The script and Go read the same time from whatever Encode writes, and the script can read all that Encode writes.
func TestNextDueIsTheDueTime(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	from := l.serverTime().Unix() + 3600
	last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix()
	rapid.Check(t, func(t *rapid.T) {
		l.cleared()
		e := anEntry()
		e.NotBefore = time.Unix(rapid.Int64Range(from, last).Draw(t, "s"), rapid.Int64Range(0, 999999999).Draw(t, "ns")).UTC()
		e.Account, e.Reason = rapid.String().Draw(t, "account"), rapid.String().Draw(t, "reason")
		l.push(e)
		batch := l.take(1)
		// To the millisecond, and never early.
		want := e.NotBefore.Add(time.Millisecond - 1).Truncate(time.Millisecond)
		if len(batch.Due)+len(batch.Poison) > 0 || !batch.NextDue.Equal(want) {
			t.Fatalf("%s is due at %s: %+v", e.NotBefore, want, batch)
		}
	})
}

// A text that is nearly a time is read by both alike, or the entry is set aside.
func TestDamagedTimesAreReadAlikeOrNotAtAll(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	rapid.Check(t, func(t *rapid.T) {
		l.cleared()
		text := []byte(time.Unix(rapid.Int64Range(4e9, 2e11).Draw(t, "s"), rapid.Int64Range(0, 999999999).Draw(t, "ns")).UTC().Format(time.RFC3339Nano))
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
			text[at] = rapid.SampledFrom([]byte("0123456789:.-+TZtz ")).Draw(t, "with")
		}
		raw := spoilt(`2026-03-01T08:00:00.005Z`, string(text))
		e, err := Decode([]byte(raw))
		l.pushRaw(raw)
		batch := l.take(1)
		switch {
		case len(batch.Poison) == 1:
			if err == nil {
				t.Fatalf("%s is a time, and the script can't read it", text)
			}
		case err != nil:
			// It would wait for a time that Go can't read.
			t.Fatalf("%s is no time, and the script reads %s", text, batch.NextDue)
		case len(batch.Due) == 1:
			if e.NotBefore.After(l.serverTime()) {
				t.Fatalf("%s isn't due", text)
			}
		case batch.NextDue.UnixMilli() != e.NotBefore.Add(time.Millisecond-1).UnixMilli():
			t.Fatalf("%s is read as %s", text, batch.NextDue)
		}
	})
}

// Whatever is pushed, taken and released: what is leased is due.
func TestWhatIsNotDueIsNeverLeased(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		for j := range random.IntN(4) {
			l.push(l.entry(fmt.Sprintf("j%d-%d", i, j), time.Duration(random.IntN(400)-200)*time.Millisecond))
		}
		batch := l.take(1 + random.IntN(3))
		raws, err := l.rdb.ZRange(t.Context(), l.keys.leased, 0, -1).Result()
		l.g.Expect(err).NotTo(HaveOccurred())
		now := l.serverTime()
		for _, raw := range raws {
			e, err := Decode([]byte(raw))
			l.g.Expect(err).NotTo(HaveOccurred())
			l.g.Expect(e.NotBefore).NotTo(BeTemporally(">", now))
		}
		for _, d := range batch.Due {
			if random.IntN(2) == 0 {
				l.g.Expect(l.Ack(t.Context(), d)).To(Succeed())
			} else {
				l.g.Expect(l.Release(t.Context(), d, now.Add(time.Duration(random.IntN(50))*time.Millisecond))).To(Succeed())
			}
		}
	}
}

// The script reads when it is due, and Go can't read the rest: it is poison when its time comes, and until then in nobody's way.
func TestPoisonWithADueTimeWaitsForIt(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	at := l.serverTime().Add(300 * time.Millisecond)
	raw := spoilt(`2026-03-01T08:00:00.005Z`, at.Format(time.RFC3339Nano))
	raw = strings.Replace(raw, `"attempts":2`, `"attempts":"two"`, 1)
	l.pushRaw(raw)
	l.push(l.entry("j", -time.Second))
	batch := l.take(10)
	l.g.Expect(names(batch.Due)).To(Equal([]string{"j"}))
	l.g.Expect(batch.Poison).To(BeEmpty())
	l.g.Eventually(func() []Delivery {
		batch = l.take(10)
		return batch.Poison
	}, 5*time.Second, time.Millisecond).Should(HaveLen(1))
	l.g.Expect(l.serverTime()).NotTo(BeTemporally("<", at))
	l.g.Expect(string(batch.Poison[0].Raw)).To(Equal(raw))
	l.g.Expect(batch.Poison[0].Err).To(MatchError(ContainSubstring("cannot unmarshal")))
}
