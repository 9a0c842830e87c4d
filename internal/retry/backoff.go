package retry

import "time"

const (
	// leastBase stands in for a base that isn't above 0: the smallest that the
	// API takes.
	leastBase = time.Second
	// leastDelay is what jitter always leaves.
	leastDelay = time.Millisecond
)

// Backoff is the pause before retry n, counted from 1: min(base * 2^n, limit), less
// a random part of at most the fraction jitter of it. rnd returns numbers from 0
// up to 1; nil means no jitter.
//
// The result is above 0 and at most limit for any input, and never falls as n
// grows while rnd returns the same. A base that isn't above 0 counts as one
// second, a limit that isn't above 0 as the base, an n below 0 as 0, a jitter
// outside of 0 to 1 as the nearer end.
func Backoff(n int, base, limit time.Duration, jitter float64, rnd func() float64) time.Duration {
	if base <= 0 {
		base = leastBase
	}
	if limit <= 0 {
		limit = base
	}
	d := doubled(min(base, limit), n, limit)
	if rnd == nil {
		return d
	}
	return d - taken(d, unit(jitter)*unit(rnd()))
}

// doubled returns min(d * 2^n, limit) for 0 < d <= limit.
func doubled(d time.Duration, n int, limit time.Duration) time.Duration {
	for ; n > 0; n-- {
		if d > limit/2 {
			return limit
		}
		d *= 2
	}
	return d
}

// taken returns the fraction of d, leaving at least leastDelay of it.
func taken(d time.Duration, fraction float64) time.Duration {
	most := max(d-leastDelay, 0)
	// The largest durations round up beyond the type when they become floats.
	f := float64(d) * fraction
	if f >= float64(most) {
		return most
	}
	return time.Duration(f)
}

// unit clamps to 0 to 1; what isn't a number becomes 0.
func unit(f float64) float64 {
	switch {
	case f >= 1:
		return 1
	case f > 0:
		return f
	default:
		return 0
	}
}
