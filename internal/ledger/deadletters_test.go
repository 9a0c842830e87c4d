package ledger

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"go.mongodb.org/mongo-driver/v2/bson"
)

func TestDeadLetteredStreamsTheDeadJobsOfOneCluster(t *testing.T) {
	b := newBooks(t)
	const n = 250 // more than the server's first batch
	docs := []any{}
	for i := range n {
		job := aJob(fmt.Sprintf("dead-%03d", i))
		job.IsRefunded, job.IsDeadLettered = true, true
		docs = append(docs, job)
	}
	alive, elsewhere := aJob("alive"), aJob("elsewhere")
	elsewhere.ID, elsewhere.Cluster, elsewhere.IsDeadLettered = JobID("c2", "team-a", "x"), "c2", true
	_, err := b.jobs.InsertMany(t.Context(), append(docs, alive, elsewhere))
	b.g.Expect(err).NotTo(HaveOccurred())

	seen := 0
	for job, err := range b.DeadLettered(t.Context(), "c1") {
		b.g.Expect(err).NotTo(HaveOccurred())
		b.g.Expect(job.ID).To(Equal(fmt.Sprintf("c1/team-a/dead-%03d", seen)))
		seen++
	}
	b.g.Expect(seen).To(Equal(n))

	// Whoever stops early is not held up.
	for _, err := range b.DeadLettered(t.Context(), "c1") {
		b.g.Expect(err).NotTo(HaveOccurred())
		break
	}
	// An end in the middle is an error, not a shorter list.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range b.DeadLettered(ctx, "c1") {
		cancel()
		last = err
	}
	b.g.Expect(last).To(MatchError(context.Canceled))
	for _, err := range b.DeadLettered(t.Context(), "") {
		b.g.Expect(err).To(MatchError(ErrInvalid))
	}
}

func TestARedrivenJobIsNoDeadLetter(t *testing.T) {
	b := newBooks(t)
	b.walk(t, aJob("dead"), "charge,dead0")
	b.walk(t, aJob("redriven"), "charge,dead0,redrive0")
	var ids []string
	for job, err := range b.DeadLettered(t.Context(), "c1") {
		b.g.Expect(err).NotTo(HaveOccurred())
		ids = append(ids, job.ID)
	}
	b.g.Expect(ids).To(Equal([]string{"c1/team-a/dead"}))
}

// The query must not walk over the jobs that are alive.
func TestDeadLettersHaveAnIndex(t *testing.T) {
	b := newBooks(t)
	var plan bson.M
	err := b.jobs.Database().RunCommand(t.Context(), bson.D{{Key: "explain", Value: bson.D{
		{Key: "find", Value: JobsCollection},
		{Key: "filter", Value: bson.D{{Key: "cluster", Value: "c1"}, {Key: "is_dead_lettered", Value: true}}},
		{Key: "sort", Value: bson.D{{Key: "_id", Value: 1}}},
	}}}).Decode(&plan)
	b.g.Expect(err).NotTo(HaveOccurred())
	b.g.Expect(fmt.Sprint(plan)).To(ContainSubstring("cluster_1__id_1"))
}
