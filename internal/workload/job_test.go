package workload

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

func jobWith(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = json.Unmarshal(raw, &u.Object)
	}
	if err != nil {
		t.Fatal(err)
	}
	u.SetAPIVersion("batch/v1")
	u.SetKind("Job")
	return u
}

func clock(hhmm string) time.Time {
	at, err := time.Parse(time.RFC3339, "2026-01-01T"+hhmm+":00Z")
	if err != nil {
		panic(err)
	}
	return at
}

func TestObserveJob(t *testing.T) {
	for _, c := range []struct {
		name, object string
		want         Outcome
	}{
		{"just created", "spec: {}", Outcome{Phase: Pending}},
		{"waiting for a GPU", `status: {startTime: "2026-01-01T10:00:00Z", active: 1, ready: 0}`,
			Outcome{Phase: Pending, StartedAt: clock("10:00")}},
		{"running", `status: {startTime: "2026-01-01T10:00:00Z", active: 1, ready: 1}`,
			Outcome{Phase: Running, Ready: true, StartedAt: clock("10:00")}},
		{"a pod failed and is retried inside the Job", `status: {startTime: "2026-01-01T10:00:00Z", failed: 3, succeeded: 1, active: 1, ready: 0}`,
			Outcome{Phase: Running, StartedAt: clock("10:00")}},
		{"suspended", `{spec: {suspend: true}, status: {conditions: [{type: Suspended, status: "True", lastTransitionTime: "2026-01-01T10:05:00Z"}]}}`,
			Outcome{Phase: Pending, Suspended: true, SuspendedAt: clock("10:05")}},
		{"resumed", `{spec: {suspend: false}, status: {startTime: "2026-01-01T10:09:00Z", active: 1, ready: 1, conditions: [{type: Suspended, status: "False", lastTransitionTime: "2026-01-01T10:09:00Z"}]}}`,
			Outcome{Phase: Running, Ready: true, StartedAt: clock("10:09"), ResumedAt: clock("10:09")}},
		{"success criteria met is not an end", `status: {startTime: "2026-01-01T10:00:00Z", succeeded: 1, conditions: [{type: SuccessCriteriaMet, status: "True"}]}`,
			Outcome{Phase: Running, StartedAt: clock("10:00")}},
		{"failure target is not an end", `status: {startTime: "2026-01-01T10:00:00Z", failed: 1, conditions: [{type: FailureTarget, status: "True", reason: BackoffLimitExceeded}]}`,
			Outcome{Phase: Running, StartedAt: clock("10:00")}},
		{"complete, as the last of several conditions", `status: {startTime: "2026-01-01T10:00:00Z", completionTime: "2026-01-01T10:30:00Z", succeeded: 1, failed: 2, conditions: [{type: Suspended, status: "False"}, {type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: "True", lastTransitionTime: "2026-01-01T10:31:00Z"}]}`,
			Outcome{Phase: Succeeded, StartedAt: clock("10:00"), FinishedAt: clock("10:30")}},
		{"failed, as the last of several conditions", `status: {startTime: "2026-01-01T10:00:00Z", conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True", reason: BackoffLimitExceeded, message: Job has reached the specified backoff limit, lastTransitionTime: "2026-01-01T10:31:00Z"}]}`,
			Outcome{Phase: Failed, Reason: "BackoffLimitExceeded", Message: "Job has reached the specified backoff limit", StartedAt: clock("10:00"), FinishedAt: clock("10:31")}},
		{"Complete that is not True is not an end", `status: {conditions: [{type: Complete, status: "False"}, {type: Failed, status: Unknown}]}`, Outcome{Phase: Pending}},
		{"a condition that was reported twice ends it if either is True", `status: {conditions: [{type: Complete, status: "True"}, {type: Complete, status: "False"}]}`, Outcome{Phase: Succeeded}},
		{"both ends at once are a success", `status: {conditions: [{type: Failed, status: "True", reason: X}, {type: Complete, status: "True"}]}`, Outcome{Phase: Succeeded}},
		{"a deletion alone is not an end", `{metadata: {name: train, deletionTimestamp: "2026-01-01T10:00:00Z"}}`, Outcome{Phase: Pending}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := observeJob(jobWith(t, c.object)); got != c.want {
				t.Errorf("observed %+v, want %+v", got, c.want)
			}
		})
	}
}
