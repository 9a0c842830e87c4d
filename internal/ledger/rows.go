package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// EnsureRows makes sure that the ledger holds the rows that the document
// demands, and that they say what it says: else it is an ErrConflict, and the
// row stays as it is. One command, if all is well.
func (s *Store) EnsureRows(ctx context.Context, job Job) error {
	if err := validJob(job); err != nil {
		return fmt.Errorf("rows: %w", err)
	}
	if typ := undated(job); typ != "" {
		return fmt.Errorf("rows: %w", invalid("job %q: its %s has no time; read the document first", job.ID, typ))
	}
	if err := s.Prepare(ctx); err != nil {
		return err
	}
	return s.ensureRows(ctx, job)
}

// Rows returns a job's rows in the order of their decisions. None is not an
// error: see Get for whether the job exists.
func (s *Store) Rows(ctx context.Context, id string) ([]Row, error) {
	if err := validID(id); err != nil {
		return nil, fmt.Errorf("rows: %w", err)
	}
	ctx, cancel := s.call(ctx)
	defer cancel()
	cursor, err := s.ledger.Find(ctx, bson.D{{Key: "job_id", Value: id}})
	var rows []Row
	if err == nil {
		err = cursor.All(ctx, &rows)
	}
	if err != nil {
		return nil, s.failed(ctx, fmt.Sprintf("read of the rows of job %q", id), err)
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Type.rank(), b.Type.rank()), cmp.Compare(a.ID, b.ID))
	})
	return rows, nil
}

// ensureRows writes what is missing and compares what is there, in one unordered
// command: an upsert a row, which meets its duplicate if the row is there, and a
// write a row that changes nothing and whose match proves the row.
func (s *Store) ensureRows(ctx context.Context, job Job) error {
	rows := demanded(job)
	writes := make([]mongo.WriteModel, 0, 2*len(rows))
	for _, row := range rows {
		writes = append(writes, appended(row))
	}
	for _, row := range rows {
		writes = append(writes, proven(row))
	}
	call, cancel := s.call(ctx)
	defer cancel()
	result, err := s.ledger.BulkWrite(call, writes, options.BulkWrite().SetOrdered(false))
	if err != nil && !onlyDuplicates(err) {
		return s.failed(call, fmt.Sprintf("write of the rows of job %q", job.ID), err)
	}
	// A modification is a row of somebody else's that had not been stamped: its
	// match would count for two.
	if result.MatchedCount == int64(len(rows)) && result.ModifiedCount == 0 {
		return nil
	}
	return s.compareRows(ctx, job.ID, rows)
}

// appended inserts a row, stamped by the server's clock, unless its key is
// taken. The filter can't match a row of this package, since they are all
// stamped; it names the amount as well, so that it can't touch another's row
// that says something else.
func appended(row Row) mongo.WriteModel {
	return mongo.NewUpdateOneModel().
		SetFilter(append(content(row), bson.E{Key: "recorded_at", Value: bson.D{{Key: "$exists", Value: false}}})).
		SetUpdate(bson.D{
			{Key: "$setOnInsert", Value: bson.D{{Key: "created_at", Value: row.CreatedAt}}},
			{Key: "$currentDate", Value: bson.D{{Key: "recorded_at", Value: true}}},
		}).
		SetUpsert(true)
}

// proven matches a row that says what it should, and leaves it alone: without
// an insert, $setOnInsert does nothing.
func proven(row Row) mongo.WriteModel {
	return mongo.NewUpdateOneModel().
		SetFilter(content(row)).
		SetUpdate(bson.D{{Key: "$setOnInsert", Value: bson.D{{Key: "created_at", Value: row.CreatedAt}}}})
}

// content is what two rows must share to be one.
func content(row Row) bson.D {
	return bson.D{
		{Key: "_id", Value: row.ID},
		{Key: "job_id", Value: row.JobID},
		{Key: "account", Value: row.Account},
		{Key: "type", Value: row.Type},
		{Key: "amount", Value: row.Amount},
	}
}

// compareRows reads the rows and says which one differs, and in what.
func (s *Store) compareRows(ctx context.Context, jobID string, want []Row) error {
	keys := make([]string, len(want))
	for i, row := range want {
		keys[i] = row.ID
	}
	ctx, cancel := s.call(ctx)
	defer cancel()
	cursor, err := s.ledger.Find(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: keys}}}})
	var have []Row
	if err == nil {
		err = cursor.All(ctx, &have)
	}
	if err != nil {
		return s.failed(ctx, fmt.Sprintf("comparison of the rows of job %q", jobID), err)
	}
	byKey := make(map[string]Row, len(have))
	for _, row := range have {
		byKey[row.ID] = row
	}
	for _, row := range want {
		there, ok := byKey[row.ID]
		if !ok {
			return fmt.Errorf("row %q in %s: it was acknowledged and is not there", row.ID, s.where)
		}
		if err := differs(there, row); err != nil {
			return fmt.Errorf("rows: %w", err)
		}
	}
	return nil
}

func differs(have, want Row) error {
	conflict := func(field string, have, wanted any) error {
		return &ConflictError{JobID: want.JobID, Field: string(want.Type) + "." + field, Have: have, Want: wanted}
	}
	switch {
	case have.JobID != want.JobID:
		return conflict("job_id", have.JobID, want.JobID)
	case have.Account != want.Account:
		return conflict("account", have.Account, want.Account)
	case have.Type != want.Type:
		return conflict("type", have.Type, want.Type)
	case have.Amount != want.Amount:
		return conflict("amount", have.Amount, want.Amount)
	default:
		return nil
	}
}
