package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	billingv1 "recoup.dev/recoup/api/v1"
)

var background = context.Background()

// TestTwoManagersThatAreKilled runs two managers side by side, without leader election, and kills them at random moments
// while jobs succeed and fail. What is asserted at the end is the books alone.
func TestTwoManagersThatAreKilled(t *testing.T) {
	const jobs = 24
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))

	managers := []*process{startManager(t), startManager(t)}
	ns := newNamespace(t)
	var all []*billingv1.BillableJob
	for i := range jobs {
		outcome := []string{"Succeeded", "Failed"}[i%2]
		all = append(all, apply(t, ns, fmt.Sprintf("job-%d", i), jobSpec(5, 1+i%3, outcome, "")))
		if i%4 == 3 {
			victim := random.IntN(len(managers))
			<-time.After(time.Duration(random.IntN(1500)) * time.Millisecond)
			managers[victim].kill()
			managers[victim] = launch(t, nil)
		}
	}
	for i, bj := range all {
		if i%2 == 0 {
			eventually(t, oneOf(phaseOf(ns, bj.Name, billingv1.PhaseDelivered), phaseOf(ns, bj.Name, billingv1.PhaseReclaimed)))
			wantRows(t, bj, "charge -5")
		} else {
			eventually(t, phaseOf(ns, bj.Name, billingv1.PhaseDeadLettered))
			wantRows(t, bj, "charge -5, refund +5")
		}
	}
	eventually(t, func() error {
		n, err := rdb.LLen(background, deadKey).Result()
		if err == nil && n < jobs/2 {
			err = fmt.Errorf("%d dead letters, want at least %d", n, jobs/2)
		}
		return err
	})
}

func oneOf(checks ...func() error) func() error {
	return func() error {
		var err error
		for _, check := range checks {
			if err = check(); err == nil {
				return nil
			}
		}
		return err
	}
}

func TestTheStandByTakesOver(t *testing.T) {
	first := startManager(t, "--leader-elect")
	startManager(t, "--leader-elect")
	ns := newNamespace(t)
	apply(t, ns, "before", jobSpec(5, 1, "Succeeded", ""))
	eventually(t, phaseOf(ns, "before", billingv1.PhaseDelivered))
	if err := first.stop(); err != nil {
		t.Errorf("the manager did not stop in good order: %v", err)
	}
	after := apply(t, ns, "after", jobSpec(5, 1, "Succeeded", ""))
	eventually(t, phaseOf(ns, "after", billingv1.PhaseDelivered))
	wantRows(t, after, "charge -5")
}
