package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// The names of what the package keeps in its database.
const (
	DefaultDatabase  = "recoup"
	JobsCollection   = "jobs"
	LedgerCollection = "ledger"
	MetaCollection   = "meta"
)

// DefaultTimeout bounds a call to the server when Config doesn't.
const DefaultTimeout = 10 * time.Second

// Config says where the books are.
type Config struct {
	// URI is a MongoDB connection string. Its concerns and read preference are
	// overruled: the books decide those.
	URI string
	// Database is DefaultDatabase if empty.
	Database string
	// Timeout bounds each call to the server. DefaultTimeout if 0.
	Timeout time.Duration
	// MonitorCommand sees every command; nil for none. Tests count with it.
	MonitorCommand *event.CommandMonitor
}

// Store is a connection to the books. It is safe for concurrent use.
type Store struct {
	client  *mongo.Client
	jobs    *mongo.Collection
	ledger  *mongo.Collection
	meta    *mongo.Collection
	timeout time.Duration
	where   string // for error messages: database and hosts, no credentials
	schema  schema

	preparing sync.Mutex
	prepared  atomic.Bool
}

// Open returns a Store without contacting the server. Its error is an
// ErrInvalid: the configuration can't work.
func Open(cfg Config) (*Store, error) {
	if cfg.URI == "" {
		return nil, invalid("no MongoDB connection string; give one such as mongodb://host:27017")
	}
	if cfg.Timeout < 0 {
		return nil, invalid("the time-out %s is negative", cfg.Timeout)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Database == "" {
		cfg.Database = DefaultDatabase
	}
	journaled := true
	opts := options.Client().
		// Before the URI, which may switch it off for a server that refuses
		// it: every call can be repeated anyway.
		SetRetryWrites(true).
		SetAppName("recoup").
		ApplyURI(cfg.URI).
		// After the URI, since a weaker choice would break what doc.go promises.
		SetWriteConcern(&writeconcern.WriteConcern{W: writeconcern.WCMajority, Journal: &journaled}).
		SetReadConcern(readconcern.Majority()).
		SetReadPreference(readpref.Primary()).
		SetServerSelectionTimeout(cfg.Timeout).
		SetConnectTimeout(cfg.Timeout).
		SetMonitor(cfg.MonitorCommand)
	client, err := mongo.Connect(opts)
	if err != nil {
		// The driver's message can quote the URI, which holds the password.
		return nil, invalid("the MongoDB connection string can't be used: %s", strings.ReplaceAll(err.Error(), cfg.URI, "<URI>"))
	}
	db := client.Database(cfg.Database)
	return &Store{
		client:  client,
		jobs:    db.Collection(JobsCollection),
		ledger:  db.Collection(LedgerCollection),
		meta:    db.Collection(MetaCollection),
		timeout: cfg.Timeout,
		where:   fmt.Sprintf("database %q at %s", cfg.Database, strings.Join(opts.Hosts, ",")),
		schema:  current,
	}, nil
}

// Ping asks the primary for a sign of life.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := s.call(ctx)
	defer cancel()
	if err := s.client.Ping(ctx, readpref.Primary()); err != nil {
		return s.failed(ctx, "ping", err)
	}
	return nil
}

// Close ends the connections. Calls under way fail.
func (s *Store) Close(ctx context.Context) error {
	ctx, cancel := s.call(ctx)
	defer cancel()
	if err := s.client.Disconnect(ctx); err != nil {
		return s.failed(ctx, "disconnect", err)
	}
	return nil
}

// Get reads a job's document. ErrNotCharged if there is none.
func (s *Store) Get(ctx context.Context, id string) (Job, error) {
	if err := validID(id); err != nil {
		return Job{}, err
	}
	ctx, cancel := s.call(ctx)
	defer cancel()
	var job Job
	err := s.jobs.FindOne(ctx, bson.D{{Key: "_id", Value: id}}).Decode(&job)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return Job{}, fmt.Errorf("job %q: %w", id, ErrNotCharged)
	}
	if err != nil {
		return Job{}, s.failed(ctx, fmt.Sprintf("read of job %q", id), err)
	}
	return job, nil
}

// call gives one call to the server its time-out.
func (s *Store) call(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.timeout)
}

// failed says what was tried, and where. The driver's own error for a call that
// ran out of time names neither the time nor the call.
func (s *Store) failed(ctx context.Context, what string, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%s in %s: no answer in time (%s a call): %w", what, s.where, s.timeout, err)
	}
	return fmt.Errorf("%s in %s: %w", what, s.where, err)
}
