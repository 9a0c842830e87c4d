package retry

import (
	"context"
	"fmt"
)

// Push appends an entry to the list, by one command. It may be repeated after any
// error: the same entry adds nothing while the first one waits.
func (l *Lane) Push(ctx context.Context, e Entry) error {
	raw, err := e.Encode()
	if err != nil {
		return err
	}
	ctx, cancel := l.call(ctx)
	defer cancel()
	if err := l.rdb.RPush(ctx, l.keys.waiting, raw).Err(); err != nil {
		return l.failed(ctx, fmt.Sprintf("pushing the retry of job %q to %q", e.JobID, l.keys.waiting), err)
	}
	return nil
}
