package e2e

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	billingv1 "recoup.dev/recoup/api/v1"
)

// These stories are told by the real scheduler, job controller, garbage collector and namespace controller.

func TestJobsRunFailAndComeBack(t *testing.T) {
	startManager(t)
	ns := newNamespace(t)
	good := apply(t, ns, "good", jobSpec(10, 1, "Succeeded", ""))
	bad := apply(t, ns, "bad", jobSpec(30, 1, "Failed", ""))
	late := apply(t, ns, "late", jobSpec(40, 6, "Succeeded", "deadline: 3s")+"")

	eventually(t, phaseOf(ns, "good", billingv1.PhaseDelivered))
	wantRows(t, good, "charge -10")
	eventually(t, phaseOf(ns, "bad", billingv1.PhaseDeadLettered))
	wantRows(t, bad, "charge -30, refund +30")
	// Every attempt outlives its deadline, is stopped for its retry, and the last one is left alone and succeeds.
	eventually(t, phaseOf(ns, "late", billingv1.PhaseReclaimed))
	wantRows(t, late, "charge -40, refund +40, reclaim -40")
}

func TestADeletedJobIsStoppedAndRefunded(t *testing.T) {
	startManager(t)
	ns := newNamespace(t)
	bj := apply(t, ns, "job", jobSpec(20, 600, "Hang", ""))
	eventually(t, phaseOf(ns, "job", billingv1.PhaseRunning))
	must(t, c.Delete(t.Context(), bj.DeepCopy()))
	eventually(t, gone(bj.DeepCopy()))
	wantRows(t, bj, "charge -20, refund +20")
	eventually(t, noPods(ns))
}

func TestANamespaceGoesAwayWithItsJobs(t *testing.T) {
	startManager(t)
	ns := newNamespace(t)
	var jobs []*billingv1.BillableJob
	for i := range 5 {
		jobs = append(jobs, apply(t, ns, fmt.Sprintf("job-%d", i), jobSpec(20, 600, "Hang", "")))
	}
	for _, bj := range jobs {
		eventually(t, phaseOf(ns, bj.Name, billingv1.PhaseRunning))
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	must(t, c.Delete(t.Context(), namespace))
	eventually(t, gone(namespace))
	for _, bj := range jobs {
		wantRows(t, bj, "charge -20, refund +20")
	}
}

func noPods(ns string) func() error {
	return func() error {
		var pods corev1.PodList
		if err := c.List(background, &pods, client.InNamespace(ns)); err != nil {
			return err
		}
		if len(pods.Items) > 0 {
			return fmt.Errorf("%d pods are still there", len(pods.Items))
		}
		return nil
	}
}
