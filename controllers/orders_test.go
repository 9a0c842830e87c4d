package controllers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	billingv1 "recoup.dev/recoup/api/v1"
)

// orders are all distinct orders of two failures, two successes and a late failure.
func orders() [][]string {
	var all [][]string
	var place func(done []string, left map[string]int)
	place = func(done []string, left map[string]int) {
		if len(done) == 5 {
			all = append(all, slices.Clone(done))
			return
		}
		for _, signal := range []string{"fail", "succeed", "late fail"} {
			if left[signal] > 0 {
				left[signal]--
				place(append(done, signal), left)
				left[signal]++
			}
		}
	}
	place(nil, map[string]int{"fail": 2, "succeed": 2, "late fail": 1})
	return all
}

// voices are who says so: the workloads themselves, or annotations wherever these can.
var voices = []struct {
	name string
	// spec is what the orders are told about; say lets one signal reach the BillableJob.
	spec string
	say  func(b *bench, bj, signal string, t *testing.T)
}{
	{"workloads", strings.Replace(trainingJob, "maxRetries: 2", "maxRetries: 5", 1), sayByWorkload},
	{"annotations", strings.Replace(trainingJob, "maxRetries: 2", "maxRetries: 0", 1), sayByAnnotation},
}

// TestEveryOrderOfSignalsNetsTheCost lets the five signals reach the controller in every order. A job that succeeded nets
// its cost, once, and its rows are one of the two legal sets.
func TestEveryOrderOfSignalsNetsTheCost(t *testing.T) {
	list := orders()
	if len(list) != 30 {
		t.Fatalf("there are %d orders, want 30", len(list))
	}
	for _, v := range voices {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			for i, order := range list {
				t.Run(strings.Join(order, ", "), func(t *testing.T) {
					b.t = t
					name := fmt.Sprintf("o%d", i)
					bj := b.apply(name, v.spec)
					must(t, b.pass(name))
					for _, signal := range order {
						v.say(b, name, signal, t)
						must(t, b.pass(name))
					}
					want, phase := "charge -40, refund +40, reclaim -40", billingv1.PhaseReclaimed
					if order[0] == "succeed" {
						want, phase = "charge -40", billingv1.PhaseDelivered
					}
					b.wantRows(bj, want)
					b.wantPhase(name, phase)
					if net := *b.get(name).Status.NetCredits; net != -40 {
						t.Errorf("net is %d, want -40", net)
					}
				})
			}
			b.t = t
		})
	}
}

// TestEveryOrderOfSignalsSeenAtOnceIsADelivery lets the five signals arrive while no manager runs: a success among them
// delivers, and the failures beside it move nothing.
func TestEveryOrderOfSignalsSeenAtOnceIsADelivery(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i, order := range orders() {
		name := fmt.Sprintf("o%d", i)
		bj := b.apply(name, trainingJob)
		must(t, b.pass(name))
		for _, signal := range order {
			sayByAnnotation(b, name, signal, t)
		}
		must(t, b.pass(name))
		b.wantRows(bj, "charge -40")
		b.wantPhase(name, billingv1.PhaseDelivered)
	}
}

// sayByWorkload lets the current attempt's Job end, after the lane started it if it was due. A Job ends only once; what
// comes after its end is said by an annotation.
func sayByWorkload(b *bench, name, signal string, t *testing.T) {
	t.Helper()
	if phase := b.get(name).Status.Phase; phase == billingv1.PhaseRetryScheduled && b.lastEntry().Name == name {
		b.deliverDue(name)
	}
	job := fmt.Sprintf("%s-%d", name, *b.get(name).Status.Attempt)
	switch {
	case ended(b.job(job)):
		sayByAnnotation(b, name, signal, t)
	case signal == "succeed":
		b.succeeds(job)
	default:
		b.fails(job)
	}
}

// sayByAnnotation reports a failure of the current attempt, a late one of the first attempt, and a success: the first time
// by the first attempt's Job, which was given up on by then, and after that as a delivery.
func sayByAnnotation(b *bench, name, signal string, t *testing.T) {
	t.Helper()
	switch {
	case signal == "fail":
		b.annotate(name, billingv1.AnnotationFailedAt, fmt.Sprintf("%d@2026-01-01T00:00:00Z", *b.get(name).Status.Attempt))
	case signal == "late fail":
		b.annotate(name, billingv1.AnnotationFailedAt, "0@2026-01-01T09:00:00Z")
	case !ended(b.job(name + "-0")):
		b.succeeds(name + "-0")
	default:
		b.annotate(name, billingv1.AnnotationDeliveredAt, "2026-01-01T00:00:00Z")
	}
}

func ended(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed
	})
}
