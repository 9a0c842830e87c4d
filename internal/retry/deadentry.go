package retry

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// DeadEntry is a dead letter: a job that is not retried any more, as people find
// it on the dead-letter list.
type DeadEntry struct {
	// Version is Version.
	Version int `json:"version"`
	// JobID is the ID of the job document. Required. There is one dead letter a
	// job.
	JobID string `json:"job_id"`
	// Cluster, Namespace, Name and UID are the object that opened the job.
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Account was given back Cost, in credits.
	Account string `json:"account"`
	Cost    int64  `json:"cost"`
	// Reason is why the last attempt failed. It is cut to MaxReasonBytes.
	Reason string `json:"reason"`
	// Attempts is the number of the attempt that failed last.
	Attempts int `json:"attempts"`
	// FirstFailedAt and FailedAt are the first and the latest failure.
	FirstFailedAt time.Time `json:"first_failed_at"`
	FailedAt      time.Time `json:"failed_at"`
}

// Encode returns the dead letter as it stands on the list. Equal dead letters
// have equal bytes, whatever the zone of their times.
func (e DeadEntry) Encode() ([]byte, error) {
	if e.Version != Version {
		return nil, fmt.Errorf("the dead letter of job %q: %w", e.JobID, wrongVersion(e.Version))
	}
	if e.JobID == "" {
		return nil, errors.New("a dead letter needs a job ID")
	}
	e.FirstFailedAt, e.FailedAt = e.FirstFailedAt.UTC(), e.FailedAt.UTC()
	e.Reason = bounded(e.Reason)
	raw, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encoding the dead letter of job %q: %w", e.JobID, err)
	}
	return raw, nil
}

// PoisonEntry is what stands on the dead-letter list for an entry that can't be
// decoded.
type PoisonEntry struct {
	// Version is Version.
	Version int `json:"version"`
	// Raw is the entry as it was found; base64 in JSON.
	Raw []byte `json:"raw"`
	// Error says why it can't be decoded, in at most MaxReasonBytes.
	Error string `json:"error"`
	// At is when it was set aside, by the Redis server's clock.
	At time.Time `json:"at"`
}
