package ledger

import (
	"errors"
	"fmt"
)

// What callers tell apart. Any other error means that the server could not be
// asked or its answer was lost: call again.
var (
	// ErrConflict: what is in the books contradicts the call. Nothing was
	// written. See ConflictError for what differs.
	ErrConflict = errors.New("the books say otherwise")
	// ErrNotCharged: there is no document; the job has to be charged first.
	ErrNotCharged = errors.New("the job has not been charged")
	// ErrLost: the document stands where this edge doesn't start from. Nothing
	// changed; see LostError for the document, and decide again.
	ErrLost = errors.New("the job stands elsewhere")
	// ErrSchema: this binary must not write to this database. Permanent until
	// another binary runs.
	ErrSchema = errors.New("the schema of the books is not this binary's")
	// ErrOverflow: a sum of credits doesn't fit in 64 bits.
	ErrOverflow = errors.New("the sum does not fit in 64 bits")
	// ErrInvalid: the call itself makes no sense; nothing was sent.
	ErrInvalid = errors.New("invalid call")
)

// ConflictError says which field of the books contradicts a call. It is an
// ErrConflict.
type ConflictError struct {
	JobID string
	// Field is account, cost, namespace or name of the document, or
	// "<type>.<field>" of a row.
	Field string
	// Have is what the books hold, Want is what the call said.
	Have, Want any
}

// Error says what differs and that it was left alone.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("job %q: %s is %v in the books, not %v; nothing was overwritten", e.JobID, e.Field, e.Have, e.Want)
}

// Is makes a ConflictError an ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// LostError is returned by an edge that doesn't start where the document
// stands. It is an ErrLost.
type LostError struct {
	// Edge is the edge that was wanted, in the words of the table in edges.go.
	Edge string
	// Job is the document as it stands.
	Job Job
}

// Error says what was wanted and where the document stands.
func (e *LostError) Error() string {
	return fmt.Sprintf("%s of job %q does not apply: it is %s", e.Edge, e.Job.ID, e.Job.standing())
}

// Is makes a LostError an ErrLost.
func (e *LostError) Is(target error) bool { return target == ErrLost }

// invalid builds an ErrInvalid.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}
