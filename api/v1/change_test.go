package v1_test

import (
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const reference = `{apiVersion: batch/v1, kind: Job, name: embed-corpus}`

func TestChangesThatAreRefused(t *testing.T) {
	const (
		account = "spec.account: Invalid value: account can't be changed, since the job may be charged to it already: create another BillableJob"
		cost    = "spec.cost: Invalid value: cost can't be changed, since the job may be charged already: create another BillableJob"
		jobID   = "jobID can't be set, changed or removed after creation, since the books know the job by it: create another BillableJob"
		ref     = "workloadRef can't be added, changed or removed after creation: create another BillableJob"
		removed = "template can't be removed, since retries are made from it: put it back, or set cancel to true to stop the job"
		cancel  = "cancel can't be taken back once it is true: create another BillableJob to run the job again"
	)
	for _, c := range []struct{ name, before, change, message string }{
		{"account changed", `{}`, `spec: {account: team-sound}`, account},
		{"account removed", `{}`, `spec: {account: null}`, "spec.account: Required value"},
		{"cost raised", `{}`, `spec: {cost: 101}`, cost},
		{"cost lowered", `{}`, `spec: {cost: 0}`, cost},
		{"cost removed", `{}`, `spec: {cost: null}`, "spec.cost: Required value"},
		{"jobID set", `{}`, `spec: {jobID: a}`, jobID},
		{"jobID changed", `spec: {jobID: a}`, `spec: {jobID: b}`, jobID},
		{"jobID removed", `spec: {jobID: a}`, `spec: {jobID: null}`, jobID},
		{"reference added", `{}`, `spec: {workloadRef: ` + reference + `}`, ref},
		{"reference removed", `spec: {workloadRef: ` + reference + `}`, `spec: {workloadRef: null}`, ref},
		{"reference to another name", referenceOnly, `spec: {workloadRef: {name: other}}`, ref},
		{"reference to another kind", referenceOnly, `spec: {workloadRef: {kind: Pod}}`, ref},
		{"reference to another version", referenceOnly, `spec: {workloadRef: {apiVersion: v1}}`, ref},
		{"template removed beside a reference", `spec: {workloadRef: ` + reference + `}`, `spec: {template: null}`, removed},
		{"the only template removed", `{}`, `spec: {template: null}`, "nothing to run"},
		{"cancel taken back", `spec: {cancel: true}`, `spec: {cancel: false}`, cancel},
		{"cancel removed", `spec: {cancel: true}`, `spec: {cancel: null}`, cancel},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			object := created(t, c.before)
			err := changed(t, object, c.change)
			g.Expect(apierrors.IsInvalid(err)).To(BeTrue(), "want it refused as invalid, got: %v", err)
			g.Expect(err.Error()).To(ContainSubstring(c.message))
		})
	}
}

func TestChangesThatAreAccepted(t *testing.T) {
	for _, c := range []struct{ name, before, change string }{
		{"template filled in", referenceOnly, `spec: {template: {apiVersion: batch/v1, kind: Job, spec: {backoffLimit: 0}}}`},
		{"template corrected", `{}`, `spec: {template: {spec: {backoffLimit: 0}}}`},
		{"deadline set", `{}`, `spec: {deadline: 1h, startDeadline: 2h}`},
		{"deadline removed", `spec: {deadline: 1h}`, `spec: {deadline: null}`},
		{"more retries", `{}`, `spec: {retry: {maxRetries: 10}}`},
		{"cancelled", `{}`, `spec: {cancel: true}`},
		{"cancelled, in so many words before", `spec: {cancel: false}`, `spec: {cancel: true}`},
		{"deletion policy changed", `{}`, `spec: {deletionPolicy: Keep}`},
		{"something else while cancelled", `spec: {cancel: true}`, `spec: {ttlSecondsAfterFinished: 60}`},
		{"an annotation beside every fixed field", `spec: {jobID: a, cancel: true, workloadRef: ` + reference + `}`,
			`metadata: {annotations: {billing.recoup.dev/redrive: "0"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			object := created(t, c.before)
			NewWithT(t).Expect(changed(t, object, c.change)).To(Succeed())
		})
	}
}
