package ledger

import (
	"context"
	"fmt"
	"iter"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// DeadLettered streams the dead-lettered jobs of a cluster in the order of their
// IDs. It ends at the first error, which it yields with a zero Job. The time-out
// is for each batch, not for the whole walk. A job that changes meanwhile may be
// missed or be shown as it was.
func (s *Store) DeadLettered(ctx context.Context, cluster string) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		what := fmt.Sprintf("dead letters of cluster %q", cluster)
		if cluster == "" {
			yield(Job{}, fmt.Errorf("dead letters: %w", invalid("no cluster named")))
			return
		}
		filter := bson.D{{Key: "cluster", Value: cluster}, {Key: "is_dead_lettered", Value: true}}
		call, cancel := s.call(ctx)
		cursor, err := s.jobs.Find(call, filter, options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}))
		cancel()
		if err != nil {
			yield(Job{}, s.failed(call, what, err))
			return
		}
		defer func() {
			// The caller's context may have ended, and the server's cursor has
			// to go all the same.
			call, cancel := s.call(context.WithoutCancel(ctx))
			defer cancel()
			_ = cursor.Close(call) // it times out on the server if this fails
		}()
		for {
			call, cancel := s.call(ctx)
			more := cursor.Next(call)
			if !more {
				err = cursor.Err()
				if err != nil {
					err = s.failed(call, what, err)
				}
				cancel()
				break
			}
			cancel()
			var job Job
			if err = cursor.Decode(&job); err != nil {
				err = fmt.Errorf("%s: %w", what, err)
				break
			}
			if !yield(job, nil) {
				return
			}
		}
		if err != nil {
			yield(Job{}, err)
		}
	}
}
