package retry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// peekTime is how long one blocking command lasts.
	peekTime = 5 * time.Second
	// fullPause is the time between two looks at a server that is full.
	fullPause = time.Second
)

// Wait returns when the list has an entry or when d has passed, and takes nothing.
// It may also return early without an entry. When the context ends it returns its
// error at once.
func (l *Lane) Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		p := l.peeker.peek()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return nil
		case <-p.done:
		}
		l.peeker.forget(p)
		switch {
		case p.err == nil:
			return nil
		case errors.Is(p.err, redis.Nil), strings.HasPrefix(p.err.Error(), "UNBLOCKED "):
			// Nothing came in the time of one command.
		case strings.Contains(p.err.Error(), "OOM command not allowed"):
			// A full server refuses BLMOVE even where it would move nothing, while
			// entries can still be taken: look again and again instead.
			return sleep(ctx, min(d, fullPause))
		default:
			return l.failed(context.Background(), fmt.Sprintf("waiting for an entry in %q", l.keys.waiting), p.err)
		}
	}
}

// peeker waits for the list to have an entry, on a connection of its own. BLMOVE
// from the end of the list to the same end blocks while the list is empty and
// moves nothing.
//
// A command outlives the Wait that sent it, since nothing but closing the
// connection ends it before its time, and the next Wait goes on with it. So no
// Wait is held up by it, whether its time is up or its context ends.
type peeker struct {
	rdb     redis.UniversalClient
	list    string
	timeout time.Duration

	mu  sync.Mutex
	now *peek
}

// peek is one blocking command. err may be read once done is closed.
type peek struct {
	done chan struct{}
	err  error
}

// peek returns the command that is under way, or that has ended without anybody
// knowing; a new one if there is none.
func (p *peeker) peek() *peek {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now == nil {
		p.now = &peek{done: make(chan struct{})}
		go p.run(p.now)
	}
	return p.now
}

func (p *peeker) run(one *peek) {
	defer close(one.done)
	// A server that has vanished doesn't answer at the end of the time either.
	ctx, cancel := context.WithTimeout(context.Background(), peekTime+p.timeout)
	defer cancel()
	one.err = p.rdb.BLMove(ctx, p.list, p.list, "RIGHT", "RIGHT", peekTime).Err()
}

// forget drops a command whose end is known now.
func (p *peeker) forget(one *peek) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now == one {
		p.now = nil
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
