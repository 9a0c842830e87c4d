package retry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Bounds of one pass, whatever is waiting.
const (
	// maxTake is the largest limit of a Take.
	maxTake = 1000
	// scanLimit is how many new entries a pass sorts, due or not.
	scanLimit = 512
	// takeBytes is how many bytes of entries a pass reads or returns before it
	// stops taking more.
	takeBytes = 4 << 20
)

// Delivery is an entry in hand, under a lease.
type Delivery struct {
	// Raw is the entry as it was found.
	Raw []byte
	// Entry is what it says.
	Entry Entry
	// Err is set if it can't be decoded, and Entry is zero then.
	Err error
}

// Batch is what one pass took.
type Batch struct {
	// Due entries are to be acknowledged or released.
	Due []Delivery
	// Poison are entries that can't be decoded. They are to be buried.
	Poison []Delivery
	// NextDue is when something will be due that isn't yet, by the server's
	// clock: a parked entry, or one whose lease ends, those of this batch
	// included. Zero if there is nothing.
	NextDue time.Time
	// More tells that another pass would find something at once.
	More bool
}

// Take takes up to limit entries that are due, those that can't be decoded among
// them, and leases each to the caller: entries whose lease has ended, then parked
// ones by due time, then new ones. New entries that aren't due, or for which there
// is no room, are parked. It is one script, whose cost is bounded and doesn't
// depend on how many entries wait.
//
// What the caller doesn't acknowledge, release or bury comes back when the lease
// ends, and so does what a lost reply held.
func (l *Lane) Take(ctx context.Context, limit int) (Batch, error) {
	if limit < 1 {
		return Batch{}, fmt.Errorf("taking %d entries; take at least 1", limit)
	}
	ctx, cancel := l.call(ctx)
	defer cancel()
	what := fmt.Sprintf("taking what is due from %q", l.keys.waiting)
	reply, err := takeScript.Run(ctx, l.rdb, []string{l.keys.waiting, l.keys.parked, l.keys.leased},
		min(limit, maxTake), l.lease.Milliseconds(), Version, MaxEntryBytes, scanLimit, takeBytes).StringSlice()
	if err != nil {
		return Batch{}, l.failed(ctx, what, err)
	}
	batch, err := readBatch(reply)
	if err != nil {
		return Batch{}, l.failed(ctx, what, err)
	}
	return batch, nil
}

// readBatch reads the reply of the script: see there.
func readBatch(reply []string) (Batch, error) {
	const head = 2
	if len(reply) < head || len(reply)%2 != 0 {
		return Batch{}, fmt.Errorf("a reply of %d parts makes no sense", len(reply))
	}
	batch := Batch{More: reply[0] == "1"}
	var err error
	if batch.NextDue, err = moment(reply[1]); err != nil {
		return Batch{}, err
	}
	for i := head; i < len(reply); i += 2 {
		d := newDelivery([]byte(reply[i]), reply[i+1])
		if d.Err != nil {
			batch.Poison = append(batch.Poison, d)
		} else {
			batch.Due = append(batch.Due, d)
		}
	}
	return batch, nil
}

// What is wrong with an entry that decodes, while the script reads no due time in it
// or another one, such as that of a second field by the name: it can have been handed
// out too early.
var (
	errNoDue    = fmt.Errorf("%w: its not_before or its version can't be read where it was sorted by due time", ErrUndecodable)
	errOtherDue = fmt.Errorf("%w: its not_before was read as another time where it was sorted by due time", ErrUndecodable)
)

// newDelivery decodes an entry that the script handed out. due is the due time that
// the script read, as a score; "" if it could read none.
func newDelivery(raw []byte, due string) Delivery {
	d := Delivery{Raw: raw}
	d.Entry, d.Err = Decode(raw)
	switch {
	case d.Err != nil:
	case due == "":
		d.Entry, d.Err = Entry{}, errNoDue
	case due != score(d.Entry.NotBefore):
		d.Entry, d.Err = Entry{}, errOtherDue
	}
	return d
}

// moment reads a score. A score that is no time, which only a person can have
// written, is no reason to stop.
func moment(score string) (time.Time, error) {
	if score == "" {
		return time.Time{}, nil
	}
	ms, err := strconv.ParseFloat(score, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return time.Time{}, fmt.Errorf("reading the score %q: %w", score, err)
	}
	if math.IsNaN(ms) || math.Abs(ms) > 1<<53 {
		return time.Time{}, nil
	}
	return time.UnixMilli(int64(ms)).UTC(), nil
}
