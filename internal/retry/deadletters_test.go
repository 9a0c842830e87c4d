package retry

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func aDeadEntry(name string, attempts int) DeadEntry {
	return DeadEntry{Version: 1, JobID: "c1/team-a/" + name, Cluster: "c1", Namespace: "team-a", Name: name, UID: "uid-" + name,
		Account: "acme", Cost: 25, Attempts: attempts, Reason: "OOMKilled", FirstFailedAt: eight, FailedAt: eight.Add(time.Hour)}
}

// dead are the dead letters as "name attempts", in order.
func (l *lane) dead() []string {
	l.t.Helper()
	out := []string{}
	for _, text := range l.letters() {
		var e DeadEntry
		l.g.Expect(json.Unmarshal([]byte(text), &e)).To(Succeed())
		out = append(out, fmt.Sprintf("%s %d", e.Name, e.Attempts))
	}
	return out
}

func (l *lane) die(entries ...DeadEntry) {
	l.t.Helper()
	for _, e := range entries {
		l.g.Expect(l.DeadLetter(l.t.Context(), e)).To(Succeed())
	}
}

func TestAJobHasOneDeadLetter(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	l.die(aDeadEntry("a", 3), aDeadEntry("b", 1), aDeadEntry("a", 3), aDeadEntry("c", 2))
	l.g.Expect(l.dead()).To(Equal([]string{"a 3", "b 1", "c 2"}))

	// After a redrive it died again.
	l.die(aDeadEntry("b", 5))
	l.g.Expect(l.dead()).To(Equal([]string{"a 3", "b 5", "c 2"}))

	l.g.Expect(l.RemoveDeadLetter(t.Context(), "c1/team-a/b")).To(Succeed())
	l.g.Expect(l.RemoveDeadLetter(t.Context(), "c1/team-a/b")).To(Succeed())
	l.g.Expect(l.RemoveDeadLetter(t.Context(), "c1/team-a/nobody")).To(Succeed())
	l.g.Expect(l.dead()).To(Equal([]string{"a 3", "c 2"}))
	l.die(aDeadEntry("b", 5))
	l.g.Expect(l.dead()).To(Equal([]string{"a 3", "c 2", "b 5"}))
}

// People edit the list. What they take off stays off until the job dies again; a list that is gone comes back whole.
func TestDeadLettersAreRebuilt(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	all := []DeadEntry{aDeadEntry("a", 3), aDeadEntry("b", 1), aDeadEntry("c", 2)}
	l.die(all...)
	letters := l.letters()

	// The whole list.
	l.g.Expect(l.rdb.Del(t.Context(), l.keys.dead).Err()).To(Succeed())
	l.die(all...)
	l.die(all...)
	l.g.Expect(l.letters()).To(Equal(letters))

	// One letter.
	l.g.Expect(l.rdb.LRem(t.Context(), l.keys.dead, 1, letters[1]).Err()).To(Succeed())
	l.die(all...)
	l.die(all...)
	l.g.Expect(l.dead()).To(Equal([]string{"a 3", "c 2"}))
	l.die(aDeadEntry("b", 2))
	l.g.Expect(l.dead()).To(Equal([]string{"a 3", "c 2", "b 2"}))

	// One letter, of a job that died again since.
	l.g.Expect(l.rdb.LRem(t.Context(), l.keys.dead, 1, letters[0]).Err()).To(Succeed())
	l.die(aDeadEntry("a", 7))
	l.g.Expect(l.dead()).To(Equal([]string{"c 2", "b 2", "a 7"}))

	// The index.
	l.g.Expect(l.rdb.Del(t.Context(), l.keys.deadIndex).Err()).To(Succeed())
	l.die(aDeadEntry("a", 7), aDeadEntry("b", 2), all[2])
	l.g.Expect(l.dead()).To(Equal([]string{"c 2", "b 2", "a 7"}))
	l.g.Expect(l.RemoveDeadLetter(t.Context(), "c1/team-a/b")).To(Succeed())
	l.g.Expect(l.dead()).To(Equal([]string{"c 2", "a 7"}))

	// Something of their own among them.
	l.g.Expect(l.rdb.RPush(t.Context(), l.keys.dead, `{"name":"note"}`).Err()).To(Succeed())
	l.die(all[1], aDeadEntry("a", 7))
	l.g.Expect(l.dead()).To(Equal([]string{"c 2", "a 7", "note 0", "b 1"}))

	// One letter taken off and a note put in: the list is as long as its index, and new letters still come once.
	l.g.Expect(l.rdb.LPop(t.Context(), l.keys.dead).Err()).To(Succeed())
	l.die(all[2], aDeadEntry("d", 1), aDeadEntry("d", 1))
	l.g.Expect(l.dead()).To(Equal([]string{"a 7", "note 0", "b 1", "d 1"}))

	// Poison on a list that was deleted hides no lost letter.
	l.g.Expect(l.rdb.Del(t.Context(), l.keys.dead).Err()).To(Succeed())
	l.pushRaw("hello")
	poisoned := l.take(1).Poison[0]
	l.g.Expect(l.Bury(t.Context(), poisoned, poisoned.Err)).To(Succeed())
	l.die(all...)
	l.g.Expect(l.dead()).To(Equal([]string{" 0", "a 3", "b 1", "c 2"}))
}

// Nothing trims the list.
func TestDeadLettersHaveNoCap(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	for i := range 3000 {
		l.die(aDeadEntry(fmt.Sprintf("j%d", i), 1))
	}
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 0, 0, 3000}))
	l.g.Expect(l.dead()[0]).To(Equal("j0 1"))
}

// A dead letter stands in the way of no new run of the same job.
func TestADeadLetterBlocksNoRetry(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	l.die(aDeadEntry("a", 3))
	redriven := l.entry("a", -time.Second)
	redriven.Attempts = 4
	l.push(redriven)
	batch := l.take(1)
	l.g.Expect(names(batch.Due)).To(Equal([]string{"a"}))
	l.g.Expect(batch.Due[0].Entry.Attempts).To(Equal(4))
	l.g.Expect(l.Ack(t.Context(), batch.Due[0])).To(Succeed())
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 0, 0, 1}))
}
