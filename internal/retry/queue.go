package retry

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Delivery is one entry in hand, under a lease.
type Delivery struct {
	// Raw are the entry's bytes.
	Raw []byte
	// Entry is what they say; zero if they can't be decoded, and Err then says why.
	Entry Entry
	Err   error
}

// Batch is what one pass took.
type Batch struct {
	// Due entries are to be worked on and then acknowledged or released.
	Due []Delivery
	// Poison entries can't be decoded and are to be buried.
	Poison []Delivery
	// NextDue is when the next parked entry is due, by the server's clock; zero if none is parked.
	NextDue time.Time
	// More tells that another pass would find something at once.
	More bool
}

// Push appends an entry to the list, by one command.
func (l *Lane) Push(ctx context.Context, e Entry) error {
	raw, err := e.Encode()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	if err := l.rdb.RPush(ctx, l.keys.retry, raw).Err(); err != nil {
		return fmt.Errorf("pushing the retry of job %s to %s: %w", e.JobID, l.keys.retry, err)
	}
	return nil
}

// Take parks new entries until they are due and takes up to limit due ones, each under a lease.
func (l *Lane) Take(ctx context.Context, limit int) (Batch, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	reply, err := takeScript.Run(ctx, l.rdb, []string{l.keys.retry, l.keys.parked, l.keys.leased},
		l.cfg.Lease.Milliseconds(), limit, Version, MaxEntryBytes).Slice()
	if err != nil {
		return Batch{}, fmt.Errorf("taking what is due from %s: %w", l.keys.retry, err)
	}
	var b Batch
	due, ok1 := reply[0].([]any)
	unreadable, ok2 := reply[1].([]any)
	next, ok3 := reply[2].(string)
	more, ok4 := reply[3].(int64)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return Batch{}, fmt.Errorf("taking what is due from %s: unexpected reply %v", l.keys.retry, reply)
	}
	for _, item := range append(due, unreadable...) {
		raw, _ := item.(string)
		d := Delivery{Raw: []byte(raw)}
		if d.Entry, d.Err = Decode(d.Raw); d.Err != nil {
			b.Poison = append(b.Poison, d)
		} else {
			b.Due = append(b.Due, d)
		}
	}
	if next != "" {
		ms, err := strconv.ParseFloat(next, 64)
		if err != nil {
			return Batch{}, fmt.Errorf("reading when the next entry of %s is due: %w", l.keys.parked, err)
		}
		b.NextDue = time.UnixMilli(int64(ms)).UTC()
	}
	b.More = more == 1
	return b, nil
}

// waitSlice bounds one blocking call, so that a stop doesn't wait for the server.
const waitSlice = time.Second

// Wait returns when the list has an entry, when the time has passed, or when the context ends, whichever is first. It takes
// nothing: moving the last entry onto its own place leaves the list as it was.
func (l *Lane) Wait(ctx context.Context, d time.Duration) error {
	deadline := time.Now().Add(d)
	for ctx.Err() == nil {
		left := time.Until(deadline)
		if left <= 0 {
			return nil
		}
		if left < 10*time.Millisecond {
			return pause(ctx, left)
		}
		// The client's own BLMove rounds up to whole seconds, which would make what is due late.
		slice := min(left, waitSlice, l.cfg.Timeout/2)
		err := l.rdb.Do(ctx, "BLMOVE", l.keys.retry, l.keys.retry, "RIGHT", "RIGHT", slice.Seconds()).Err()
		switch {
		case err == nil:
			return nil
		case errors.Is(err, redis.Nil):
		case ctx.Err() != nil:
			return ctx.Err()
		default:
			return fmt.Errorf("waiting for an entry in %s: %w", l.keys.retry, err)
		}
	}
	return ctx.Err()
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Ack ends an entry. One that is no longer in hand is none of the caller's any more, which is no error.
func (l *Lane) Ack(ctx context.Context, d Delivery) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	if err := l.rdb.ZRem(ctx, l.keys.leased, d.Raw).Err(); err != nil {
		return fmt.Errorf("acknowledging the retry of job %s: %w", d.Entry.JobID, err)
	}
	return nil
}

// Release puts an entry back, due at the given time by the server's clock.
func (l *Lane) Release(ctx context.Context, d Delivery, at time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	err := releaseScript.Run(ctx, l.rdb, []string{l.keys.parked, l.keys.leased}, d.Raw, at.UnixMilli()).Err()
	if err != nil {
		return fmt.Errorf("releasing the retry of job %s: %w", d.Entry.JobID, err)
	}
	return nil
}

// Flush moves up to limit parked entries, and those whose lease has ended, back to the list, for workers that read the list
// themselves. It returns how many were moved.
func (l *Lane) Flush(ctx context.Context, limit int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	n, err := flushScript.Run(ctx, l.rdb, []string{l.keys.retry, l.keys.parked, l.keys.leased}, limit).Int()
	if err != nil {
		return 0, fmt.Errorf("putting parked entries back on %s: %w", l.keys.retry, err)
	}
	return n, nil
}
