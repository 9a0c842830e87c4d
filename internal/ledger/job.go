package ledger

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Job is the document of a job: who pays how much for what, and all of the
// job's state. Times are UTC and whole milliseconds; a time that has not come
// is zero and absent from the document.
type Job struct {
	// ID is what JobID makes of cluster, namespace and the job's own ID.
	ID string `bson:"_id"`
	// Account pays, Cost is what it pays, in credits: 0 or more.
	Account string `bson:"account"`
	Cost    int64  `bson:"cost"`

	// The BillableJob that opened the document. The job belongs to the object
	// of this name; UID tells which incarnation opened it.
	Cluster   string    `bson:"cluster"`
	Namespace string    `bson:"namespace"`
	Name      string    `bson:"name"`
	UID       string    `bson:"uid"`
	CreatedAt time.Time `bson:"created_at"`

	IsRefunded   bool      `bson:"is_refunded"`
	RefundedAt   time.Time `bson:"refunded_at,omitempty"`
	RefundReason string    `bson:"refund_reason,omitempty"`

	IsReclaimed bool      `bson:"is_reclaimed"`
	ReclaimedAt time.Time `bson:"reclaimed_at,omitempty"`

	IsDelivered bool      `bson:"is_delivered"`
	DeliveredAt time.Time `bson:"delivered_at,omitempty"`

	// Attempt is the number of the current attempt, 0 for the first. It never
	// falls. Retries counts those since the last redrive.
	Attempt   int       `bson:"attempt"`
	Retries   int       `bson:"retries"`
	NotBefore time.Time `bson:"not_before,omitempty"`

	// DeadLetteredAt is the latest such moment and outlives a redrive.
	IsDeadLettered bool      `bson:"is_dead_lettered"`
	DeadLetteredAt time.Time `bson:"dead_lettered_at,omitempty"`

	Redrives   int       `bson:"redrives"`
	RedrivenAt time.Time `bson:"redriven_at,omitempty"`

	// The latest failure that was booked, so that an entry of the retry lane is
	// a pure function of the document. A cancellation isn't a failure.
	FailedAt   time.Time `bson:"failed_at,omitempty"`
	FailReason string    `bson:"fail_reason,omitempty"`
}

// Next is what follows a failure.
type Next int

// The zero Next is a cancellation: the refund and nothing else.
const (
	// ThenNothing leaves the attempt as it is: a cancellation.
	ThenNothing Next = iota
	// ThenRetry makes the next attempt the current one.
	ThenRetry
	// ThenDeadLetter gives up until somebody redrives the job.
	ThenDeadLetter
)

// String returns nothing, retry or dead-letter.
func (n Next) String() string {
	switch n {
	case ThenNothing:
		return "nothing"
	case ThenRetry:
		return "retry"
	case ThenDeadLetter:
		return "dead-letter"
	default:
		return fmt.Sprintf("Next(%d)", int(n))
	}
}

// Failure is the end of one attempt, and what follows from it.
type Failure struct {
	// Attempt is the attempt that failed. Another attempt's end is not touched.
	Attempt int
	At      time.Time
	// Reason is cut to 256 bytes.
	Reason string
	Then   Next
	// NotBefore is when the next attempt may start. Only with ThenRetry.
	NotBefore time.Time
}

// The longest reason that a document holds, and the longest job ID, in bytes.
const (
	maxReason = 256
	maxID     = 1024
)

// opened returns the document as a charge inserts it: who, what and when from
// job, and the state of a job to which nothing has happened yet.
func opened(job Job) Job {
	return Job{
		ID: job.ID, Account: job.Account, Cost: job.Cost,
		Cluster: job.Cluster, Namespace: job.Namespace, Name: job.Name, UID: job.UID,
		CreatedAt: moment(job.CreatedAt),
	}
}

// standing says in words how far the document has come.
func (j Job) standing() string {
	switch {
	case j.IsReclaimed:
		return "reclaimed (delivered after a refund)"
	case j.IsDelivered:
		return "delivered"
	case j.IsDeadLettered:
		return fmt.Sprintf("refunded and dead-lettered at attempt %d, after %d redrives", j.Attempt, j.Redrives)
	case j.IsRefunded:
		return fmt.Sprintf("refunded, at attempt %d", j.Attempt)
	default:
		return fmt.Sprintf("charged, at attempt %d", j.Attempt)
	}
}

// moment cuts to what BSON can hold, so that a document that was written and
// the same document read back are equal.
func moment(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Millisecond)
}

// bounded cuts text to maxReason bytes at a rune, since error texts reach
// megabytes.
func bounded(text string) string {
	if len(text) > maxReason {
		cut := maxReason
		for cut > maxReason-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut]
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
