package main

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// progressEvery is short enough that nobody takes a long build for a hung one.
const progressEvery = 15 * time.Second

var started = time.Now()

// say writes a line for people. Standard output is left to what other programs read.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "[%5.1fs] %s\n", time.Since(started).Seconds(), fmt.Sprintf(format, args...))
}

// progress says what has begun and goes on saying that it runs, until the returned function is called.
func progress(what string) (done func()) {
	say("%s", what)
	begun := time.Now()
	stop := make(chan struct{})
	go func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				say("%s: still at it after %s", what, time.Since(begun).Round(time.Second))
			}
		}
	}()
	return sync.OnceFunc(func() { close(stop) })
}
