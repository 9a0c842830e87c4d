package retry

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBackoff(t *testing.T) {
	for _, c := range []struct {
		n           int
		base, limit time.Duration
		jitter      float64
		random      float64
		want        time.Duration
	}{
		{n: 1, base: 10 * time.Second, limit: time.Hour, want: 20 * time.Second},
		{n: 2, base: 10 * time.Second, limit: time.Hour, want: 40 * time.Second},
		{n: 3, base: 10 * time.Second, limit: time.Hour, want: 80 * time.Second},
		{n: 9, base: 10 * time.Second, limit: time.Hour, want: time.Hour},
		{n: 1, base: 10 * time.Second, limit: 15 * time.Second, want: 15 * time.Second},
		{n: 100, base: time.Second, limit: time.Minute, want: time.Minute},
		{n: math.MaxInt, base: time.Second, limit: math.MaxInt64, want: math.MaxInt64},
		{n: 1, base: math.MaxInt64, limit: math.MaxInt64, want: math.MaxInt64},
		{n: 0, base: time.Second, limit: time.Minute, want: time.Second},
		{n: -5, base: time.Second, limit: time.Minute, want: time.Second},
		{n: 1, base: 0, limit: time.Minute, want: 0},
		{n: 1, base: -time.Second, limit: time.Minute, want: 0},
		{n: 1, base: time.Second, limit: -time.Minute, want: 0},
		{n: 1, base: 10 * time.Second, limit: time.Hour, jitter: 0.5, random: 1, want: 10 * time.Second},
		{n: 1, base: 10 * time.Second, limit: time.Hour, jitter: 0.5, random: 0, want: 20 * time.Second},
		{n: 1, base: 10 * time.Second, limit: time.Hour, jitter: 7, random: 1, want: 0},
	} {
		if got := Backoff(c.n, c.base, c.limit, c.jitter, func() float64 { return c.random }); got != c.want {
			t.Errorf("Backoff(%d, %s, %s, %v) with %v is %s, want %s", c.n, c.base, c.limit, c.jitter, c.random, got, c.want)
		}
	}
}

func TestBackoffStaysInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int().Draw(t, "n")
		base := time.Duration(rapid.Int64().Draw(t, "base"))
		limit := time.Duration(rapid.Int64().Draw(t, "limit"))
		jitter := rapid.Float64().Draw(t, "jitter")
		random := rapid.Float64Range(0, 1).Draw(t, "random")
		got := Backoff(n, base, limit, jitter, func() float64 { return random })
		if got < 0 || got > max(limit, 0) {
			t.Fatalf("%s is out of bounds", got)
		}
		if n < math.MaxInt && Backoff(n, base, limit, 0, nil) > Backoff(n+1, base, limit, 0, nil) {
			t.Fatalf("it falls as n grows")
		}
	})
}
