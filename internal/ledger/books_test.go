package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
)

// The story that most tests tell: one job of 25 credits, charged at eight.
var (
	eight      = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	tenPast    = eight.Add(10 * time.Minute)
	twentyPast = eight.Add(20 * time.Minute)
	halfPast   = eight.Add(30 * time.Minute)
	nine       = eight.Add(time.Hour)
)

const (
	chargeRow  = "charge -25 at 08:00"
	refundRow  = "refund +25 at 08:10"
	reclaimRow = "reclaim -25 at 08:20"
)

// aJob is the job of the story, under an ID of its own.
func aJob(id string) Job {
	return Job{
		ID: JobID("c1", "team-a", id), Account: "acme", Cost: 25,
		Cluster: "c1", Namespace: "team-a", Name: "train", UID: "uid-1", CreatedAt: eight,
	}
}

func retry(attempt int) Failure {
	return Failure{Attempt: attempt, At: tenPast, Reason: "OOMKilled", Then: ThenRetry, NotBefore: nine}
}

func giveUp(attempt int) Failure {
	return Failure{Attempt: attempt, At: tenPast, Reason: "OOMKilled", Then: ThenDeadLetter}
}

func cancellation(attempt int) Failure {
	return Failure{Attempt: attempt, At: tenPast, Reason: "Cancelled"}
}

// books is a Store on a database of its own, with its commands counted.
type books struct {
	*Store
	g        *WithT
	commands atomic.Int64
	mu       sync.Mutex
	names    []string
}

// mongoURI is the server under test. There is no test without one.
func mongoURI(t testing.TB) string {
	t.Helper()
	uri := os.Getenv("MONGODB_URI")
	if uri == "" {
		t.Fatal("MONGODB_URI is not set: run `make test`, which brings up a server and sets it")
	}
	return uri
}

var databases atomic.Int64

// newBooks opens and prepares a database that is dropped afterwards.
func newBooks(t testing.TB) *books {
	t.Helper()
	b := openBooks(t, mongoURI(t), fmt.Sprintf("ledger_test_%d_%d_%d", os.Getpid(), time.Now().UnixNano(), databases.Add(1)))
	b.g.Expect(b.Prepare(t.Context())).To(Succeed())
	b.forget()
	return b
}

func openBooks(t testing.TB, uri, database string) *books {
	t.Helper()
	b := &books{g: NewWithT(t)}
	store, err := Open(Config{URI: uri, Database: database, Timeout: 20 * time.Second,
		MonitorCommand: &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
			b.commands.Add(1)
			b.mu.Lock()
			defer b.mu.Unlock()
			b.names = append(b.names, e.CommandName)
		}}})
	b.g.Expect(err).NotTo(HaveOccurred())
	b.Store = store
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := store.jobs.Database().Drop(ctx); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
		if err := store.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

// forget starts the count of commands anew.
func (b *books) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.names = nil
	b.commands.Store(0)
}

// sent returns the commands since forget.
func (b *books) sent() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string{}, b.names...)
}

// rows returns a job's rows as literals.
func (b *books) rows(t testing.TB, id string) []string {
	t.Helper()
	g := NewWithT(t)
	rows, err := b.Rows(t.Context(), id)
	g.Expect(err).NotTo(HaveOccurred())
	literals := []string{}
	for _, row := range rows {
		g.Expect(row.ID).To(Equal(id + ":" + string(row.Type)))
		g.Expect(row.JobID).To(Equal(id))
		g.Expect(row.RecordedAt).NotTo(BeZero())
		literals = append(literals, fmt.Sprintf("%s %+d at %s", row.Type, row.Amount, row.CreatedAt.Format("15:04")))
	}
	return literals
}

// charged puts a job into the books and returns its document.
func (b *books) charged(t testing.TB, job Job) Job {
	t.Helper()
	g := NewWithT(t)
	job, outcome, err := b.Charge(t.Context(), job)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(outcome).To(Equal(Won))
	return job
}

// refunded charges and refunds a job, with a retry to come.
func (b *books) refunded(t testing.TB, job Job) Job {
	t.Helper()
	g := NewWithT(t)
	job, outcome, err := b.Refund(t.Context(), b.charged(t, job), retry(0))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(outcome).To(Equal(Won))
	return job
}

// alter changes a document or row behind the ledger's back.
func (b *books) alter(t testing.TB, collection, id string, set bson.D) {
	t.Helper()
	g := NewWithT(t)
	result, err := b.jobs.Database().Collection(collection).UpdateOne(t.Context(),
		bson.D{{Key: "_id", Value: id}}, bson.D{{Key: "$set", Value: set}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.ModifiedCount).To(BeEquivalentTo(1))
}

// word says in one word how a call ended.
func word(outcome Outcome, err error) string {
	switch {
	case err == nil:
		return strings.ReplaceAll(outcome.String(), "already ", "")
	case outcome != undecided:
		return fmt.Sprintf("error with outcome %v: %v", outcome, err)
	case errors.Is(err, ErrLost):
		return "lost"
	case errors.Is(err, ErrNotCharged):
		return "absent"
	case errors.Is(err, ErrConflict):
		return "conflict"
	default:
		return err.Error()
	}
}
