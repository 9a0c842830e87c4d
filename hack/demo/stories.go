package main

import (
	"time"

	billingv1 "recoup.dev/recoup/api/v1"
)

// story is one job's tale, and how it must end.
type story struct {
	file, name, jobID, account string
	// tells is what happens, in one sentence.
	tells string
	// rows are the ledger rows in the order they are decided, and their amounts.
	rows []booking
	// phase is the BillableJob's last phase, attempts the number of runs.
	phase    billingv1.Phase
	attempts int
}

type booking struct {
	kind   string
	amount int64
}

// stories are the demo, in the order it is told.
var stories = []story{
	{
		file: "a-success.yaml", name: "a-success", jobID: "demo-a", account: "demo-vision",
		tells: "succeeds at once: charged, nothing else",
		rows:  []booking{{"charge", -10}}, phase: billingv1.PhaseDelivered, attempts: 1,
	},
	{
		file: "b-retry.yaml", name: "b-retry", jobID: "demo-b", account: "demo-vision",
		tells: "fails, is refunded, and its retry succeeds: the refund is taken back",
		rows:  []booking{{"charge", -25}, {"refund", 25}, {"reclaim", -25}}, phase: billingv1.PhaseReclaimed, attempts: 2,
	},
	{
		file: "c-overdue.yaml", name: "c-overdue", jobID: "demo-c", account: "demo-vision",
		tells: "outlives its deadline, is refunded, finishes a moment later: reclaimed, no second attempt",
		rows:  []booking{{"charge", -40}, {"refund", 40}, {"reclaim", -40}}, phase: billingv1.PhaseReclaimed, attempts: 1,
	},
	{
		file: "d-hopeless.yaml", name: "d-hopeless", jobID: "demo-d", account: "demo-speech",
		tells: "can never work: refunded once, retried twice, dead-lettered",
		rows:  []booking{{"charge", -30}, {"refund", 30}}, phase: billingv1.PhaseDeadLettered, attempts: 3,
	},
	{
		file: "e-all-at-once.yaml", name: "e-all-at-once", jobID: "demo-e", account: "demo-speech",
		tells: "meets its deadline, a failed-at annotation and its own failure at once: one refund",
		rows:  []booking{{"charge", -15}, {"refund", 15}}, phase: billingv1.PhaseRetryScheduled, attempts: 1,
	},
}

// balances are what the accounts must hold at the end.
var balances = []struct {
	account string
	credits int64
}{{"demo-vision", -75}, {"demo-speech", 0}}

const (
	// waitingJob is the one job whose retry is still in the lane at the end, deadJob the one among the dead letters.
	waitingJob, deadJob = "demo-e", "demo-d"
	// signalAfter is how long after its start story e gets its annotation: when its deadline passes and its pod fails.
	signalAfter = 5 * time.Second
	// patience bounds the whole story.
	patience = 100 * time.Second
)
