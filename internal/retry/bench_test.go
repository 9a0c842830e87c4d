package retry

import (
	"fmt"
	"testing"
	"time"
)

// What a pass costs beside the least that a round trip can, a PING, however much is waiting.
func BenchmarkPass(b *testing.B) {
	for _, parked := range []int{1000, 10000, 100000} {
		l := newLane(b)
		l.anHourHence = l.entry("", time.Hour)
		l.fill(parked)
		due := l.entry("due", -time.Second)
		b.Run(fmt.Sprintf("idle/parked=%d", parked), func(b *testing.B) {
			l.besidePings(b, func() error {
				_, err := l.Take(b.Context(), 64)
				return err
			})
		})
		// A push, a pass and an acknowledgement.
		b.Run(fmt.Sprintf("one/parked=%d", parked), func(b *testing.B) {
			l.besidePings(b, func() error {
				if err := l.Push(b.Context(), due); err != nil {
					return err
				}
				batch, err := l.Take(b.Context(), 64)
				if err != nil {
					return err
				}
				if len(batch.Due) != 1 {
					return fmt.Errorf("%d entries are due", len(batch.Due))
				}
				return l.Ack(b.Context(), batch.Due[0])
			})
		})
	}
}

// besidePings measures something in PINGs.
func (l *lane) besidePings(b *testing.B, do func() error) {
	b.Helper()
	for b.Loop() {
		if err := do(); err != nil {
			b.Fatal(err)
		}
	}
	took := b.Elapsed()
	began := time.Now()
	for range b.N {
		if err := l.Ping(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(took)/float64(time.Since(began)), "x-ping")
}

func BenchmarkDeliver(b *testing.B) {
	l := newLane(b)
	const n = 5000
	e := l.entry("", -time.Second)
	for b.Loop() {
		b.StopTimer()
		entries := make([]Entry, n)
		for i := range entries {
			entries[i] = e
			entries[i].JobID, entries[i].Name = fmt.Sprintf("c1/team-a/d%d", i), fmt.Sprintf("d%d", i)
		}
		l.push(entries...)
		b.StartTimer()
		for more := true; more; {
			batch := l.take(64)
			for _, d := range batch.Due {
				if err := l.Ack(b.Context(), d); err != nil {
					b.Fatal(err)
				}
			}
			more = batch.More
		}
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "entries/s")
}
