package ledger

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Outcome is how a transition ended that ended well.
type Outcome int

const (
	undecided Outcome = iota
	// Won says that this call made the transition.
	Won
	// AlreadyThere says that the document was there already, by another call or
	// by an earlier try of this one whose reply was lost. A success, too.
	AlreadyThere
)

// String returns won or already there.
func (o Outcome) String() string {
	switch o {
	case Won:
		return "won"
	case AlreadyThere:
		return "already there"
	default:
		return "undecided"
	}
}

// The transitions. Each takes the job as the caller believes it, which may be
// stale, and returns it as it now is. Errors: ErrInvalid, ErrConflict,
// ErrNotCharged, ErrSchema, and, save for Charge, ErrLost; any other means that
// the outcome is unknown, and the same call may be repeated. With ErrLost and
// ErrConflict the document is returned as well.

// Charge opens the document of a job and books its cost. Of job it takes who,
// what and CreatedAt; the state is that of a new job. A job that was charged
// already comes back as it stands, unless account, cost, namespace or name
// differ: then it is an ErrConflict.
func (s *Store) Charge(ctx context.Context, job Job) (Job, Outcome, error) {
	if err := validJob(job); err != nil {
		return Job{}, undecided, fmt.Errorf("charge: %w", err)
	}
	if job.CreatedAt.IsZero() {
		return Job{}, undecided, fmt.Errorf("charge: %w", invalid("job %q has no creation time", job.ID))
	}
	return s.charge(ctx, opened(job))
}

// Deliver books that a charged job was delivered. A refunded job is lost to it:
// Reclaim.
func (s *Store) Deliver(ctx context.Context, job Job, at time.Time) (Job, Outcome, error) {
	return s.transition(ctx, deliver, job, ask{at: at})
}

// Reclaim takes a refund back, since the job was delivered after all. A job that
// was never refunded is lost to it: Deliver.
func (s *Store) Reclaim(ctx context.Context, job Job, at time.Time) (Job, Outcome, error) {
	return s.transition(ctx, reclaim, job, ask{at: at})
}

// Refund gives back what a charged job cost, and books what follows the failure
// of attempt 0. A delivered job is lost to it, and so is the failure of a later
// attempt: FailAgain.
func (s *Store) Refund(ctx context.Context, job Job, failure Failure) (Job, Outcome, error) {
	return s.failure(ctx, refund, job, failure)
}

// FailAgain books what follows the failure of another attempt of a job that is
// refunded already. It moves no credits. A job that was never refunded is lost
// to it: Refund. There is nothing to book for a cancellation: ErrInvalid.
func (s *Store) FailAgain(ctx context.Context, job Job, failure Failure) (Job, Outcome, error) {
	if failure.Then == ThenNothing {
		return Job{}, undecided, fmt.Errorf("%s: %w", failAgain.name,
			invalid("job %q: cancelling a job that is refunded already has nothing to book", job.ID))
	}
	return s.failure(ctx, failAgain, job, failure)
}

// Redrive gives a dead-lettered job a fresh set of retries and a new attempt,
// not before notBefore. It acts once for each number of redrives that job names.
func (s *Store) Redrive(ctx context.Context, job Job, at, notBefore time.Time) (Job, Outcome, error) {
	if notBefore.IsZero() {
		return Job{}, undecided, fmt.Errorf("%s: %w", redrive.name, invalid("job %q: no time for the next attempt", job.ID))
	}
	return s.transition(ctx, redrive, job, ask{at: at, notBefore: moment(notBefore), redrives: job.Redrives})
}

func (s *Store) failure(ctx context.Context, e edge, job Job, f Failure) (Job, Outcome, error) {
	if err := validFailure(job.ID, f); err != nil {
		return Job{}, undecided, fmt.Errorf("%s: %w", e.name, err)
	}
	return s.transition(ctx, e, job, ask{
		at: f.At, attempt: f.Attempt, reason: bounded(f.Reason), then: f.Then, notBefore: moment(f.NotBefore),
	})
}

func (s *Store) transition(ctx context.Context, e edge, job Job, a ask) (Job, Outcome, error) {
	if err := validJob(job); err != nil {
		return Job{}, undecided, fmt.Errorf("%s: %w", e.name, err)
	}
	if a.at.IsZero() {
		return Job{}, undecided, fmt.Errorf("%s: %w", e.name, invalid("job %q: no time at which it happened", job.ID))
	}
	a.at = moment(a.at)
	return s.take(ctx, e, job, a)
}

func validFailure(jobID string, f Failure) error {
	switch {
	case f.Attempt < 0:
		return invalid("job %q: attempt %d", jobID, f.Attempt)
	case f.Then != ThenNothing && f.Then != ThenRetry && f.Then != ThenDeadLetter:
		return invalid("job %q: a failure can't be followed by %s", jobID, f.Then)
	case f.Then == ThenRetry && f.NotBefore.IsZero():
		return invalid("job %q: a retry without a time", jobID)
	default:
		return nil
	}
}

func validJob(job Job) error {
	if err := validID(job.ID); err != nil {
		return err
	}
	cluster, namespace, _, _ := SplitJobID(job.ID)
	switch {
	case job.Cluster != cluster || job.Namespace != namespace:
		return invalid("job %q belongs to cluster %q and namespace %q by its ID, not to %q and %q",
			job.ID, cluster, namespace, job.Cluster, job.Namespace)
	case job.Account == "":
		return invalid("job %q has no account", job.ID)
	case job.Name == "":
		return invalid("job %q names no object", job.ID)
	case job.Cost < 0:
		return invalid("job %q costs %d; a cost is 0 or more", job.ID, job.Cost)
	default:
		return nil
	}
}

func validID(id string) error {
	switch _, _, _, ok := SplitJobID(id); {
	case !ok:
		return invalid("job ID %q is not <cluster>/<namespace>/<ID>", id)
	case len(id) > maxID:
		return invalid("a job ID of %d bytes; at most %d", len(id), maxID)
	case !utf8.ValidString(id) || strings.ContainsRune(id, 0):
		return invalid("job ID %q is not plain text", id)
	default:
		return nil
	}
}
