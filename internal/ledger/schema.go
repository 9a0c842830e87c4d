package ledger

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// SchemaVersion is the version of the documents that this binary reads and
// writes. It rises when an older binary would misread or damage the books.
const SchemaVersion = 1

// schemaID is the key of the one document in the meta collection that says
// which version the database holds.
const schemaID = "schema"

// schema is a version and the way to it: upgrades[v] turns version v into v+1
// and may be repeated after it was interrupted at any point.
type schema struct {
	version  int
	upgrades map[int]func(context.Context, *Store) error
}

// current is this binary's schema. Version 1 is the first.
var current = schema{version: SchemaVersion}

// Prepare checks the schema version, upgrades an older one that it knows how to
// upgrade, and creates the indexes. Every call that writes does so first; once
// it has succeeded it costs nothing. ErrSchema is permanent: this binary must
// not write here, and the message says what to do.
func (s *Store) Prepare(ctx context.Context) error {
	if s.prepared.Load() {
		return nil
	}
	s.preparing.Lock()
	defer s.preparing.Unlock()
	if s.prepared.Load() {
		return nil
	}
	// The version comes first: an index is a write, too.
	if err := s.agreeOnSchema(ctx); err != nil {
		return err
	}
	if err := s.createIndexes(ctx); err != nil {
		return err
	}
	s.prepared.Store(true)
	return nil
}

// agreeOnSchema leaves the database at this binary's version or returns an
// error.
func (s *Store) agreeOnSchema(ctx context.Context) error {
	found, err := s.schemaVersion(ctx)
	if err != nil {
		return err
	}
	for found < s.schema.version {
		upgrade, known := s.schema.upgrades[found]
		if !known {
			return fmt.Errorf("%w: %s has schema version %d, this binary writes version %d and can't upgrade from there; "+
				"run the releases in between, oldest first", ErrSchema, s.where, found, s.schema.version)
		}
		if err := upgrade(ctx, s); err != nil {
			return fmt.Errorf("upgrade of %s from schema version %d: %w", s.where, found, err)
		}
		if err := s.raiseSchema(ctx, found); err != nil {
			return err
		}
		// Read again: another binary may have raised it at the same time, and
		// further.
		if found, err = s.schemaVersion(ctx); err != nil {
			return err
		}
	}
	if found > s.schema.version {
		return fmt.Errorf("%w: %s has schema version %d, this binary writes version %d; "+
			"run the release that wrote it, or a newer one; nothing was changed", ErrSchema, s.where, found, s.schema.version)
	}
	return nil
}

// schemaVersion reads the version, and gives a new database this binary's.
func (s *Store) schemaVersion(ctx context.Context) (int, error) {
	version, found, err := s.readSchema(ctx)
	if err != nil || found {
		return version, err
	}
	if err := s.insertSchema(ctx); err != nil {
		return 0, err
	}
	// Read what is there now: another manager may have been the first.
	version, found, err = s.readSchema(ctx)
	if err == nil && !found {
		err = fmt.Errorf("schema version of %s: it was acknowledged and is not there", s.where)
	}
	return version, err
}

func (s *Store) readSchema(ctx context.Context) (version int, found bool, err error) {
	ctx, cancel := s.call(ctx)
	defer cancel()
	var doc struct {
		Version int `bson:"version"`
	}
	err = s.meta.FindOne(ctx, bson.D{{Key: "_id", Value: schemaID}}).Decode(&doc)
	switch {
	case err == nil:
		return doc.Version, true, nil
	case errors.Is(err, mongo.ErrNoDocuments):
		return 0, false, nil
	default:
		return 0, false, s.failed(ctx, "read of the schema version", err)
	}
}

func (s *Store) insertSchema(ctx context.Context) error {
	ctx, cancel := s.call(ctx)
	defer cancel()
	_, err := s.meta.InsertOne(ctx, bson.D{{Key: "_id", Value: schemaID}, {Key: "version", Value: s.schema.version}})
	if err != nil && !onlyDuplicates(err) {
		return s.failed(ctx, "write of the schema version", err)
	}
	return nil
}

// raiseSchema goes from one version to the next. It changes nothing if another
// binary has done so.
func (s *Store) raiseSchema(ctx context.Context, from int) error {
	ctx, cancel := s.call(ctx)
	defer cancel()
	_, err := s.meta.UpdateOne(ctx,
		bson.D{{Key: "_id", Value: schemaID}, {Key: "version", Value: from}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "version", Value: from + 1}}}})
	if err != nil {
		return s.failed(ctx, fmt.Sprintf("raise of the schema version from %d", from), err)
	}
	return nil
}

// createIndexes creates what every query here needs so as not to walk over all
// jobs or rows. Those that exist stay as they are.
func (s *Store) createIndexes(ctx context.Context) error {
	for _, want := range []struct {
		collection *mongo.Collection
		model      mongo.IndexModel
	}{
		// Rows of a job.
		{s.ledger, mongo.IndexModel{Keys: bson.D{{Key: "job_id", Value: 1}}}},
		// Balance of an account; the times are for sums up to a moment.
		{s.ledger, mongo.IndexModel{Keys: bson.D{{Key: "account", Value: 1}, {Key: "recorded_at", Value: 1}}}},
		// Dead letters of a cluster, in order of their keys.
		{s.jobs, mongo.IndexModel{
			Keys:    bson.D{{Key: "cluster", Value: 1}, {Key: "_id", Value: 1}},
			Options: options.Index().SetPartialFilterExpression(bson.D{{Key: "is_dead_lettered", Value: true}}),
		}},
	} {
		if err := s.createIndex(ctx, want.collection, want.model); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) createIndex(ctx context.Context, collection *mongo.Collection, model mongo.IndexModel) error {
	ctx, cancel := s.call(ctx)
	defer cancel()
	if _, err := collection.Indexes().CreateOne(ctx, model); err != nil {
		return s.failed(ctx, fmt.Sprintf("creation of an index on %s %v", collection.Name(), model.Keys), err)
	}
	return nil
}
