package billing

import (
	"fmt"
	"slices"
	"time"
)

// rule is one sentence of the rule book: it decides, or it passes.
type rule struct {
	name   string
	decide func(*Input) (Decision, bool)
}

// rules is the rule book, in order of precedence. A rule may take for granted that those above it passed.
var rules = []rule{
	{"what is somebody else's is left alone", conflict},
	{"rows follow the document", rows},
	{"an order that was withdrawn is settled", leave},
	{"nothing runs uncharged", charge},
	{"what may still end is held", adopt},
	{"a success of any attempt delivers", deliver},
	{"delivered is the end", delivered},
	{"people redrive dead letters", redrive},
	{"dead letters wait for people", deadLetter},
	{"a cancelled run is not repeated", withdrawn},
	{"an attempt fails once", fail},
	{"a retry is announced to the lane", announce},
	{"one attempt at a time", stop},
	{"the current attempt starts", start},
	{"a run is waited for", watch},
}

// Decide returns the one thing to do next. When nothing can be done, its Verb is Wait.
func Decide(in *Input) Decision {
	for _, r := range rules {
		if d, ok := r.decide(in); ok {
			d.Rule = r.name
			return d
		}
	}
	return Decision{Verb: Wait}
}

func do(v Verb) (Decision, bool)                { return Decision{Verb: v}, true }
func doAttempt(v Verb, n int) (Decision, bool)  { return Decision{Verb: v, Attempt: n}, true }
func waitUntil(wake time.Time) (Decision, bool) { return Decision{Verb: Wait, Wake: wake}, true }
func pass() (Decision, bool)                    { return Decision{}, false }

func conflict(in *Input) (Decision, bool) {
	switch {
	case in.Conflict == nil:
		return pass()
	case in.Order.Deleting:
		return do(Finish)
	}
	return do(Wait)
}

// rows makes the books whole before anything else is decided or reported: a document can be ahead of its rows when its
// writer died, or lost the reply, between the two.
func rows(in *Input) (Decision, bool) {
	b, r := in.Books, in.Reported
	if b == nil || in.RowsProven {
		return pass()
	}
	if !r.Charged || (b.Refunded && !r.Refunded) || (b.Reclaimed && !r.Reclaimed) {
		return do(EnsureRows)
	}
	return pass()
}

// leave settles an order that somebody deleted or cancelled: a success counts, what Recoup started is stopped, and only
// when it has ended is the charge settled by the deletion policy. A referenced workload that goes on running keeps its
// charge.
func leave(in *Input) (Decision, bool) {
	if !in.Order.Deleting && !in.Order.Cancel {
		return pass()
	}
	done := Decision{Verb: Wait}
	if in.Order.Deleting {
		done.Verb = Finish
	}
	b := in.Books
	if b == nil {
		if in.Order.Deleting {
			return done, true
		}
		return expire(in, in.Order.CreatedAt)
	}
	if d, ok := deliver(in); ok {
		return d, true
	}
	if b.Delivered {
		if in.Order.Deleting {
			return done, true
		}
		return delivered(in)
	}
	runsOn := false
	for _, a := range in.Attempts {
		switch {
		case a.ended():
		case a.Referenced:
			runsOn = true
		case a.Deleting:
			return do(Wait)
		default:
			return doAttempt(Stop, a.Number)
		}
	}
	if b.Refunded || in.Order.Keep || runsOn {
		if !in.Order.Deleting && in.Order.Expires && !runsOn {
			return expire(in, latestEnd(in))
		}
		return done, true
	}
	reason, message := ReasonCancelled, "the job was cancelled before it was delivered"
	if in.Order.Deleting {
		reason, message = ReasonJobDeleted, "the BillableJob was deleted before the job was delivered"
	}
	return Decision{Verb: Refund, Attempt: b.Attempt, Reason: reason, Message: message, Then: ThenNothing}, true
}

// charge prepares and books the charge. Whatever can be found wrong with the workload is found before it.
func charge(in *Input) (Decision, bool) {
	o := in.Order
	if !o.Held {
		return do(Hold)
	}
	ref := in.Attempt(0)
	needsClaim := o.Referenced && ref.Exists && (!ref.Held || ref.Unseen) && !ref.Deleting && !ref.Settled
	if in.Books != nil {
		switch {
		case in.Books.Delivered || in.Obstacle != nil:
		case needsClaim && !ref.ended():
			return do(Claim)
		case !o.Templated && ref.Exists:
			return do(Fill)
		}
		return pass()
	}
	switch {
	case in.Obstacle != nil:
		return do(Wait)
	case needsClaim:
		return do(Claim)
	case !o.Templated:
		return do(Fill)
	case !in.TriedOut:
		return do(TryOut)
	}
	return do(Charge)
}

func adopt(in *Input) (Decision, bool) {
	for _, a := range in.Attempts {
		if a.Exists && !a.Referenced && (!a.Held || a.Unseen) && !a.Deleting && !a.ended() && !in.Books.Delivered {
			return doAttempt(Adopt, a.Number)
		}
	}
	return pass()
}

func deliver(in *Input) (Decision, bool) {
	if in.Books.Delivered {
		return pass()
	}
	verb := Deliver
	if in.Books.Refunded {
		verb = Reclaim
	}
	for _, a := range in.Attempts {
		if a.Phase == Succeeded {
			return Decision{Verb: verb, Attempt: a.Number, Message: fmt.Sprintf("attempt %d succeeded", a.Number)}, true
		}
	}
	if in.Signals.Delivered {
		return Decision{Verb: verb, Attempt: in.Books.Attempt, Message: "the annotation delivered-at reported the result"}, true
	}
	return pass()
}

func delivered(in *Input) (Decision, bool) {
	if !in.Books.Delivered {
		return pass()
	}
	return expire(in, in.Books.DeliveredAt)
}

func expire(in *Input, finished time.Time) (Decision, bool) {
	if !in.Order.Expires || finished.IsZero() {
		return do(Wait)
	}
	due := latest(finished, in.Order.CreatedAt).Add(in.Order.TTL)
	if due.After(in.Now) {
		return waitUntil(due)
	}
	return do(Expire)
}

func redrive(in *Input) (Decision, bool) {
	if b := in.Books; b.DeadLettered && in.Signals.Redrive && in.Signals.Redrives == b.Redrives {
		return doAttempt(Redrive, b.Attempt)
	}
	return pass()
}

func deadLetter(in *Input) (Decision, bool) {
	switch {
	case !in.Books.DeadLettered:
		return pass()
	case !in.Reported.DeadLettered:
		return doAttempt(DeadLetter, in.Books.Attempt)
	}
	return expire(in, in.Books.DeadLetteredAt)
}

// withdrawn keeps a run that was refunded without a plan for a retry from being made again by the same object. A
// BillableJob that was deleted and applied anew may run: its success takes the refund back. A run whose workload was
// deleted under the policy Keep isn't made again either.
func withdrawn(in *Input) (Decision, bool) {
	b := in.Books
	if b.Withdrawn() && b.Mine || !b.Refunded && in.Attempt(b.Attempt).Settled {
		return expire(in, latestEnd(in))
	}
	return pass()
}

func fail(in *Input) (Decision, bool) {
	b := in.Books
	a := in.Attempt(b.Attempt)
	reason, message := failure(in, a)
	if reason == "" {
		return pass()
	}
	d := Decision{Verb: Refund, Attempt: a.Number, Reason: reason, Message: message, Then: ThenRetry}
	if b.Refunded {
		d.Verb = FailAgain
	}
	switch {
	case reason == ReasonWorkloadDeleted && !b.Refunded && in.Order.Keep:
		return expire(in, latestEnd(in))
	case reason == ReasonWorkloadDeleted && !b.Refunded:
		d.Then = ThenNothing
	case reason == ReasonWorkloadDeleted, reason == ReasonWorkloadRefused,
		b.Retries >= in.Order.MaxRetries, slices.Contains(in.Order.PermanentReasons, reason):
		d.Then = ThenDeadLetter
	}
	return d, true
}

// failure tells why the current attempt counts as failed; the reason is empty when it doesn't.
func failure(in *Input, a Attempt) (reason, message string) {
	switch {
	case a.Phase == Failed:
		reason = a.Reason
		if reason == "" {
			reason = ReasonWorkloadFailed
		}
		return reason, a.Message
	case in.Signals.Failed && in.Signals.FailedAttempt == a.Number && !in.Books.NotBefore.After(in.LaneNow):
		return ReasonFailedSignal, "the annotation failed-at reported the failure"
	case a.Vanished, a.Exists && a.Deleting:
		return ReasonWorkloadDeleted, "the workload was deleted before it ended"
	case in.Obstacle != nil && in.Obstacle.Permanent && !a.Recorded():
		return ReasonWorkloadRefused, in.Obstacle.Message
	}
	if due := deadline(in, a); !due.IsZero() && !due.After(in.Now) {
		return ReasonDeadlineExceeded, fmt.Sprintf("the attempt ran for %s without an end", in.Order.Deadline)
	}
	if due := startDeadline(in, a); !due.IsZero() && !due.After(in.Now) {
		return ReasonStartDeadlineExceeded, fmt.Sprintf("the attempt did not start within %s", in.Order.StartDeadline)
	}
	return "", ""
}

func deadline(in *Input, a Attempt) time.Time {
	if in.Order.Deadline <= 0 || a.Settled {
		return time.Time{}
	}
	return a.Clock.expiry(in.Order.Deadline)
}

// startDeadline is when an attempt that hasn't started counts as failed. It runs from the workload's creation, anew from
// the end of a suspension, also where the attempt had run before it, and, while the API server refuses the workload, from
// when it should have been created.
func startDeadline(in *Input, a Attempt) time.Time {
	started := !a.Clock.RunningSince.IsZero() || (!a.Clock.StartedAt.IsZero() && a.ResumedAt.IsZero())
	if in.Order.StartDeadline <= 0 || a.Settled || a.Elsewhere || a.Suspended || started {
		return time.Time{}
	}
	if !a.Exists && in.Obstacle == nil {
		return time.Time{}
	}
	return latest(a.CreatedAt, a.ResumedAt, in.PlannedAt(a.Number)).Add(in.Order.StartDeadline)
}

func announce(in *Input) (Decision, bool) {
	b := in.Books
	if !b.IsRetry() || in.Attempt(b.Attempt).Recorded() {
		return pass()
	}
	switch {
	case !in.Reported.Announced:
		return doAttempt(Push, b.Attempt)
	case in.Due && !b.NotBefore.After(in.LaneNow):
		return pass()
	case !in.PushAgainAt.IsZero() && !in.PushAgainAt.After(in.Now):
		return doAttempt(PushAgain, b.Attempt)
	}
	return waitUntil(sooner(in.PushAgainAt, startDeadline(in, in.Attempt(b.Attempt))))
}

// stop ends an earlier attempt that outlived its deadline before, or if somebody else started the current one as soon
// as, the current attempt runs. A referenced workload that nobody gave up on is the run of a job that was applied again: it
// is waited for.
func stop(in *Input) (Decision, bool) {
	b := in.Books
	for _, a := range in.Attempts {
		switch {
		case a.Number >= b.Attempt || a.ended():
		case a.Deleting, a.Referenced && !a.Settled:
			return do(Wait)
		default:
			return doAttempt(Stop, a.Number)
		}
	}
	return pass()
}

func start(in *Input) (Decision, bool) {
	b := in.Books
	a := in.Attempt(b.Attempt)
	if a.Recorded() {
		return pass()
	}
	referenced := a.Number == 0 && in.Order.Referenced
	if in.Obstacle != nil || (!in.Order.Templated && !referenced) {
		return waitUntil(startDeadline(in, a))
	}
	return doAttempt(Start, b.Attempt)
}

func watch(in *Input) (Decision, bool) {
	a := in.Attempt(in.Books.Attempt)
	return waitUntil(sooner(deadline(in, a), startDeadline(in, a)))
}

// sooner is the earlier of two times, of which either may be absent.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// latest is the last of some times, of which any may be absent.
func latest(times ...time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}

// latestEnd is when a job without a delivery came to its end: with its refund, or with its last attempt where the charge
// was kept.
func latestEnd(in *Input) time.Time {
	end := latest(in.Books.ChargedAt, in.Books.RefundedAt)
	for _, a := range in.Attempts {
		switch {
		case !a.FinishedAt.IsZero():
			end = latest(end, a.FinishedAt)
		case !a.Settled && (a.Vanished || a.Deleting):
			end = in.Now
		}
	}
	return end
}
