package controllers

import (
	"testing"

	billingv1 "recoup.dev/recoup/api/v1"
)

// An end that the books could not take must not be let go of: nothing else in the cluster would tell it again.
func TestAnEndIsHeldUntilItIsBooked(t *testing.T) {
	for _, c := range []struct {
		name, call, rows string
		end              func(*bench, string)
	}{
		{"a failure", "refund", "charge -40, refund +40", (*bench).fails},
		{"a success", "deliver", "charge -40", (*bench).succeeds},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			bj := b.apply("job", trainingJob)
			b.settle("job")
			b.runs("job-0")
			b.settle("job")
			c.end(b, "job-0")
			b.restart()
			b.fault.failBefore(c.call)
			if err := b.pass("job"); err == nil || b.fault.pending() {
				t.Fatalf("the pass ended with %v; the fault should have hit it", err)
			}
			b.wantOutcome("job", 0, "")
			if !hasFinalizer(b.job("job-0"), billingv1.FinalizerOutcome) {
				t.Fatal("the workload was let go of before its end was booked")
			}
			b.settle("job")
			b.wantRows(bj, c.rows)
			if hasFinalizer(b.job("job-0"), billingv1.FinalizerOutcome) {
				t.Error("the workload is still held")
			}
		})
	}
}
