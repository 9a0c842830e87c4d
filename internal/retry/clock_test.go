package retry

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// A pod whose clock is off retries neither early nor late.
func TestTheServersClockDecides(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{-5 * time.Minute, 5 * time.Minute, 1000 * time.Hour} {
		cfg := config(sharedServer(t))
		cfg.Now = func() time.Time { return time.Now().Round(0).Add(off) }
		l := openLane(t, cfg)
		l.g.Expect(l.Now()).To(BeTemporally("~", time.Now().Add(off), time.Second))
		l.g.Expect(l.Prepare(t.Context())).To(Succeed())
		l.g.Expect(l.Now()).To(BeTemporally("~", l.serverTime(), 200*time.Millisecond))
		l.g.Expect(l.Now().Location()).To(Equal(time.UTC))

		// A caller that reckons by Now.
		e := l.entry("j", 0)
		e.NotBefore = l.Now().Add(300 * time.Millisecond)
		l.push(e)
		l.g.Expect(l.take(1).Due).To(BeEmpty())
		l.g.Eventually(func() []Delivery { return l.take(1).Due }, 5*time.Second, time.Millisecond).Should(HaveLen(1))
		l.g.Expect(l.serverTime()).NotTo(BeTemporally("<", e.NotBefore))
	}
}

// The next measurement follows a clock that was set.
func TestAStepOfTheLocalClockIsFollowed(t *testing.T) {
	t.Parallel()
	off := time.Duration(0)
	cfg := config(sharedServer(t))
	cfg.Now = func() time.Time { return time.Now().Round(0).Add(off) }
	l := openLane(t, cfg)
	l.g.Expect(l.Prepare(t.Context())).To(Succeed())
	off = -time.Hour
	l.g.Expect(l.Now()).To(BeTemporally("~", time.Now().Add(off), time.Second))
	l.g.Expect(l.MeasureClock(t.Context())).To(Succeed())
	l.g.Expect(l.Now()).To(BeTemporally("~", l.serverTime(), 200*time.Millisecond))
}

func TestAReadingWithinItsErrorChangesNothing(t *testing.T) {
	g := NewWithT(t)
	local := eight
	c := newClock(func() time.Time { return local })
	at := func(d time.Duration) time.Time { return eight.Add(d) }

	// Two seconds ahead, told within 10 ms.
	c.measure(at(0), at(10*time.Millisecond), at(2005*time.Millisecond))
	g.Expect(c.now()).To(Equal(at(2 * time.Second)))
	// The same clocks, but the reply took a second and was sent at its very end.
	c.measure(at(time.Minute), at(time.Minute+time.Second), at(time.Minute+3*time.Second))
	g.Expect(c.now()).To(Equal(at(2 * time.Second)))
	// The server's clock went another second ahead.
	c.measure(at(2*time.Minute), at(2*time.Minute+10*time.Millisecond), at(2*time.Minute+3005*time.Millisecond))
	g.Expect(c.now()).To(Equal(at(3 * time.Second)))
}
