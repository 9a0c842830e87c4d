package billing

import "time"

// Phase says how an attempt's workload stands.
type Phase string

// The phases of an attempt's workload.
const (
	Pending   Phase = "Pending"
	Running   Phase = "Running"
	Succeeded Phase = "Succeeded"
	Failed    Phase = "Failed"
	Unknown   Phase = "Unknown"
)

// Ended tells whether the phase is terminal.
func (p Phase) Ended() bool { return p == Succeeded || p == Failed }

// Attempt is one run of the job.
type Attempt struct {
	Number int
	// Exists tells that the attempt's workload is there.
	Exists bool
	// Vanished tells that the workload was there and that a live read no longer finds it.
	Vanished bool
	// Elsewhere tells that a user's own worker said that it runs the attempt, without a workload that can be seen.
	Elsewhere bool
	// Referenced tells that the workload wasn't made by Recoup.
	Referenced bool
	// Held tells that the workload carries the outcome finalizer of this BillableJob.
	Held bool
	// Unseen tells that the workload lacks the labels that a watch and people find it by.
	Unseen bool
	// Deleting tells that the workload has a deletion timestamp; Gone that nothing but Recoup's finalizer keeps it.
	Deleting, Gone bool
	Phase          Phase
	// Reason and Message are the workload's own words about its failure.
	Reason, Message string
	// CreatedAt is when the workload was created, FinishedAt when it reports that it ended, or was seen to have.
	CreatedAt, FinishedAt time.Time
	// Suspended tells that the workload is held back; ResumedAt is when the last suspension ended.
	Suspended bool
	ResumedAt time.Time
	// Clock is how long the attempt has run.
	Clock Clock
	// Settled tells that the status already records how the attempt ended.
	Settled bool
}

// ended tells that no success can come from the attempt any more.
func (a Attempt) ended() bool {
	return a.Phase.Ended() || !a.Exists || a.Gone
}

// Recorded tells that the attempt was started, here or elsewhere.
func (a Attempt) Recorded() bool { return a.Exists || a.Vanished || a.Elsewhere || a.Settled }

// Releasable tells that the workload's outcome is final, so that once it is recorded nothing needs to hold the object.
func (a Attempt) Releasable() bool {
	return a.Held && (a.Phase.Ended() || a.Gone)
}

// Attempt finds the attempt with the given number; one that isn't known is zero beside its number.
func (in *Input) Attempt(number int) Attempt {
	for _, a := range in.Attempts {
		if a.Number == number {
			return a
		}
	}
	return Attempt{Number: number}
}

// PlannedAt is the moment, by the manager's clock, before which attempt n can't have been created, whatever the clock of
// the machine says that stamped its creation. It is zero where nothing is known: a referenced workload was there before.
func (in *Input) PlannedAt(n int) time.Time {
	b := in.Books
	switch {
	case b == nil || n == 0 && in.Order.Referenced:
		return time.Time{}
	case b.IsRetry() && n == b.Attempt:
		return in.FromLane(b.NotBefore)
	}
	return b.ChargedAt
}

// FromLane turns a time of the lane's clock into one of the manager's.
func (in *Input) FromLane(t time.Time) time.Time { return t.Add(in.Now.Sub(in.LaneNow)) }
