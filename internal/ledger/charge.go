package ledger

import (
	"context"
	"fmt"
)

// insert opens the document. A duplicate key, and nothing but that, is "already
// charged".
func (s *Store) insert(ctx context.Context, job Job) (Outcome, error) {
	ctx, cancel := s.call(ctx)
	defer cancel()
	_, err := s.jobs.InsertOne(ctx, job)
	switch {
	case err == nil:
		return Won, nil
	case onlyDuplicates(err):
		return AlreadyThere, nil
	default:
		return undecided, s.failed(ctx, fmt.Sprintf("charge of job %q", job.ID), err)
	}
}

// charge opens the document, or compares the one that is there.
func (s *Store) charge(ctx context.Context, job Job) (Job, Outcome, error) {
	if err := s.Prepare(ctx); err != nil {
		return Job{}, undecided, err
	}
	outcome, err := s.insert(ctx, job)
	if err != nil {
		return Job{}, undecided, err
	}
	if outcome == AlreadyThere {
		want := job
		if job, err = s.Get(ctx, want.ID); err != nil {
			return Job{}, undecided, fmt.Errorf("charge: %w", err)
		}
		if err := contradiction(job, want); err != nil {
			return job, undecided, fmt.Errorf("charge: %w", err)
		}
	}
	if err := s.ensureRows(ctx, job); err != nil {
		return job, undecided, err
	}
	return job, outcome, nil
}

// contradiction compares what never changes. A job belongs to the object, by
// name, that opened it: else one charge could pay for many runs.
func contradiction(have, want Job) error {
	switch {
	case have.Account != want.Account:
		return &ConflictError{JobID: have.ID, Field: "account", Have: have.Account, Want: want.Account}
	case have.Cost != want.Cost:
		return &ConflictError{JobID: have.ID, Field: "cost", Have: have.Cost, Want: want.Cost}
	case have.Namespace != want.Namespace:
		return &ConflictError{JobID: have.ID, Field: "namespace", Have: have.Namespace, Want: want.Namespace}
	case have.Name != want.Name:
		return &ConflictError{JobID: have.ID, Field: "name", Have: have.Name, Want: want.Name}
	default:
		return nil
	}
}
