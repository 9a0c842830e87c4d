package retry

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// fill parks n entries that are due in an hour.
func (l *lane) fill(n int) {
	l.t.Helper()
	entries := make([]Entry, 0, n)
	for i := range n {
		e := l.anHourHence
		e.JobID, e.Name = fmt.Sprintf("c1/team-a/w%d", i), fmt.Sprintf("w%d", i)
		entries = append(entries, e)
	}
	l.push(entries...)
	for more := true; more; {
		more = l.take(1).More
	}
	l.g.Expect(l.depth()).To(Equal([4]int64{0, int64(n), 0, 0}))
}

// The commands that a pass runs on the server, those inside of the script
// included, follow what is new and what is due, and not what waits.
func TestThePassCostsWhatIsNewAndDue(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	cost := func(parked int) (idle, busy, push map[string]int) {
		l := laneAt(t, s.url)
		l.anHourHence = l.entry("", time.Hour)
		l.fill(parked)
		count := func(do func()) map[string]int {
			l.g.Expect(s.rdb.ConfigResetStat(t.Context()).Err()).To(Succeed())
			do()
			return s.calls()
		}
		idle = count(func() { l.take(64) })
		due, later := l.entry("due", -time.Second), l.entry("later", time.Minute)
		l.push(due, later)
		busy = count(func() { l.g.Expect(names(l.take(64).Due)).To(Equal([]string{"due"})) })
		push = count(func() { l.g.Expect(l.Push(t.Context(), later)).To(Succeed()) })
		return idle, busy, push
	}
	g := NewWithT(t)
	few, fewBusy, push := cost(10)
	many, manyBusy, _ := cost(10000)
	g.Expect(many).To(Equal(few))
	g.Expect(manyBusy).To(Equal(fewBusy))
	g.Expect(push).To(Equal(map[string]int{"rpush": 1}))
	g.Expect(many).To(Equal(map[string]int{"evalsha": 1, "time": 1, "zremrangebyrank": 1, "zrangebyscore": 3, "lrange": 1, "zrange": 2, "llen": 1}))
	// A new entry costs a look and a write if it isn't due, two writes if it is, and all of them one LTRIM.
	g.Expect(manyBusy).To(Equal(map[string]int{"evalsha": 1, "time": 1, "zremrangebyrank": 1, "zrangebyscore": 3, "lrange": 1, "zrange": 2, "llen": 1,
		"zadd": 2, "zscore": 1, "zrem": 1, "ltrim": 1}))
}
