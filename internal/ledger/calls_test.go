package ledger

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// offline is a Store that must refuse a call before it reaches for a server.
func offline(t *testing.T) *Store {
	t.Helper()
	store, err := Open(Config{URI: "mongodb://127.0.0.1:1", Timeout: time.Millisecond})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = store.Close(context.Background()) })
	return store
}

func TestCallsThatMakeNoSenseAreRefusedUnsent(t *testing.T) {
	s, ctx := offline(t), t.Context()
	charge := func(change func(*Job)) func() error {
		return func() error {
			job := aJob("x")
			change(&job)
			_, _, err := s.Charge(ctx, job)
			return err
		}
	}
	refund := func(f Failure) func() error {
		return func() error { _, _, err := s.Refund(ctx, aJob("x"), f); return err }
	}
	for name, c := range map[string]struct {
		call func() error
		want string
	}{
		"id without namespace": {charge(func(j *Job) { j.ID = "c1/x" }), `job ID "c1/x" is not <cluster>/<namespace>/<ID>`},
		"empty id":             {charge(func(j *Job) { j.ID = "c1/team-a/" }), `is not <cluster>/<namespace>/<ID>`},
		"id of another tenant": {charge(func(j *Job) { j.ID = JobID("c1", "team-b", "x") }), `belongs to cluster "c1" and namespace "team-b" by its ID, not to "c1" and "team-a"`},
		"namespace with slash": {charge(func(j *Job) { j.Namespace = "team/a"; j.ID = JobID("c1", "team/a", "x") }), `namespace "team" by its ID`},
		"long id":              {charge(func(j *Job) { j.ID = JobID("c1", "team-a", strings.Repeat("x", 2000)) }), "at most 1024"},
		"zero byte":            {charge(func(j *Job) { j.ID = JobID("c1", "team-a", "\x00") }), "not plain text"},
		"no account":           {charge(func(j *Job) { j.Account = "" }), "has no account"},
		"no name":              {charge(func(j *Job) { j.Name = "" }), "names no object"},
		"negative cost":        {charge(func(j *Job) { j.Cost = -1 }), "costs -1; a cost is 0 or more"},
		"no creation time":     {charge(func(j *Job) { j.CreatedAt = time.Time{} }), "has no creation time"},
		"negative attempt":     {refund(Failure{Attempt: -1, At: nine}), "attempt -1"},
		"unknown next":         {refund(Failure{At: nine, Then: 9}), "can't be followed by Next(9)"},
		"retry without a time": {refund(Failure{At: nine, Then: ThenRetry}), "a retry without a time"},
		"failure without time": {refund(Failure{}), "no time at which it happened"},
		"cancelling twice": {func() error { _, _, err := s.FailAgain(ctx, aJob("x"), cancellation(0)); return err },
			"cancelling a job that is refunded already has nothing to book"},
		"deliver without time": {func() error { _, _, err := s.Deliver(ctx, aJob("x"), time.Time{}); return err }, "no time at which"},
		"redrive without next": {func() error { _, _, err := s.Redrive(ctx, aJob("x"), nine, time.Time{}); return err }, "no time for the next attempt"},
		"get of nothing":       {func() error { _, err := s.Get(ctx, ""); return err }, `job ID "" is not`},
		"rows of nothing":      {func() error { _, err := s.Rows(ctx, ""); return err }, `job ID "" is not`},
		"rows of an undated charge": {func() error {
			return s.EnsureRows(ctx, Job{ID: "a/b/c", Cluster: "a", Namespace: "b", Name: "n", Account: "a"})
		}, "its charge has no time"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			err := c.call()
			g.Expect(err).To(MatchError(ErrInvalid))
			g.Expect(err).To(MatchError(ContainSubstring(c.want)))
		})
	}
}

func TestOpenRefusesWhatCannotWork(t *testing.T) {
	g := NewWithT(t)
	for uri, want := range map[string]string{
		"":                          "no MongoDB connection string",
		"http://user:secret@host":   "the MongoDB connection string can't be used",
		"mongodb://user:secret@:x:": "the MongoDB connection string can't be used",
	} {
		_, err := Open(Config{URI: uri})
		g.Expect(err).To(MatchError(ErrInvalid))
		g.Expect(err).To(MatchError(ContainSubstring(want)))
		g.Expect(err.Error()).NotTo(ContainSubstring("secret"))
	}
	_, err := Open(Config{URI: "mongodb://host", Timeout: -1})
	g.Expect(err).To(MatchError(ErrInvalid))
}

func TestDefaults(t *testing.T) {
	g := NewWithT(t)
	store, err := Open(Config{URI: "mongodb://127.0.0.1:1"})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = store.Close(context.Background()) })
	g.Expect(store.timeout).To(Equal(10 * time.Second))
	g.Expect(store.jobs.Database().Name()).To(Equal("recoup"))
}

func TestJobID(t *testing.T) {
	g := NewWithT(t)
	g.Expect(JobID("c1", "team-a", "render/42:final")).To(Equal("c1/team-a/render/42:final"))
	cluster, namespace, id, ok := SplitJobID("c1/team-a/render/42:final")
	g.Expect([]any{cluster, namespace, id, ok}).To(Equal([]any{"c1", "team-a", "render/42:final", true}))
	for _, bad := range []string{"", "c1", "c1/team-a", "c1/team-a/", "/team-a/x", "c1//x"} {
		_, _, _, ok := SplitJobID(bad)
		g.Expect(ok).To(BeFalse(), bad)
	}
	g.Expect(RowID("c1/team-a/x", TypeRefund)).To(Equal("c1/team-a/x:refund"))
}

func TestDemandedRows(t *testing.T) {
	g := NewWithT(t)
	job := aJob("x")
	row := func(typ Type, amount int64, at time.Time) Row {
		return Row{ID: "c1/team-a/x:" + string(typ), JobID: "c1/team-a/x", Account: "acme", Type: typ, Amount: amount, CreatedAt: at}
	}
	charge, refund, reclaim := row("charge", -25, eight), row("refund", 25, tenPast), row("reclaim", -25, twentyPast)
	g.Expect(demanded(job)).To(Equal([]Row{charge}))
	job.IsDelivered = true
	g.Expect(demanded(job)).To(Equal([]Row{charge}))
	job.IsRefunded, job.RefundedAt = true, tenPast
	g.Expect(demanded(job)).To(Equal([]Row{charge, refund}))
	g.Expect(undated(job)).To(BeEmpty())
	job.IsReclaimed = true
	g.Expect(undated(job)).To(Equal(TypeReclaim))
	job.ReclaimedAt = twentyPast
	g.Expect(demanded(job)).To(Equal([]Row{charge, refund, reclaim}))
}

func TestADocumentSurvivesTheWire(t *testing.T) {
	g := NewWithT(t)
	raw, err := bson.Marshal(aJob("x"))
	g.Expect(err).NotTo(HaveOccurred())
	var doc bson.M
	g.Expect(bson.Unmarshal(raw, &doc)).To(Succeed())
	g.Expect(doc).To(Equal(bson.M{
		"_id": "c1/team-a/x", "account": "acme", "cost": int64(25), "cluster": "c1", "namespace": "team-a", "name": "train",
		"uid": "uid-1", "created_at": bson.NewDateTimeFromTime(eight), "is_refunded": false, "is_reclaimed": false,
		"is_delivered": false, "attempt": int32(0), "retries": int32(0), "is_dead_lettered": false, "redrives": int32(0),
	}))
	var back Job
	g.Expect(bson.Unmarshal(raw, &back)).To(Succeed())
	g.Expect(back).To(Equal(aJob("x")))
}

func TestMoment(t *testing.T) {
	g := NewWithT(t)
	berlin := time.FixedZone("CET", 3600)
	g.Expect(moment(time.Date(2026, 3, 1, 9, 0, 0, 1_999_999, berlin))).To(Equal(time.Date(2026, 3, 1, 8, 0, 0, 1_000_000, time.UTC)))
	g.Expect(moment(time.Time{})).To(Equal(time.Time{}))
}

func TestReasonsAreBoundedAtARune(t *testing.T) {
	g := NewWithT(t)
	g.Expect(bounded("OOMKilled")).To(Equal("OOMKilled"))
	g.Expect(bounded(strings.Repeat("x", 1<<20))).To(Equal(strings.Repeat("x", 256)))
	g.Expect(bounded(strings.Repeat("x", 255) + "é")).To(Equal(strings.Repeat("x", 255)))
	g.Expect(bounded(strings.Repeat("x", 254) + "é")).To(Equal(strings.Repeat("x", 254) + "é"))
	g.Expect(bounded("a\xffb")).To(Equal("a\uFFFDb"))
}

func TestOnlyDuplicates(t *testing.T) {
	g := NewWithT(t)
	duplicate, other := mongo.WriteError{Code: 11000}, mongo.WriteError{Code: 121}
	unmet := &mongo.WriteConcernError{Code: 64}
	bulk := func(unmet *mongo.WriteConcernError, errs ...mongo.WriteError) error {
		e := mongo.BulkWriteException{WriteConcernError: unmet}
		for _, we := range errs {
			e.WriteErrors = append(e.WriteErrors, mongo.BulkWriteError{WriteError: we})
		}
		return e
	}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"duplicate insert":                  {mongo.WriteException{WriteErrors: mongo.WriteErrors{duplicate}}, true},
		"duplicate, concern unmet":          {mongo.WriteException{WriteErrors: mongo.WriteErrors{duplicate}, WriteConcernError: unmet}, false},
		"concern unmet":                     {mongo.WriteException{WriteConcernError: unmet}, false},
		"duplicates in bulk":                {bulk(nil, duplicate, duplicate), true},
		"duplicates in bulk, concern unmet": {bulk(unmet, duplicate), false},
		"bulk of a duplicate and another":   {bulk(nil, duplicate, other), false},
		"bulk of another":                   {bulk(nil, other), false},
		"bulk, concern unmet":               {bulk(unmet), false},
		"network":                           {errors.New("connection reset"), false},
		"nothing":                           {nil, false},
	} {
		g.Expect(onlyDuplicates(c.err)).To(Equal(c.want), name)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	g := NewWithT(t)
	job := aJob("x")
	g.Expect(&LostError{Edge: "refund", Job: job}).To(MatchError(`refund of job "c1/team-a/x" does not apply: it is charged, at attempt 0`))
	job.IsDelivered = true
	g.Expect(&LostError{Edge: "refund", Job: job}).To(MatchError(`refund of job "c1/team-a/x" does not apply: it is delivered`))
	g.Expect(Won.String()).To(Equal("won"))
	g.Expect(AlreadyThere.String()).To(Equal("already there"))
	g.Expect([]string{ThenNothing.String(), ThenRetry.String(), ThenDeadLetter.String()}).To(Equal([]string{"nothing", "retry", "dead-letter"}))
}
