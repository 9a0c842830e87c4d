package retry

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// Version is the payload version that this package writes and reads.
	Version = 1
	// MaxEntryBytes is the size of the largest entry that is read.
	MaxEntryBytes = 64 << 10
)

// ErrUndecodable marks bytes that are no entry.
var ErrUndecodable = errors.New("the entry can't be decoded")

// Entry is a retry on its way: which attempt of which job to start, and from
// when on.
type Entry struct {
	// Version is Version.
	Version int `json:"version"`
	// JobID is the ID of the job document. Required.
	JobID string `json:"job_id"`
	// Cluster, Namespace, Name and UID are the object that opened the job.
	// Namespace and Name are required.
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Account pays Cost, in credits: 0 or more.
	Account string `json:"account"`
	Cost    int64  `json:"cost"`
	// Attempts is the number of the attempt to start: 1 or more, since attempt 0
	// isn't a retry.
	Attempts int `json:"attempts"`
	// NotBefore is when the entry is due, by the Redis server's clock. Required.
	NotBefore time.Time `json:"not_before"`
	// Reason is why the attempt before failed. It is cut to MaxReasonBytes.
	Reason string `json:"reason"`
}

// Encode returns the entry as it goes over the wire. Equal entries have equal
// bytes, whatever the zone of their times. It refuses what Decode would refuse.
func (e Entry) Encode() ([]byte, error) {
	e.NotBefore = e.NotBefore.UTC()
	e.Reason = bounded(e.Reason)
	if err := e.validate(); err != nil {
		return nil, fmt.Errorf("the retry of job %q is no entry: %w", e.JobID, err)
	}
	raw, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encoding the retry of job %q: %w", e.JobID, err)
	}
	if len(raw) > MaxEntryBytes {
		return nil, fmt.Errorf("the retry of job %q is no entry: %w", bounded(e.JobID), tooLarge(len(raw)))
	}
	return raw, nil
}

// Decode reads an entry. It is strict: another version, a missing field, a due
// time that isn't RFC 3339 in UTC with a Z, bytes that aren't UTF-8, or more than
// MaxEntryBytes of them are an ErrUndecodable that says what is wrong. Fields
// that it doesn't know are skipped.
func Decode(raw []byte) (Entry, error) {
	e, err := decode(raw)
	if err != nil {
		return Entry{}, fmt.Errorf("%w: %w", ErrUndecodable, err)
	}
	return e, nil
}

func decode(raw []byte) (Entry, error) {
	if len(raw) > MaxEntryBytes {
		return Entry{}, tooLarge(len(raw))
	}
	if !utf8.Valid(raw) {
		return Entry{}, errors.New("it isn't UTF-8")
	}
	// The version first: another one may have other types in other fields.
	var head struct {
		Version   int             `json:"version"`
		NotBefore json.RawMessage `json:"not_before"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return Entry{}, err
	}
	if head.Version != Version {
		return Entry{}, wrongVersion(head.Version)
	}
	if err := checkDueTime(head.NotBefore); err != nil {
		return Entry{}, err
	}
	var e Entry
	if err := json.Unmarshal(raw, &e); err != nil {
		return Entry{}, err
	}
	e.Reason = bounded(e.Reason)
	return e, e.validate()
}

// checkDueTime says in one sentence what the decoder says in many, and refuses
// other zones, which producers write without knowing.
func checkDueTime(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return errors.New("not_before is missing")
	}
	var at time.Time
	if err := at.UnmarshalJSON(raw); err != nil || !strings.HasSuffix(string(raw), `Z"`) {
		return fmt.Errorf("not_before is %s; give an RFC 3339 time in UTC with a Z, such as 2026-03-01T08:00:00Z", bounded(string(raw)))
	}
	return nil
}

func (e *Entry) validate() error {
	switch {
	case e.Version != Version:
		return wrongVersion(e.Version)
	case e.JobID == "":
		return errors.New("job_id is missing")
	case e.Namespace == "", e.Name == "":
		return errors.New("namespace or name is missing")
	case e.Attempts < 1:
		return fmt.Errorf("attempts is %d; a retry starts attempt 1 or a later one", e.Attempts)
	case e.Cost < 0:
		return fmt.Errorf("cost is %d, and can't be negative", e.Cost)
	case e.NotBefore.IsZero():
		return errors.New("not_before is missing")
	}
	return nil
}

func wrongVersion(v int) error {
	return fmt.Errorf("version is %d, and this release reads version %d", v, Version)
}

func tooLarge(size int) error {
	return fmt.Errorf("it has %d bytes, and at most %d are read", size, MaxEntryBytes)
}
