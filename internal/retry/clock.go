package retry

import (
	"context"
	"sync/atomic"
	"time"
)

// clock tells the server's time from one measurement and the local clock.
type clock struct {
	local    func() time.Time
	measured atomic.Pointer[reading]
}

// reading is one moment on both clocks.
type reading struct{ local, server time.Time }

func newClock(local func() time.Time) clock {
	if local == nil {
		local = time.Now
	}
	return clock{local: local}
}

func (c *clock) now() time.Time {
	local, m := c.local(), c.measured.Load()
	if m == nil {
		return local.UTC()
	}
	// The local time that passed is monotonic where the clock is time.Now, so
	// that a step of the local clock doesn't move due times.
	return m.server.Add(local.Sub(m.local))
}

// measure takes a reading. The server's time was read at some moment between
// began and ended.
func (c *clock) measure(began, ended, server time.Time) {
	half := ended.Sub(began) / 2
	middle := began.Add(half)
	// Two clocks that agree within the error of this reading are left alone, so
	// that a slow reply doesn't spoil a better reading.
	if m := c.measured.Load(); m != nil && m.server.Add(middle.Sub(m.local)).Sub(server).Abs() <= half {
		return
	}
	c.measured.Store(&reading{local: middle, server: server.UTC()})
}

// Now is the time by the Redis server's clock, as it was last measured; by the
// local one as long as it wasn't. It sends no command.
func (l *Lane) Now() time.Time { return l.clock.now() }

// MeasureClock compares the server's clock with the local one, by one command.
// The error is at most half of the round trip.
func (l *Lane) MeasureClock(ctx context.Context) error {
	ctx, cancel := l.call(ctx)
	defer cancel()
	node, err := l.node(ctx)
	if err != nil {
		return l.failed(ctx, "finding the node that holds the lane", err)
	}
	began := l.clock.local()
	server, err := node.Time(ctx).Result()
	if err != nil {
		return l.failed(ctx, "reading the clock", err)
	}
	l.clock.measure(began, l.clock.local(), server)
	return nil
}
