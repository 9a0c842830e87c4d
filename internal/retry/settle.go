package retry

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// Ack ends an entry in hand, by one command. One whose lease has ended is none of
// the caller's any more, which is no error.
func (l *Lane) Ack(ctx context.Context, d Delivery) error {
	ctx, cancel := l.call(ctx)
	defer cancel()
	if err := l.rdb.ZRem(ctx, l.keys.leased, d.Raw).Err(); err != nil {
		return l.failed(ctx, fmt.Sprintf("acknowledging the retry of job %q", d.Entry.JobID), err)
	}
	return nil
}

// Release puts an entry in hand back, due at the given time by the server's clock;
// at once if that has passed. It doesn't matter whether the lease has ended.
func (l *Lane) Release(ctx context.Context, d Delivery, at time.Time) error {
	ctx, cancel := l.call(ctx)
	defer cancel()
	err := releaseScript.Run(ctx, l.rdb, []string{l.keys.parked, l.keys.leased}, d.Raw, score(at)).Err()
	if err != nil {
		return l.failed(ctx, fmt.Sprintf("releasing the retry of job %q", d.Entry.JobID), err)
	}
	return nil
}

// score is a time in milliseconds, rounded up so that nothing is due early.
func score(at time.Time) string {
	ms := at.UnixMilli()
	if at.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return strconv.FormatInt(ms, 10)
}
