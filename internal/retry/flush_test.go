package retry

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// With the consumer off, workers of the user's own read the list.
func TestFlushPutsEverythingBackOnTheList(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	l.lease = shortLease
	var entries []Entry
	for i := range 1100 {
		entries = append(entries, l.entry(fmt.Sprintf("j%04d", i), time.Hour))
	}
	l.push(entries...)
	l.push(l.entry("dead holder", -time.Second))
	held := l.take(100)
	for more := held.More; more; {
		batch := l.take(100)
		held.Due, more = append(held.Due, batch.Due...), batch.More
	}
	l.g.Expect(names(held.Due)).To(Equal([]string{"dead holder"}))
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 1100, 1, 0}))

	l.g.Expect(l.Flush(t.Context(), 700)).To(Equal(700))
	l.g.Expect(l.depth()).To(Equal([4]int64{700, 400, 1, 0}))
	// A lease that runs is left to its holder.
	total := 700
	l.g.Eventually(func() int {
		n, err := l.Flush(t.Context(), 10000)
		l.g.Expect(err).NotTo(HaveOccurred())
		total += n
		return total
	}, 5*time.Second, time.Millisecond).Should(Equal(1101))
	l.g.Expect(l.depth()).To(Equal([4]int64{1101, 0, 0, 0}))
	l.g.Expect(l.Flush(t.Context(), 100)).To(Equal(0))

	// The bytes are what the producer wrote.
	seen := map[string]bool{}
	raws, err := l.rdb.LRange(t.Context(), l.keys.waiting, 0, -1).Result()
	l.g.Expect(err).NotTo(HaveOccurred())
	for _, raw := range raws {
		seen[raw] = true
	}
	l.g.Expect(seen).To(HaveLen(1101))
	for _, e := range entries {
		raw, err := e.Encode()
		l.g.Expect(err).NotTo(HaveOccurred())
		l.g.Expect(seen).To(HaveKey(string(raw)))
	}

	// An old replica still parks: once more.
	l.take(1)
	l.g.Expect(l.Flush(t.Context(), 10000)).To(BeNumerically(">", 500))
}
