package retry

import "time"

// Backoff is the pause before retry n, counted from 1: the smaller of base * 2^n and limit, less a random part of up to
// jitter (from 0 to 1) of it; random returns numbers from 0 to 1. For every n and every pair of durations the result is at
// least 0 and at most limit, and without jitter it never falls as n grows. Doubling stops at the limit, so that no product
// overflows.
func Backoff(n int, base, limit time.Duration, jitter float64, random func() float64) time.Duration {
	if limit <= 0 || base <= 0 {
		return 0
	}
	pause := min(base, limit)
	for range max(n, 0) {
		if pause > limit/2 {
			pause = limit
			break
		}
		pause *= 2
	}
	if jitter <= 0 || random == nil {
		return pause
	}
	off := time.Duration(float64(pause) * min(jitter, 1) * min(max(random(), 0), 1))
	return max(pause-off, 0)
}
