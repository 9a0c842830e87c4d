package retry

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// DeadLetter puts a job on the list for people, once: what was put there already
// changes nothing, also where a person took it off since, and another dead letter
// of the same job replaces it in its place. Where the list is empty, all jobs come
// again: a person deleted it, or the server lost it.
func (l *Lane) DeadLetter(ctx context.Context, e DeadEntry) error {
	raw, err := e.Encode()
	if err != nil {
		return err
	}
	ctx, cancel := l.call(ctx)
	defer cancel()
	if err := deadLetterScript.Run(ctx, l.rdb, []string{l.keys.dead, l.keys.deadIndex}, e.JobID, raw).Err(); err != nil {
		return l.failed(ctx, fmt.Sprintf("writing the dead letter of job %q to %q", e.JobID, l.keys.dead), err)
	}
	return nil
}

// RemoveDeadLetter takes a job off the list for people. One that isn't there is
// no error.
func (l *Lane) RemoveDeadLetter(ctx context.Context, jobID string) error {
	ctx, cancel := l.call(ctx)
	defer cancel()
	if err := removeDeadLetterScript.Run(ctx, l.rdb, []string{l.keys.dead, l.keys.deadIndex}, jobID).Err(); err != nil {
		return l.failed(ctx, fmt.Sprintf("taking the dead letter of job %q off %q", jobID, l.keys.dead), err)
	}
	return nil
}

// Bury sets an entry that can't be decoded aside: it puts a PoisonEntry on the
// list for people, with the entry's bytes and the reason, and ends the entry.
// Bytes that lie there already are not put there again.
func (l *Lane) Bury(ctx context.Context, d Delivery, reason error) error {
	letter := PoisonEntry{Version: Version, Raw: d.Raw, At: l.Now()}
	if reason != nil {
		letter.Error = bounded(reason.Error())
	}
	raw, err := json.Marshal(letter)
	if err != nil {
		return fmt.Errorf("encoding an entry that can't be decoded: %w", err)
	}
	ctx, cancel := l.call(ctx)
	defer cancel()
	if err := buryScript.Run(ctx, l.rdb, []string{l.keys.dead, l.keys.deadIndex, l.keys.leased},
		d.Raw, poisonField(d.Raw), raw).Err(); err != nil {
		return l.failed(ctx, fmt.Sprintf("setting an entry that can't be decoded aside in %q", l.keys.dead), err)
	}
	return nil
}

// poisonField is the index's field for an entry that names no job. A job's ID
// holds slashes, so that it can't be mistaken for one.
func poisonField(raw []byte) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(raw))
}
