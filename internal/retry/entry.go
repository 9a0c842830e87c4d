package retry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// Version is the version of the payloads that this package writes and reads.
const Version = 1

const (
	// MaxEntryBytes bounds an entry; what is larger is set aside unread.
	MaxEntryBytes = 64 << 10
	// MaxReasonBytes bounds the reason in an entry, which can come from a workload's own status.
	MaxReasonBytes = 256
)

// ErrUndecodable marks entries that can't be read.
var ErrUndecodable = errors.New("entry can't be decoded")

// Entry asks for one attempt of one job. Its encoding is a function of its fields, so that the same entry is the same bytes
// however often it is written.
type Entry struct {
	// Version is the payload's version.
	Version int `json:"version"`
	// JobID is the ID of the job document, <cluster>/<namespace>/<job ID>.
	JobID string `json:"job_id"`
	// Cluster, Namespace, Name and UID name the BillableJob that opened the job.
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Account is who pays, Cost the price in credits.
	Account string `json:"account"`
	Cost    int64  `json:"cost"`
	// Attempts is the number of the attempt to start, at least 1.
	Attempts int `json:"attempts"`
	// NotBefore is when the attempt is due, by the Redis server's clock, to the millisecond.
	NotBefore time.Time `json:"not_before"`
	// Reason is why the attempt before it failed.
	Reason string `json:"reason"`
}

// Encode returns the entry as it stands in the lane.
func (e Entry) Encode() ([]byte, error) {
	e.NotBefore = e.NotBefore.UTC().Truncate(time.Millisecond)
	e.Reason = bound(e.Reason)
	if err := e.validate(); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encoding the retry of job %s: %w", e.JobID, err)
	}
	if len(raw) > MaxEntryBytes {
		return nil, fmt.Errorf("encoding the retry of job %s: it has %d bytes, and the limit is %d", e.JobID, len(raw), MaxEntryBytes)
	}
	return raw, nil
}

// Decode reads an entry. An error matches ErrUndecodable and says what is wrong.
func Decode(raw []byte) (Entry, error) {
	if len(raw) > MaxEntryBytes {
		return Entry{}, fmt.Errorf("%w: it has %d bytes, and the limit is %d", ErrUndecodable, len(raw), MaxEntryBytes)
	}
	var e Entry
	d := json.NewDecoder(bytes.NewReader(raw))
	if err := d.Decode(&e); err != nil {
		return Entry{}, fmt.Errorf("%w: %w", ErrUndecodable, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Entry{}, fmt.Errorf("%w: more than one value", ErrUndecodable)
	}
	if err := e.validate(); err != nil {
		return Entry{}, fmt.Errorf("%w: %w", ErrUndecodable, err)
	}
	e.NotBefore = e.NotBefore.UTC()
	return e, nil
}

func (e Entry) validate() error {
	switch {
	case e.Version != Version:
		return fmt.Errorf("version is %d, and this binary reads version %d", e.Version, Version)
	case e.JobID == "" || e.Namespace == "" || e.Name == "":
		return errors.New("job_id, namespace and name must be set")
	case e.Attempts < 1:
		return fmt.Errorf("attempts is %d; attempt 0 isn't a retry", e.Attempts)
	case e.NotBefore.IsZero() || e.NotBefore.Year() > 9999:
		return errors.New("not_before must be a time between the years 1 and 9999")
	}
	return nil
}

// DeadEntry is a dead letter: a job for which no retry is left, for people to look at.
type DeadEntry struct {
	// Version is the payload's version.
	Version int `json:"version"`
	// JobID is the ID of the job document; there is at most one dead letter a job.
	JobID string `json:"job_id"`
	// Cluster, Namespace, Name and UID name the BillableJob that opened the job.
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Account is who would pay, Cost the price in credits, which has been given back.
	Account string `json:"account"`
	Cost    int64  `json:"cost"`
	// Reason is why the last attempt failed, Attempts its number.
	Reason   string `json:"reason"`
	Attempts int    `json:"attempts"`
	// FirstFailedAt and FailedAt are when the first and the last failure were booked.
	FirstFailedAt time.Time `json:"first_failed_at"`
	FailedAt      time.Time `json:"failed_at"`
}

// Encode returns the dead letter as it stands in the list.
func (e DeadEntry) Encode() ([]byte, error) {
	e.Reason = bound(e.Reason)
	e.FirstFailedAt = e.FirstFailedAt.UTC().Truncate(time.Millisecond)
	e.FailedAt = e.FailedAt.UTC().Truncate(time.Millisecond)
	raw, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encoding the dead letter of job %s: %w", e.JobID, err)
	}
	return raw, nil
}

// PoisonEntry is how an entry that can't be decoded stands among the dead letters.
type PoisonEntry struct {
	// Version is the payload's version.
	Version int `json:"version"`
	// Raw are the entry's bytes, in base64.
	Raw []byte `json:"raw"`
	// Error says why it can't be decoded.
	Error string `json:"error"`
	// At is when it was set aside.
	At time.Time `json:"at"`
}

func bound(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= MaxReasonBytes {
		return text
	}
	end := MaxReasonBytes
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
