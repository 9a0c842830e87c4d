package retry

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// What the user's own workers see on the list is the golden encoding, however often and from which zone it is pushed.
func TestPushWritesTheEncoding(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	elsewhere := anEntry()
	elsewhere.NotBefore = eight.In(time.FixedZone("east", 3600))
	l.g.Expect(l.Push(t.Context(), anEntry())).To(Succeed())
	l.g.Expect(l.Push(t.Context(), elsewhere)).To(Succeed())
	l.g.Expect(l.rdb.LRange(t.Context(), l.keys.waiting, 0, -1).Result()).To(Equal([]string{anEntryEncoded, anEntryEncoded}))
}

func TestPushRefusesWhatIsNoEntry(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	e := anEntry()
	e.Attempts = 0
	l.g.Expect(l.Push(t.Context(), e)).To(MatchError(ContainSubstring(`the retry of job "c1/team-a/j1" is no entry: attempts is 0`)))
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 0, 0, 0}))
}
