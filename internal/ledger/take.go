package ledger

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// take brings the job along the edge, from whatever the caller believes, and
// makes sure of the rows. If it is won at once, it costs two commands.
func (s *Store) take(ctx context.Context, e edge, belief Job, a ask) (Job, Outcome, error) {
	if err := s.Prepare(ctx); err != nil {
		return Job{}, undecided, err
	}
	now, outcome, err := s.settle(ctx, e, belief, a)
	if err != nil {
		return now, undecided, err
	}
	// Not before the document, and not reported before the rows.
	if err := s.ensureRows(ctx, now); err != nil {
		return now, undecided, err
	}
	return now, outcome, nil
}

// settle tries the write, then reads the document if the write matched nothing,
// and tries once more if the edge turns out to start at the document as read.
func (s *Store) settle(ctx context.Context, e edge, belief Job, a ask) (Job, Outcome, error) {
	const tries = 3
	for range tries {
		// A belief that the edge doesn't start from can't win, or would win
		// without proving the document; one without times can't give the rows
		// theirs.
		if e.starts(belief, a) && undated(belief) == "" {
			now, won, err := s.write(ctx, e, belief, a)
			if err != nil {
				return Job{}, undecided, err
			}
			if won {
				return now, Won, nil
			}
		}
		now, err := s.Get(ctx, belief.ID)
		switch {
		case err != nil:
			return Job{}, undecided, fmt.Errorf("%s: %w", e.name, err)
		case contradiction(now, belief) != nil:
			return now, undecided, fmt.Errorf("%s: %w", e.name, contradiction(now, belief))
		case e.there(now, a):
			return now, AlreadyThere, nil
		case !e.starts(now, a):
			return now, undecided, &LostError{Edge: e.name, Job: now}
		}
		belief = now
	}
	return Job{}, undecided, fmt.Errorf("%s of job %q in %s: other writers changed the job %d times meanwhile; try again",
		e.name, belief.ID, s.where, tries)
}

// write is the conditional write itself. It returns the document as the write
// left it if it was won.
func (s *Store) write(ctx context.Context, e edge, belief Job, a ask) (Job, bool, error) {
	sets := e.sets(belief, a)
	ctx, cancel := s.call(ctx)
	defer cancel()
	result, err := s.jobs.UpdateOne(ctx, e.filter(belief, a), bson.D{{Key: "$set", Value: sets}})
	if err != nil {
		return Job{}, false, s.failed(ctx, fmt.Sprintf("%s of job %q", e.name, belief.ID), err)
	}
	if result.ModifiedCount == 0 {
		return Job{}, false, nil
	}
	now, err := merged(belief, sets)
	return now, true, err
}

// merged is what $set makes of a document.
func merged(job Job, sets bson.D) (Job, error) {
	raw, err := bson.Marshal(sets)
	if err == nil {
		err = bson.Unmarshal(raw, &job)
	}
	if err != nil {
		return Job{}, fmt.Errorf("job %q: apply what was written: %w", job.ID, err)
	}
	return job, nil
}
