package retry

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

func TestBackoff(t *testing.T) {
	const longest = time.Duration(math.MaxInt64)
	for _, c := range []struct {
		n              int
		base, limit    time.Duration
		jitter, random float64
		want           time.Duration
	}{
		{n: 1, base: 10 * time.Second, limit: time.Hour, want: 20 * time.Second},
		{n: 2, base: 10 * time.Second, limit: time.Hour, want: 40 * time.Second},
		{n: 8, base: 10 * time.Second, limit: time.Hour, want: 2560 * time.Second},
		{n: 9, base: 10 * time.Second, limit: time.Hour, want: time.Hour},
		{n: 1, base: 10 * time.Second, limit: 15 * time.Second, want: 15 * time.Second},
		{n: 1, base: time.Hour, limit: time.Minute, want: time.Minute},
		{n: 100, base: time.Second, limit: time.Minute, want: time.Minute},
		{n: 63, base: 1, limit: longest, want: longest},
		{n: math.MaxInt, base: time.Second, limit: longest, want: longest},
		{n: 1, base: longest, limit: longest, want: longest},
		{n: 0, base: time.Second, limit: time.Minute, want: time.Second},
		{n: -5, base: time.Second, limit: time.Minute, want: time.Second},
		{n: math.MinInt, base: time.Second, limit: time.Minute, want: time.Second},

		// Bad input hammers nobody.
		{n: 1, base: 0, limit: time.Minute, want: 2 * time.Second},
		{n: 1, base: -time.Hour, limit: time.Minute, want: 2 * time.Second},
		{n: 5, base: time.Second, limit: 0, want: time.Second},
		{n: 5, base: time.Second, limit: -time.Minute, want: time.Second},
		{n: 5, base: math.MinInt64, limit: math.MinInt64, want: time.Second},

		{n: 1, base: 10 * time.Second, limit: time.Hour, jitter: 0.5, random: 1, want: 10 * time.Second},
		{n: 1, base: 10 * time.Second, limit: time.Hour, jitter: 0.5, random: 0.5, want: 15 * time.Second},
		{n: 1, base: 10 * time.Second, limit: time.Hour, jitter: 0.5, random: 0, want: 20 * time.Second},
		{n: 1, base: 10 * time.Second, limit: time.Hour, jitter: 7, random: 1, want: time.Millisecond},
		{n: 1, base: 10 * time.Second, limit: time.Hour, jitter: -1, random: 1, want: 20 * time.Second},
		{n: 1, base: 10 * time.Second, limit: time.Hour, jitter: math.NaN(), random: 1, want: 20 * time.Second},
		{n: 1, base: longest, limit: longest, jitter: 1, random: 1, want: time.Millisecond},
	} {
		if got := Backoff(c.n, c.base, c.limit, c.jitter, func() float64 { return c.random }); got != c.want {
			t.Errorf("Backoff(%d, %s, %s, %v) with %v is %s, want %s", c.n, c.base, c.limit, c.jitter, c.random, got, c.want)
		}
	}
}

func TestBackoffIsAboveZeroAndNeverAboveTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int().Draw(t, "n")
		base := time.Duration(rapid.Int64().Draw(t, "base"))
		limit := time.Duration(rapid.Int64().Draw(t, "limit"))
		jitter, random := rapid.Float64().Draw(t, "jitter"), rapid.Float64().Draw(t, "random")
		got := Backoff(n, base, limit, jitter, func() float64 { return random })
		if got <= 0 || limit > 0 && got > limit {
			t.Fatalf("%s is out of bounds", got)
		}
		if n < math.MaxInt && got > Backoff(n+1, base, limit, jitter, func() float64 { return random }) {
			t.Fatalf("it falls as n grows")
		}
		if got > Backoff(n, base, limit, 0, nil) {
			t.Fatalf("jitter adds")
		}
	})
}

// A thousand jobs that fail together don't come back together.
func TestJitterSpreads(t *testing.T) {
	g := NewWithT(t)
	spread := func() (buckets [10]int) {
		rnd := rand.New(rand.NewPCG(1, 2))
		for range 1000 {
			d := Backoff(3, 10*time.Second, time.Hour, 1, rnd.Float64)
			buckets[min(int(d/(8*time.Second)), 9)]++
		}
		return buckets
	}
	for i, n := range spread() {
		g.Expect(n).To(BeNumerically("~", 100, 40), "tenth %d of the window", i)
	}
	g.Expect(spread()).To(Equal(spread()))
}
