package ledger

import (
	"context"
	"errors"
	"iter"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
)

type Config struct {
	URI, Database  string
	Timeout        time.Duration
	MonitorCommand *event.CommandMonitor
}
type Store struct{}
type Outcome int

const (
	Won Outcome = iota + 1
	AlreadyThere
)

var errTODO = errors.New("not yet")

func (o Outcome) String() string { return "" }

func Open(cfg Config) (*Store, error)              { return nil, errTODO }
func (s *Store) Prepare(ctx context.Context) error { return errTODO }
func (s *Store) Ping(ctx context.Context) error    { return errTODO }
func (s *Store) Close(ctx context.Context) error   { return errTODO }
func (s *Store) Charge(ctx context.Context, job Job) (Job, Outcome, error) {
	return Job{}, 0, errTODO
}
func (s *Store) Deliver(ctx context.Context, job Job, at time.Time) (Job, Outcome, error) {
	return Job{}, 0, errTODO
}
func (s *Store) Refund(ctx context.Context, job Job, failure Failure) (Job, Outcome, error) {
	return Job{}, 0, errTODO
}
func (s *Store) Reclaim(ctx context.Context, job Job, at time.Time) (Job, Outcome, error) {
	return Job{}, 0, errTODO
}
func (s *Store) FailAgain(ctx context.Context, job Job, failure Failure) (Job, Outcome, error) {
	return Job{}, 0, errTODO
}
func (s *Store) Redrive(ctx context.Context, job Job, at, notBefore time.Time) (Job, Outcome, error) {
	return Job{}, 0, errTODO
}
func (s *Store) Get(ctx context.Context, id string) (Job, error)          { return Job{}, errTODO }
func (s *Store) EnsureRows(ctx context.Context, job Job) error            { return errTODO }
func (s *Store) Rows(ctx context.Context, id string) ([]Row, error)       { return nil, errTODO }
func (s *Store) Balance(ctx context.Context, account string) (int64, error) { return 0, errTODO }
func (s *Store) DeadLettered(ctx context.Context, cluster string) iter.Seq2[Job, error] {
	return nil
}
