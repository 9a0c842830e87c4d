package ledger

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// What a won transition costs, as a ratio to the two bare writes that no design
// could do without: an update of one document and an insert of another.
func BenchmarkWonTransition(b *testing.B) {
	books := newBooks(b)
	ctx := context.Background()
	jobs := make([]Job, 0, b.N)
	for i := range b.N {
		jobs = append(jobs, books.charged(b, aJob(fmt.Sprintf("bench-%d", i))))
	}
	raw := books.jobs.Database().Collection("raw")
	for i := range b.N {
		_, err := raw.InsertOne(ctx, bson.D{{Key: "_id", Value: i}, {Key: "done", Value: false}})
		NewWithT(b).Expect(err).NotTo(HaveOccurred())
	}

	b.ResetTimer()
	started := time.Now()
	for i := range b.N {
		if _, outcome, err := books.Refund(ctx, jobs[i], retry(0)); err != nil || outcome != Won {
			b.Fatal(outcome, err)
		}
	}
	won := time.Since(started)
	b.StopTimer()

	started = time.Now()
	for i := range b.N {
		if _, err := raw.UpdateOne(ctx, bson.D{{Key: "_id", Value: i}, {Key: "done", Value: false}},
			bson.D{{Key: "$set", Value: bson.D{{Key: "done", Value: true}}}}); err != nil {
			b.Fatal(err)
		}
		if _, err := raw.InsertOne(ctx, bson.D{{Key: "job", Value: i}, {Key: "amount", Value: 25}}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(won)/float64(time.Since(started)), "x-raw")
}
