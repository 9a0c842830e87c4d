package ledger

import "time"

// Type says what a row books.
type Type string

// The types of a job's rows, in the order in which they can come about.
const (
	TypeCharge  Type = "charge"
	TypeRefund  Type = "refund"
	TypeReclaim Type = "reclaim"
)

// Row is one immutable entry of the ledger.
type Row struct {
	// ID is what RowID makes of the job's ID and the type.
	ID      string `bson:"_id"`
	JobID   string `bson:"job_id"`
	Account string `bson:"account"`
	Type    Type   `bson:"type"`
	// Amount is signed: below 0 the account pays, above 0 it gets back.
	Amount int64 `bson:"amount"`
	// CreatedAt is the moment of the decision, copied from the job document.
	CreatedAt time.Time `bson:"created_at"`
	// RecordedAt is stamped once, by the server's clock.
	RecordedAt time.Time `bson:"recorded_at,omitempty"`
}

// demanded returns the rows that a document demands, without RecordedAt. It is
// the only place that says which rows a job has.
func demanded(job Job) []Row {
	row := func(typ Type, amount int64, at time.Time) Row {
		return Row{
			ID: RowID(job.ID, typ), JobID: job.ID, Account: job.Account,
			Type: typ, Amount: amount, CreatedAt: at,
		}
	}
	rows := []Row{row(TypeCharge, -job.Cost, job.CreatedAt)}
	if job.IsRefunded {
		rows = append(rows, row(TypeRefund, +job.Cost, job.RefundedAt))
	}
	if job.IsReclaimed {
		rows = append(rows, row(TypeReclaim, -job.Cost, job.ReclaimedAt))
	}
	return rows
}

// undated returns the type of a row that the document demands without saying
// when it was decided, or nothing. Only a document that didn't come from the
// books has such a row.
func undated(job Job) Type {
	for _, row := range demanded(job) {
		if row.CreatedAt.IsZero() {
			return row.Type
		}
	}
	return ""
}

// rank orders types that were decided in one millisecond. Types that it doesn't
// know come last.
func (t Type) rank() int {
	switch t {
	case TypeCharge:
		return 0
	case TypeRefund:
		return 1
	case TypeReclaim:
		return 2
	default:
		return 3
	}
}
