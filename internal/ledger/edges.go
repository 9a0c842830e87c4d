package ledger

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// edge is one transition of a job's document: a conditional write, of which only
// one writer can win.
type edge struct {
	name string
	// from is what the document must be; it becomes the filter of the write.
	from []condition
	// sets is what the write sets, given the document that the filter proves.
	sets func(Job, ask) bson.D
	// there tells whether the document already is what this edge leads to, or
	// came past it.
	there func(Job, ask) bool
}

// The edges of a document. Charge is not among them: it makes the document.
//
//	from      edge        net afterwards
//	(none)    charge      -cost
//	charged   deliver     -cost, final
//	charged   refund      0
//	refunded  reclaim     -cost, final
//	refunded  fail again  0
//	refunded  redrive     0
//
// Beside its conditions, a filter names what the caller believes (see believed).
// The rows that an edge leads to follow from the document: see demanded.
var (
	deliver = edge{
		name:  "delivery",
		from:  []condition{not(refunded), not(delivered)},
		sets:  func(_ Job, a ask) bson.D { return becomesDelivered(a) },
		there: func(j Job, _ ask) bool { return j.IsDelivered },
	}
	refund = edge{
		name: "refund",
		from: []condition{not(refunded), not(delivered), attemptAsked},
		sets: func(j Job, a ask) bson.D {
			return append(bson.D{
				{Key: "is_refunded", Value: true},
				{Key: "refunded_at", Value: a.at},
				{Key: "refund_reason", Value: a.reason},
			}, fails(j, a)...)
		},
		// A job is charged at attempt 0 and never again, so that a refund is
		// always that of attempt 0. Cancelling asks for no more than a refund.
		there: func(j Job, a ask) bool {
			return j.IsRefunded && (a.attempt == 0 || a.then == ThenNothing)
		},
	}
	reclaim = edge{
		name: "reclaim",
		from: []condition{is(refunded), not(reclaimed)},
		sets: func(_ Job, a ask) bson.D {
			return append(bson.D{
				{Key: "is_reclaimed", Value: true},
				{Key: "reclaimed_at", Value: a.at},
			}, becomesDelivered(a)...)
		},
		there: func(j Job, _ ask) bool { return j.IsReclaimed },
	}
	failAgain = edge{
		name: "another failure",
		from: []condition{is(refunded), not(delivered), not(deadLettered), attemptAsked},
		sets: fails,
		// The current attempt moves on only when the one before it has failed.
		there: func(j Job, a ask) bool {
			return j.IsRefunded && (a.attempt < j.Attempt || a.attempt == j.Attempt && j.IsDeadLettered)
		},
	}
	redrive = edge{
		name: "redrive",
		from: []condition{is(deadLettered), not(delivered), redrivesAsked},
		sets: func(j Job, a ask) bson.D {
			return bson.D{
				{Key: "attempt", Value: j.Attempt + 1},
				{Key: "retries", Value: 0},
				{Key: "redrives", Value: a.redrives + 1},
				{Key: "redriven_at", Value: a.at},
				{Key: "is_dead_lettered", Value: false},
				{Key: "not_before", Value: a.notBefore},
			}
		},
		there: func(j Job, a ask) bool { return j.Redrives > a.redrives },
	}
)

// becomesDelivered is what a success sets, whichever edge it takes.
func becomesDelivered(a ask) bson.D {
	return bson.D{{Key: "is_delivered", Value: true}, {Key: "delivered_at", Value: a.at}}
}

// fails is what the failure of the current attempt sets, whichever edge it
// takes. A cancellation is none and sets nothing.
func fails(j Job, a ask) bson.D {
	booked := bson.D{{Key: "failed_at", Value: a.at}, {Key: "fail_reason", Value: a.reason}}
	switch a.then {
	case ThenRetry:
		return append(booked,
			bson.E{Key: "attempt", Value: j.Attempt + 1},
			bson.E{Key: "retries", Value: j.Retries + 1},
			bson.E{Key: "not_before", Value: a.notBefore})
	case ThenDeadLetter:
		return append(booked,
			bson.E{Key: "is_dead_lettered", Value: true},
			bson.E{Key: "dead_lettered_at", Value: a.at})
	default:
		return nil
	}
}

// ask is what the caller of an edge wants to have booked.
type ask struct {
	at        time.Time
	attempt   int
	reason    string
	then      Next
	notBefore time.Time
	redrives  int
}

// condition is one clause of a filter: the field, the value that it must have,
// and the value that a document has.
type condition func(Job, ask) (field string, want, have any)

type mark struct {
	field string
	of    func(Job) bool
}

var (
	refunded     = mark{"is_refunded", func(j Job) bool { return j.IsRefunded }}
	reclaimed    = mark{"is_reclaimed", func(j Job) bool { return j.IsReclaimed }}
	delivered    = mark{"is_delivered", func(j Job) bool { return j.IsDelivered }}
	deadLettered = mark{"is_dead_lettered", func(j Job) bool { return j.IsDeadLettered }}
)

func is(m mark) condition {
	return func(j Job, _ ask) (string, any, any) { return m.field, true, m.of(j) }
}

func not(m mark) condition {
	return func(j Job, _ ask) (string, any, any) { return m.field, false, m.of(j) }
}

// attemptAsked: because the filter names the attempt, it fails at most once.
func attemptAsked(j Job, a ask) (string, any, any) { return "attempt", a.attempt, j.Attempt }

// redrivesAsked: because the filter names how many there were, one wish to
// redrive acts once.
func redrivesAsked(j Job, a ask) (string, any, any) { return "redrives", a.redrives, j.Redrives }

// starts tells whether the edge starts at this document.
func (e edge) starts(job Job, a ask) bool {
	for _, c := range e.from {
		if _, want, have := c(job, a); want != have {
			return false
		}
	}
	return true
}

// filter matches the document if it is what the caller believes and the edge
// starts there.
func (e edge) filter(belief Job, a ask) bson.D {
	filter := believed(belief)
	for _, c := range e.from {
		field, want, _ := c(belief, a)
		filter = with(filter, field, want)
	}
	return filter
}

// believed names what proves the rest of the document: who pays what for whom,
// which never changes, and the attempt with its end, which is the version of a
// refunded document (every edge but the final ones changes one of the two; a
// charged document has one version only). So a match proves the whole belief,
// and the winner knows document and rows without a read.
func believed(job Job) bson.D {
	return bson.D{
		{Key: "_id", Value: job.ID},
		{Key: "account", Value: job.Account},
		{Key: "cost", Value: job.Cost},
		{Key: "name", Value: job.Name},
		{Key: "attempt", Value: job.Attempt},
		{Key: "is_dead_lettered", Value: job.IsDeadLettered},
	}
}

// with adds a clause, in place of the one on the same field if there is one.
func with(filter bson.D, field string, want any) bson.D {
	for i := range filter {
		if filter[i].Key == field {
			filter[i].Value = want
			return filter
		}
	}
	return append(filter, bson.E{Key: field, Value: want})
}
