package billing

import "time"

// Input is everything that a decision may depend on.
type Input struct {
	// Now is the manager's clock.
	Now time.Time
	// LaneNow is the clock by which retries fall due, that of the server that holds the lane.
	LaneNow time.Time
	// Order is what the user asked for.
	Order Order
	// Books is the job document; nil when there is none.
	Books *Books
	// RowsProven tells that the rows which Books demands were acknowledged since it was read.
	RowsProven bool
	// Reported is what the status last said, and so what had been done by then.
	Reported Reported
	// Attempts are the attempts that are known, from the cluster or from the record in the status, in any order.
	Attempts []Attempt
	// Signals came from outside the cluster's own state.
	Signals Signals
	// Conflict, if set, says that the books or the workload belong to somebody else; nothing is booked or run.
	Conflict *Obstacle
	// Obstacle, if set, keeps the next step from being made: before the charge the charge itself, after it a start.
	Obstacle *Obstacle
	// TriedOut tells that a dry run of the template was made in this pass and found nothing.
	TriedOut bool
	// Due tells that the lane handed over the current attempt to be started now.
	Due bool
	// PushAgainAt is when a retry that has been announced and hasn't appeared is announced again.
	PushAgainAt time.Time
}

// Order is what a decision needs of a BillableJob's metadata and spec.
type Order struct {
	// CreatedAt is when the object was created; no time to live runs from before.
	CreatedAt time.Time
	// Held tells that the object carries the settlement finalizer.
	Held bool
	// Deleting tells that somebody deleted the object.
	Deleting bool
	// Cancel tells that somebody cancelled the job.
	Cancel bool
	// Keep tells that a cancelled job's charge stays; otherwise it is refunded.
	Keep bool
	// Referenced tells that attempt 0 is a workload that existed already.
	Referenced bool
	// Templated tells that there is a template to make attempts from.
	Templated bool
	// MaxRetries is how many retries may follow a failure until a redrive.
	MaxRetries int
	// PermanentReasons are failures that no retry can mend.
	PermanentReasons []string
	// Deadline is how long an attempt may run; 0 means for ever.
	Deadline time.Duration
	// StartDeadline is how long an attempt may take to start; 0 means for ever.
	StartDeadline time.Duration
	// Expires tells that the object is deleted TTL after it finished.
	Expires bool
	// TTL is that time; 0 means at once.
	TTL time.Duration
}

// Books is what a decision needs of the job document.
type Books struct {
	// Mine tells that this very object, and not a predecessor of the same name, opened the document.
	Mine                        bool
	ChargedAt                   time.Time
	Refunded                    bool
	Reclaimed                   bool
	Delivered                   bool
	RefundedAt, DeliveredAt     time.Time
	DeadLettered                bool
	DeadLetteredAt              time.Time
	Attempt, Retries, Redrives  int
	NotBefore                   time.Time
	RefundReason, LatestFailure string
}

// Net is what the job has cost so far, as a multiple of its cost: -1 or 0.
func (b *Books) Net() int {
	if b.Refunded && !b.Reclaimed {
		return 0
	}
	return -1
}

// Withdrawn tells that the charge was given back by a cancellation: no retry was planned and none is.
func (b *Books) Withdrawn() bool {
	return b.Refunded && !b.Delivered && !b.DeadLettered && b.NotBefore.IsZero()
}

// IsRetry tells that the current attempt was planned by a failure or a redrive, so that the lane brings it.
func (b *Books) IsRetry() bool { return !b.NotBefore.IsZero() }

// Reported is what the BillableJob's status said when it was read.
type Reported struct {
	Charged, Refunded, Reclaimed, Delivered bool
	// DeadLettered tells that the current attempt's dead letter was reported, which happens after the list has it.
	DeadLettered bool
	// Announced tells that the current attempt's entry was reported, which happens after the lane has it.
	Announced bool
}

// Obstacle is why a step can't be made.
type Obstacle struct {
	// Reason is one word in CamelCase, Message a sentence that says what to change.
	Reason, Message string
	// Permanent obstacles don't go away by waiting.
	Permanent bool
}

// Signals are what annotations say.
type Signals struct {
	// Delivered tells that somebody outside saw the job's result.
	Delivered bool
	// Failed tells that somebody outside saw attempt FailedAttempt fail.
	Failed        bool
	FailedAttempt int
	// Redrive tells that a person asks for another round; Redrives is how many there were when they asked.
	Redrive  bool
	Redrives int
}
