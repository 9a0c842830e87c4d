package billing

import "time"

// Clock measures how long an attempt has run. It stands still while the attempt is suspended and goes on through an
// unknown state, and no disagreement between machines' clocks makes it negative.
type Clock struct {
	// StartedAt is when the attempt first ran; zero before.
	StartedAt time.Time
	// RunningSince is when the stretch under way began; zero while suspended, before the start and after the end.
	RunningSince time.Time
	// Ran is the length of the stretches before it.
	Ran time.Duration
}

// Observed is what a look at the workload tells a Clock.
type Observed struct {
	Phase     Phase
	Suspended bool
	// Ready tells that a pod is ready now. Where the kind shows pods, the clock starts with the first ready one.
	Ready bool
	// StartedAt is the start that the workload reports, and CreatedAt its creation: no start lies before it.
	StartedAt, CreatedAt time.Time
	// FinishedAt is the end that the workload reports.
	FinishedAt time.Time
	// SuspendedAt is when the suspension under way began, ResumedAt when the last one ended, as the workload reports it.
	SuspendedAt, ResumedAt time.Time
}

// Advance moves the clock to what was observed at the given time.
func (c Clock) Advance(o Observed, now time.Time) Clock {
	switch {
	case o.Phase == Succeeded || o.Phase == Failed:
		if c.StartedAt.IsZero() {
			c.StartedAt = between(o.StartedAt, o.CreatedAt, now)
			c.RunningSince = c.StartedAt
		}
		return c.pause(between(o.FinishedAt, c.RunningSince, now))
	case o.Suspended:
		return c.pause(between(o.SuspendedAt, c.RunningSince, now))
	}
	if o.ResumedAt.After(c.RunningSince) {
		// A suspension began and ended unseen. How much of the stretch lay before it can't be told, so none of it counts.
		c.RunningSince = time.Time{}
	}
	if o.Phase != Running || !c.RunningSince.IsZero() {
		return c
	}
	since := now
	if !o.Ready && !o.StartedAt.IsZero() {
		since = between(o.StartedAt, o.CreatedAt, now)
	}
	since = latest(since, o.ResumedAt)
	if c.StartedAt.IsZero() {
		c.StartedAt = since
	}
	c.RunningSince = since
	return c
}

func (c Clock) pause(at time.Time) Clock {
	if !c.RunningSince.IsZero() && at.After(c.RunningSince) {
		c.Ran += at.Sub(c.RunningSince)
	}
	c.RunningSince = time.Time{}
	return c
}

// expiry is when the attempt will have run for the given time; zero while the clock stands still.
func (c Clock) expiry(after time.Duration) time.Time {
	if c.RunningSince.IsZero() {
		return time.Time{}
	}
	return c.RunningSince.Add(after - c.Ran)
}

// between keeps a reported time within what is possible; an absent one becomes the later bound.
func between(t, earliest, latest time.Time) time.Time {
	if t.IsZero() || t.After(latest) {
		return latest
	}
	if t.Before(earliest) {
		return earliest
	}
	return t
}
