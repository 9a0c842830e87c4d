package retry

import (
	"context"
	"fmt"
)

// flushBatch bounds one script.
const flushBatch = 500

// Flush moves up to limit parked entries, due or not, and entries whose lease has
// ended back to the list, for workers that read the list themselves. It returns
// how many it moved, also beside an error.
func (l *Lane) Flush(ctx context.Context, limit int) (moved int, err error) {
	for moved < limit {
		want := min(limit-moved, flushBatch)
		n, err := l.flush(ctx, want)
		moved += n
		if err != nil || n < want {
			return moved, err
		}
	}
	return moved, nil
}

func (l *Lane) flush(ctx context.Context, limit int) (int, error) {
	ctx, cancel := l.call(ctx)
	defer cancel()
	n, err := flushScript.Run(ctx, l.rdb, []string{l.keys.waiting, l.keys.parked, l.keys.leased},
		limit, l.lease.Milliseconds()).Int()
	if err != nil {
		return 0, l.failed(ctx, fmt.Sprintf("putting parked entries back on %q", l.keys.waiting), err)
	}
	return n, nil
}
