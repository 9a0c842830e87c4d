package retry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// DeadLetter puts a job on the list for people. A job is there once: the same entry changes nothing, and another one takes
// the place of the first.
func (l *Lane) DeadLetter(ctx context.Context, e DeadEntry) error {
	if e.JobID == "" {
		return errors.New("a dead letter needs a job ID")
	}
	raw, err := e.Encode()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	if err := deadLetterScript.Run(ctx, l.rdb, []string{l.keys.dead, l.keys.deadIndex}, e.JobID, raw).Err(); err != nil {
		return fmt.Errorf("writing the dead letter of job %s to %s: %w", e.JobID, l.keys.dead, err)
	}
	return nil
}

// RemoveDeadLetter takes a job off the list for people; one that isn't there is no error.
func (l *Lane) RemoveDeadLetter(ctx context.Context, jobID string) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	if err := removeDeadLetterScript.Run(ctx, l.rdb, []string{l.keys.dead, l.keys.deadIndex}, jobID).Err(); err != nil {
		return fmt.Errorf("taking the dead letter of job %s off %s: %w", jobID, l.keys.dead, err)
	}
	return nil
}

// Bury sets an entry that can't be decoded aside, with its bytes and the reason, and ends it.
func (l *Lane) Bury(ctx context.Context, d Delivery, reason error) error {
	raw, err := json.Marshal(PoisonEntry{Version: Version, Raw: d.Raw, Error: bound(reason.Error()), At: l.Now().Truncate(time.Millisecond)})
	if err != nil {
		return fmt.Errorf("encoding an entry that can't be decoded: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	if err := buryScript.Run(ctx, l.rdb, []string{l.keys.dead, l.keys.leased}, d.Raw, raw).Err(); err != nil {
		return fmt.Errorf("setting an entry that can't be decoded aside in %s: %w", l.keys.dead, err)
	}
	return nil
}
