package main

import "time"

// await asks until the answer is yes, or until the time is up; it tells which.
func await(within time.Duration, isSo func() bool) bool {
	expired := time.NewTimer(within)
	defer expired.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !isSo() {
		select {
		case <-expired.C:
			return isSo()
		case <-again.C:
		}
	}
	return true
}
