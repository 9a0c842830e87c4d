package retry

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"
)

// shortLease is shorter than any that an operator may set.
const shortLease = 200 * time.Millisecond

// A consumer that dies with an entry in hand delays it by the lease, and no more.
func TestTheEntryOfADeadConsumerComesBack(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	l.lease = shortLease
	dying := l.twin()
	l.push(l.entry("j", -time.Second))
	taken := l.serverTime()
	batch := dying.take(1)
	l.g.Expect(names(batch.Due)).To(Equal([]string{"j"}))
	l.g.Expect(batch.NextDue).To(BeTemporally("~", taken.Add(shortLease), 100*time.Millisecond))
	l.g.Expect(dying.Close()).To(Succeed())

	l.g.Expect(l.take(1).Due).To(BeEmpty())
	l.g.Eventually(func() []string { return names(l.take(1).Due) }, 5*time.Second, time.Millisecond).Should(Equal([]string{"j"}))
	l.g.Expect(l.serverTime()).NotTo(BeTemporally("<", taken.Add(shortLease)))
}

// The reply that hands an entry over is lost while the caller's context ends.
func TestAnEntryOnItsWayToACallerThatIsGoneComesBack(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	l.lease = shortLease
	cfg := l.cfg
	var between *wire
	between, cfg.URL = newWire(t, cfg.URL)
	far := openLane(t, cfg)
	l.g.Expect(far.Prepare(t.Context())).To(Succeed())
	far.lease = shortLease
	l.push(l.entry("j", -time.Second))

	between.losing.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error)
	go func() {
		_, err := far.Take(ctx, 1)
		ended <- err
	}()
	l.g.Eventually(between.lost.Load).Should(BeNumerically(">", 0))
	cancel()
	l.g.Eventually(ended, 5*time.Second).Should(Receive(HaveOccurred()))
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 0, 1, 0}))
	l.g.Eventually(func() []string { return names(l.take(1).Due) }, 5*time.Second, time.Millisecond).Should(Equal([]string{"j"}))

	// The connection mends itself.
	between.losing.Store(false)
	_, err := far.Take(t.Context(), 1)
	l.g.Expect(err).NotTo(HaveOccurred())
}

// A push whose reply is lost is repeated, and the entry is there once.
func TestALostReplyToAPushIsNoSecondDelivery(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	cfg := l.cfg
	var between *wire
	between, cfg.URL = newWire(t, cfg.URL)
	far := openLane(t, cfg)
	l.g.Expect(far.Prepare(t.Context())).To(Succeed())

	e := l.entry("j", time.Hour)
	between.losing.Store(true)
	l.g.Expect(far.Push(t.Context(), e)).NotTo(Succeed())
	between.losing.Store(false)
	l.g.Expect(far.Push(t.Context(), e)).To(Succeed())
	l.take(10)
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 1, 0, 0}))
}

// Entry and lease are one member of one set, so that neither can be without the
// other. If somebody deletes both, nothing stands in the way of the next push.
func TestAVanishedLeaseBlocksNothing(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	e := l.entry("j", -time.Second)
	l.push(e)
	d := l.take(1).Due[0]
	l.g.Expect(l.rdb.Del(t.Context(), l.keys.leased).Err()).To(Succeed())

	l.push(e)
	l.g.Expect(l.take(1).Due).To(Equal([]Delivery{d}))

	// Its holder can still give it back, and can end it without an error.
	l.g.Expect(l.rdb.Del(t.Context(), l.keys.leased).Err()).To(Succeed())
	l.g.Expect(l.Release(t.Context(), d, l.serverTime().Add(-time.Second))).To(Succeed())
	l.g.Expect(l.take(1).Due).To(Equal([]Delivery{d}))
	l.g.Expect(l.rdb.Del(t.Context(), l.keys.leased).Err()).To(Succeed())
	l.g.Expect(l.Ack(t.Context(), d)).To(Succeed())
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 0, 0, 0}))
}

// A lease that never ends, since the clock went back or somebody wrote it, is cut
// to the length of one.
func TestALeaseThatIsTooLongIsCut(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	l.lease = shortLease
	l.push(l.entry("a", -time.Second), l.entry("b", -time.Second))
	due := l.take(2).Due
	l.g.Expect(due).To(HaveLen(2))
	year := float64(l.serverTime().AddDate(1, 0, 0).UnixMilli())
	l.g.Expect(l.rdb.ZAdd(t.Context(), l.keys.leased, redis.Z{Score: year, Member: due[0].Raw}).Err()).To(Succeed())
	l.g.Expect(l.rdb.Do(t.Context(), "ZADD", l.keys.leased, "+inf", due[1].Raw).Err()).To(Succeed())

	var back []string
	l.g.Eventually(func() []string {
		back = append(back, names(l.take(2).Due)...)
		return back
	}, 5*time.Second, time.Millisecond).Should(ConsistOf("a", "b"))
}

// A holder that is slower than its lease, but not dead.
func TestALateHolderHarmsNothing(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	l.lease = shortLease
	l.push(l.entry("j", -time.Second))
	d := l.take(1).Due[0]
	l.g.Eventually(func() []Delivery { return l.take(1).Due }, 5*time.Second, time.Millisecond).Should(Equal([]Delivery{d}))
	l.g.Expect(l.Ack(t.Context(), d)).To(Succeed())
	l.g.Expect(l.Ack(t.Context(), d)).To(Succeed())
	l.g.Expect(l.depth()).To(Equal([4]int64{0, 0, 0, 0}))
}

// A score that is no time, which only a person can have written, stops nothing.
func TestADamagedScoreStopsNothing(t *testing.T) {
	t.Parallel()
	l := newLane(t)
	raw, err := l.entry("damaged", -time.Second).Encode()
	l.g.Expect(err).NotTo(HaveOccurred())
	l.g.Expect(l.rdb.Do(t.Context(), "ZADD", l.keys.parked, "+inf", raw).Err()).To(Succeed())
	batch := l.take(1)
	l.g.Expect(batch.Due).To(BeEmpty())
	l.g.Expect(batch.NextDue).To(BeZero())
	l.push(l.entry("j", -time.Second))
	l.g.Expect(names(l.take(1).Due)).To(Equal([]string{"j"}))
}
