package workload

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// job reads batch/v1 Jobs. Its ends are the conditions Complete and Failed alone, wherever they stand in the list:
// SuccessCriteriaMet and FailureTarget come before the pods have ended, and counts of failed pods belong to retries
// inside the Job.
var job = Kind{
	GVK:       schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"},
	Observe:   observeJob,
	Generated: stripJobSpec,
}

func observeJob(u *unstructured.Unstructured) Outcome {
	var o Outcome
	o.Suspended, _, _ = unstructured.NestedBool(u.Object, "spec", "suspend")
	o.StartedAt = timeAt(u.Object, "status", "startTime")
	if c, ok := condition(u, "Suspended"); ok {
		switch c.status {
		case "True":
			o.SuspendedAt = c.since
		case "False":
			o.ResumedAt = c.since
		}
	}

	if c, ok := condition(u, "Complete"); ok && c.status == "True" {
		o.Phase = Succeeded
		o.FinishedAt = firstTime(timeAt(u.Object, "status", "completionTime"), c.since)
		return o
	}
	if c, ok := condition(u, "Failed"); ok && c.status == "True" {
		o.Phase, o.Reason, o.Message, o.FinishedAt = Failed, c.reason, c.message, c.since
		return o
	}

	o.Ready = count(u, "ready") > 0
	if o.Ready || count(u, "succeeded") > 0 || count(u, "failed") > 0 {
		o.Phase = Running
	} else {
		o.Phase = Pending
	}
	return o
}

// stripJobSpec removes the selector and the pod labels that carry the old Job's UID and name, and the suspension: a
// queue manager that held the old Job holds a new one by itself.
func stripJobSpec(spec map[string]any) {
	if manual, _, _ := unstructured.NestedBool(spec, "manualSelector"); !manual {
		delete(spec, "selector")
	}
	delete(spec, "suspend")
	for _, label := range []string{
		"controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name",
	} {
		unstructured.RemoveNestedField(spec, "template", "metadata", "labels", label)
	}
	unstructured.RemoveNestedField(spec, "template", "metadata", "creationTimestamp")
}

func count(u *unstructured.Unstructured, field string) int64 {
	n, _, _ := unstructured.NestedInt64(u.Object, "status", field)
	return n
}

func firstTime(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}
