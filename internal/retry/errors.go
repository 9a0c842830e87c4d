package retry

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// What callers tell apart. Any other error means that the server could not be
// asked or its answer was lost: call again.
var (
	// ErrFull: the server has no memory left and took nothing new.
	ErrFull = errors.New("the server is full and takes nothing new; raise its maxmemory or remove data")
	// ErrReadOnly: the server is a replica and took nothing.
	ErrReadOnly = errors.New("the server is a read-only replica; let REDIS_URL lead to the primary")
	// ErrOwned: the lane belongs to another cluster. Permanent. See OwnedError.
	ErrOwned = errors.New("the retry lane belongs to another cluster")
)

var errNoPassword = errors.New("the server wants a password; put it into REDIS_URL")

// refusals are the server's own words, which scripts wrap, and what they mean to
// an operator.
var refusals = []struct {
	words   string
	meaning error
}{
	{"OOM command not allowed", ErrFull},
	{"READONLY ", ErrReadOnly},
	{"MISCONF ", errors.New("the server can't save to its disk and takes no writes until it can")},
	{"LOADING ", errors.New("the server is still loading its data")},
	{"NOAUTH ", errNoPassword},
	// What it says to a long command, which it doesn't even read.
	{"Protocol error: unauthenticated ", errNoPassword},
	{"WRONGPASS ", errors.New("the server refuses the user or password of REDIS_URL")},
	{"NOPERM ", errors.New("the Redis user of REDIS_URL may not do that; allow it the commands and the keys of the lane")},
	{"WRONGTYPE ", errors.New("something else is kept under a name of the lane; set --retry-key and --dead-letter-key to names that nobody else uses")},
}

// failed says what was tried, where, and what the server's refusal means.
func (l *Lane) failed(ctx context.Context, what string, err error) error {
	for _, r := range refusals {
		if strings.Contains(err.Error(), r.words) {
			return fmt.Errorf("%s in Redis at %s: %w (%w)", what, l.where, r.meaning, err)
		}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%s in Redis at %s: no answer in time (%s a call): %w", what, l.where, l.timeout, err)
	}
	return fmt.Errorf("%s in Redis at %s: %w", what, l.where, err)
}
