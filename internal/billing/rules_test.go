package billing

import (
	"testing"
	"time"
)

func at(minutes int) time.Time { return epoch.Add(time.Duration(minutes) * time.Minute) }

// charged is an order that was charged at 0:00 and whose attempt 0 has run since 0:01; the clock shows 0:10.
func charged() *Input {
	return &Input{
		Now: at(10), LaneNow: at(10),
		Order:    Order{Held: true, Templated: true, MaxRetries: 2},
		Books:    &Books{Mine: true, ChargedAt: at(0)},
		Reported: Reported{Charged: true},
		Attempts: []Attempt{{
			Number: 0, Exists: true, Held: true, Phase: Running, CreatedAt: at(0),
			Clock: Clock{StartedAt: at(1), RunningSince: at(1)},
		}},
	}
}

// retrying is a job whose attempt 0 failed at 0:05 and whose attempt 1 is due at 0:12.
func retrying() *Input {
	in := charged()
	in.Books.Refunded, in.Books.RefundedAt, in.Books.LatestFailure = true, at(5), "BackoffLimitExceeded"
	in.Books.Attempt, in.Books.Retries, in.Books.NotBefore = 1, 1, at(12)
	in.Reported.Refunded, in.Reported.Announced = true, true
	in.Attempts[0].Phase, in.Attempts[0].Settled = Failed, true
	in.PushAgainAt = at(13)
	return in
}

func TestDecide(t *testing.T) {
	for _, c := range []struct {
		name  string
		given func() *Input
		but   func(*Input)
		want  Decision
	}{
		{"the finalizer comes before the charge", charged, func(in *Input) { in.Books, in.Order.Held, in.Attempts = nil, false, nil }, Decision{Verb: Hold}},
		{"the dry run comes before the charge", charged, func(in *Input) { in.Books, in.Attempts = nil, nil }, Decision{Verb: TryOut}},
		{"then the charge", charged, func(in *Input) { in.Books, in.Attempts, in.TriedOut = nil, nil, true }, Decision{Verb: Charge}},
		{"an obstacle before the charge holds it up", charged, func(in *Input) {
			in.Books, in.Attempts, in.TriedOut, in.Obstacle = nil, nil, true, &Obstacle{Reason: "QuotaExceeded"}
		}, Decision{Verb: Wait}},
		{"a workload that ended before the charge is charged first", charged, func(in *Input) {
			in.Books, in.TriedOut, in.Order.Referenced = nil, true, true
			in.Attempts[0].Phase, in.Attempts[0].Referenced = Succeeded, true
		}, Decision{Verb: Charge}},
		{"a running attempt is waited for", charged, func(*Input) {}, Decision{Verb: Wait}},
		{"up to its deadline", charged, func(in *Input) { in.Order.Deadline = 30 * time.Minute }, Decision{Verb: Wait, Wake: at(31)}},
		{"rows come before anything else is reported", charged, func(in *Input) { in.Reported.Charged = false }, Decision{Verb: EnsureRows}},
		{"a success delivers", charged, func(in *Input) { in.Attempts[0].Phase = Succeeded }, Decision{Verb: Deliver}},
		{"a failure refunds and plans a retry", charged, func(in *Input) {
			in.Attempts[0].Phase, in.Attempts[0].Reason = Failed, "BackoffLimitExceeded"
		}, Decision{Verb: Refund, Reason: "BackoffLimitExceeded", Then: ThenRetry}},
		{"a failure without retries dead-letters", charged, func(in *Input) {
			in.Attempts[0].Phase, in.Attempts[0].Reason, in.Order.MaxRetries = Failed, "BackoffLimitExceeded", 0
		}, Decision{Verb: Refund, Reason: "BackoffLimitExceeded", Then: ThenDeadLetter}},
		{"a permanent failure dead-letters at once", charged, func(in *Input) {
			in.Attempts[0].Phase, in.Attempts[0].Reason, in.Order.PermanentReasons = Failed, "PodFailurePolicy", []string{"PodFailurePolicy"}
		}, Decision{Verb: Refund, Reason: "PodFailurePolicy", Then: ThenDeadLetter}},
		{"a deadline that has passed is a failure", charged, func(in *Input) { in.Order.Deadline = 9 * time.Minute },
			Decision{Verb: Refund, Reason: ReasonDeadlineExceeded, Then: ThenRetry}},
		{"but a success that came with it wins", charged, func(in *Input) {
			in.Order.Deadline, in.Attempts[0].Phase = 9*time.Minute, Succeeded
		}, Decision{Verb: Deliver}},
		{"an unknown state moves nothing before the deadline", charged, func(in *Input) { in.Attempts[0].Phase = Unknown }, Decision{Verb: Wait}},
		{"an unknown state counts towards the deadline", charged, func(in *Input) {
			in.Attempts[0].Phase, in.Order.Deadline = Unknown, 9*time.Minute
		}, Decision{Verb: Refund, Reason: ReasonDeadlineExceeded, Then: ThenRetry}},
		{"a suspended attempt has no deadline", charged, func(in *Input) {
			in.Order.Deadline, in.Attempts[0].Suspended, in.Attempts[0].Clock = time.Minute, true, Clock{StartedAt: at(1), Ran: time.Minute}
		}, Decision{Verb: Wait}},
		{"an attempt that never starts meets its start deadline", charged, func(in *Input) {
			in.Order.StartDeadline, in.Attempts[0].Phase, in.Attempts[0].Clock = 10*time.Minute, Pending, Clock{}
		}, Decision{Verb: Refund, Reason: ReasonStartDeadlineExceeded, Then: ThenRetry}},
		{"which starts anew with the end of a suspension", charged, func(in *Input) {
			in.Order.StartDeadline, in.Attempts[0].Phase, in.Attempts[0].Clock, in.Attempts[0].ResumedAt = 10*time.Minute, Pending, Clock{}, at(4)
		}, Decision{Verb: Wait, Wake: at(14)}},
		{"a workload that is refused for now meets it too", charged, func(in *Input) {
			in.Order.StartDeadline, in.Attempts, in.Obstacle = 10*time.Minute, nil, &Obstacle{Reason: "QuotaExceeded"}
		}, Decision{Verb: Refund, Reason: ReasonStartDeadlineExceeded, Then: ThenRetry}},
		{"a workload that is refused for good fails for good", charged, func(in *Input) {
			in.Attempts, in.Obstacle = nil, &Obstacle{Reason: "TemplateRefused", Permanent: true}
		}, Decision{Verb: Refund, Reason: ReasonWorkloadRefused, Then: ThenDeadLetter}},
		{"a failed-at about this attempt counts", charged, func(in *Input) { in.Signals.Failed = true },
			Decision{Verb: Refund, Reason: ReasonFailedSignal, Then: ThenRetry}},
		{"a failed-at about another attempt doesn't", charged, func(in *Input) { in.Signals.Failed, in.Signals.FailedAttempt = true, 1 }, Decision{Verb: Wait}},
		{"a failed-at about a retry that isn't due doesn't", retrying, func(in *Input) {
			in.Signals.Failed, in.Signals.FailedAttempt = true, 1
		}, Decision{Verb: Wait, Wake: at(13)}},
		{"delivered beats failed", charged, func(in *Input) { in.Signals.Failed, in.Signals.Delivered = true, true }, Decision{Verb: Deliver}},
		{"a deleted workload is refunded and not repeated", charged, func(in *Input) { in.Attempts[0].Deleting = true },
			Decision{Verb: Refund, Reason: ReasonWorkloadDeleted, Then: ThenNothing}},
		{"a vanished workload as well", charged, func(in *Input) {
			in.Attempts[0].Exists, in.Attempts[0].Held, in.Attempts[0].Vanished = false, false, true
		},
			Decision{Verb: Refund, Reason: ReasonWorkloadDeleted, Then: ThenNothing}},
		{"unless the policy keeps the charge", charged, func(in *Input) { in.Attempts[0].Deleting, in.Order.Keep = true, true }, Decision{Verb: Wait}},
		{"a retry isn't started before the lane brings it", retrying, func(*Input) {}, Decision{Verb: Wait, Wake: at(13)}},
		{"not even if the lane brings it early", retrying, func(in *Input) { in.Due = true }, Decision{Verb: Wait, Wake: at(13)}},
		{"it starts when it is due", retrying, func(in *Input) { in.Due, in.LaneNow = true, at(12) }, Decision{Verb: Start, Attempt: 1}},
		{"after the overdue attempt was stopped", retrying, func(in *Input) {
			in.Due, in.LaneNow, in.Attempts[0].Phase = true, at(12), Running
		}, Decision{Verb: Stop, Attempt: 0}},
		{"and has ended", retrying, func(in *Input) {
			in.Due, in.LaneNow, in.Attempts[0].Phase, in.Attempts[0].Deleting = true, at(12), Running, true
		}, Decision{Verb: Wait}},
		{"an entry that the lane doesn't have is pushed", retrying, func(in *Input) { in.Reported.Announced = false }, Decision{Verb: Push, Attempt: 1}},
		{"one that it lost is pushed again after the grace", retrying, func(in *Input) { in.Now, in.LaneNow = at(13), at(13) }, Decision{Verb: PushAgain, Attempt: 1}},
		{"a success of an attempt that was given up on reclaims", retrying, func(in *Input) { in.Attempts[0].Phase = Succeeded }, Decision{Verb: Reclaim}},
		{"a retry that fails doesn't refund again", retrying, func(in *Input) {
			in.Attempts = append(in.Attempts, Attempt{Number: 1, Exists: true, Held: true, Phase: Failed, Reason: "BackoffLimitExceeded"})
		}, Decision{Verb: FailAgain, Attempt: 1, Reason: "BackoffLimitExceeded", Then: ThenRetry}},
		{"a dead letter is written once", retrying, func(in *Input) { in.Books.DeadLettered = true }, Decision{Verb: DeadLetter, Attempt: 1}},
		{"and then waits", retrying, func(in *Input) { in.Books.DeadLettered, in.Reported.DeadLettered = true, true }, Decision{Verb: Wait}},
		{"up to its time to live", retrying, func(in *Input) {
			in.Books.DeadLettered, in.Books.DeadLetteredAt, in.Reported.DeadLettered = true, at(8), true
			in.Order.Expires, in.Order.TTL = true, 5*time.Minute
		}, Decision{Verb: Wait, Wake: at(13)}},
		{"for a redrive that knows how many there were", retrying, func(in *Input) {
			in.Books.DeadLettered, in.Reported.DeadLettered, in.Books.Redrives, in.Signals.Redrive, in.Signals.Redrives = true, true, 2, true, 2
		}, Decision{Verb: Redrive, Attempt: 1}},
		{"an old redrive acts no second time", retrying, func(in *Input) {
			in.Books.DeadLettered, in.Reported.DeadLettered, in.Books.Redrives, in.Signals.Redrive, in.Signals.Redrives = true, true, 2, true, 1
		}, Decision{Verb: Wait}},
		{"a cancellation stops the attempt first", charged, func(in *Input) { in.Order.Cancel = true }, Decision{Verb: Stop}},
		{"and then refunds", charged, func(in *Input) { in.Order.Cancel, in.Attempts[0].Deleting, in.Attempts[0].Gone = true, true, true },
			Decision{Verb: Refund, Reason: ReasonCancelled, Then: ThenNothing}},
		{"a deletion books a success", charged, func(in *Input) { in.Order.Deleting, in.Attempts[0].Phase = true, Succeeded }, Decision{Verb: Deliver}},
		{"a deletion lets a referenced workload run on, at its price", charged, func(in *Input) {
			in.Order.Deleting, in.Order.Referenced, in.Attempts[0].Referenced = true, true, true
		}, Decision{Verb: Finish}},
		{"a deletion before the charge books nothing", charged, func(in *Input) { in.Order.Deleting, in.Books, in.Attempts = true, nil, nil }, Decision{Verb: Finish}},
		{"a conflict touches nothing", charged, func(in *Input) { in.Conflict = &Obstacle{Reason: "JobIDTaken"} }, Decision{Verb: Wait}},
		{"a delivered job expires", charged, func(in *Input) {
			in.Books.Delivered, in.Books.DeliveredAt, in.Order.Expires, in.Order.TTL = true, at(8), true, 5*time.Minute
		}, Decision{Verb: Wait, Wake: at(13)}},
		{"when its time is up", charged, func(in *Input) {
			in.Books.Delivered, in.Books.DeliveredAt, in.Order.Expires = true, at(8), true
		}, Decision{Verb: Expire}},
		{"a worker's own workload is taken under protection", retrying, func(in *Input) {
			in.Attempts = append(in.Attempts, Attempt{Number: 1, Exists: true, Phase: Pending})
		}, Decision{Verb: Adopt, Attempt: 1}},
		{"a job cancelled by its predecessor may run again", charged, func(in *Input) {
			in.Books.Mine, in.Books.Refunded, in.Reported.Refunded, in.Attempts = false, true, true, nil
		}, Decision{Verb: Start}},
		{"a reference that is applied again lends its retry a template", retrying, func(in *Input) {
			in.Books.Mine, in.Order.Templated, in.Order.Referenced, in.Attempts[0].Referenced = false, false, true, true
		}, Decision{Verb: Fill}},
		{"and its run, on which nobody gave up, is waited for", retrying, func(in *Input) {
			in.Due, in.LaneNow, in.Books.Mine, in.Order.Referenced = true, at(12), false, true
			in.Attempts[0] = Attempt{Number: 0, Exists: true, Held: true, Referenced: true, Phase: Running}
		}, Decision{Verb: Wait}},
		{"a start deadline runs from the plan where another clock says that the creation was before it", charged, func(in *Input) {
			in.Order.StartDeadline, in.Attempts[0].Clock, in.Attempts[0].Phase, in.Attempts[0].CreatedAt = 20*time.Minute, Clock{}, Pending, at(-60)
		}, Decision{Verb: Wait, Wake: at(20)}},
		{"a job whose deleted workload keeps its charge expires", charged, func(in *Input) {
			in.Order.Keep, in.Order.Expires, in.Order.TTL = true, true, 5*time.Minute
			in.Attempts[0] = Attempt{Number: 0, Settled: true, FinishedAt: at(9)}
		}, Decision{Verb: Wait, Wake: at(14)}},
		{"one that was cancelled itself may not", charged, func(in *Input) {
			in.Books.Refunded, in.Reported.Refunded, in.Attempts = true, true, nil
		}, Decision{Verb: Wait}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := c.given()
			c.but(in)
			got := Decide(in)
			got.Rule, got.Message = "", ""
			if got != c.want {
				t.Errorf("decided %+v, want %+v", got, c.want)
			}
		})
	}
}
