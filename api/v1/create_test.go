package v1_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const durationHint = "must be a duration such as 90s, 15m or 2h30m, more than 0 and less than 10 years (87600h)"

func TestManifestsThatAreRefused(t *testing.T) {
	for _, c := range []struct{ name, change, message string }{
		{"no spec", `spec: null`, "spec: Required value"},

		{"no account", `spec: {account: null}`, "spec.account: Required value"},
		{"an empty account", `spec: {account: ""}`, "spec.account in body should be at least 1 chars long"},
		{"an account of 129 characters", fmt.Sprintf(`spec: {account: %s}`, strings.Repeat("a", 129)),
			"spec.account: Too long: may not be more than 128 bytes"},
		{"an account with a space", `spec: {account: team vision}`,
			"spec.account: Invalid value: \"team vision\": account must begin and end with a letter or digit and hold only letters, digits, '-', '_', '.', '@' and '+'"},
		{"an account with a slash", `spec: {account: team/vision}`, "account must begin and end with a letter or digit"},
		{"an account with a colon", `spec: {account: "team:vision"}`, "account must begin and end with a letter or digit"},
		{"an account with a line break", `spec: {account: "team\nvision"}`, "account must begin and end with a letter or digit"},
		{"an account that ends in a line break", `spec: {account: "team\n"}`, "account must begin and end with a letter or digit"},
		{"an account that begins with a dash", `spec: {account: -team}`, "account must begin and end with a letter or digit"},
		{"an account beyond ASCII", `spec: {account: tëam}`, "account must begin and end with a letter or digit"},
		{"an account that is a number", `spec: {account: 7}`, `spec.account in body must be of type string: "integer"`},

		{"no cost", `spec: {cost: null}`, "spec.cost: Required value"},
		{"a negative cost", `spec: {cost: -1}`, "spec.cost in body should be greater than or equal to 0"},
		{"a cost of 2^53", `spec: {cost: 9007199254740992}`, "spec.cost in body should be less than or equal to 9007199254740991"},
		{"a fraction of a credit", `spec: {cost: 1.5}`, "spec.cost in body must be of type int"},
		{"a cost in quotes", `spec: {cost: "100"}`, `spec.cost in body must be of type integer: "string"`},

		{"an empty job ID", `spec: {jobID: ""}`, "spec.jobID in body should be at least 1 chars long"},
		{"a job ID of 201 characters", fmt.Sprintf(`spec: {jobID: %s}`, strings.Repeat("a", 201)),
			"spec.jobID: Too long: may not be more than 200 bytes"},
		{"a job ID with a slash", `spec: {jobID: a/b}`,
			"spec.jobID: Invalid value: \"a/b\": jobID must hold only printable ASCII characters, without white space and without '/'"},
		{"a job ID with a space", `spec: {jobID: a b}`, "without white space"},
		{"a job ID with a tab", `spec: {jobID: "a\tb"}`, "without white space"},
		{"a job ID that ends in a line break", `spec: {jobID: "a\n"}`, "without white space"},
		{"a job ID with a control character", `spec: {jobID: "a\x7fb"}`, "only printable ASCII characters"},
		{"a job ID beyond ASCII", `spec: {jobID: jöb}`, "only printable ASCII characters"},

		{"neither a template nor a reference", `spec: {template: null}`,
			"nothing to run: set workloadRef (a workload that exists), template (a manifest to run), or both"},
		{"a template without apiVersion", `spec: {template: {apiVersion: null}}`, "spec.template.apiVersion: Required value"},
		{"a template without kind", `spec: {template: {kind: null}}`, "spec.template.kind: Required value"},
		{"a template that isn't an object", `spec: {template: train.yaml}`, `spec.template in body must be of type object: "string"`},
		{"a template whose labels aren't labels", `spec: {template: {metadata: {labels: {"a b": c}}}}`, "spec.template.metadata.labels: Invalid value"},

		{"a reference without a name", `spec: {workloadRef: {apiVersion: batch/v1, kind: Job}}`, "spec.workloadRef.name: Required value"},
		{"a reference without a kind", `spec: {workloadRef: {apiVersion: batch/v1, name: a}}`, "spec.workloadRef.kind: Required value"},
		{"a reference without an apiVersion", `spec: {workloadRef: {kind: Job, name: a}}`, "spec.workloadRef.apiVersion: Required value"},
		{"a reference with an empty name", `spec: {workloadRef: {apiVersion: batch/v1, kind: Job, name: ""}}`,
			"spec.workloadRef.name in body should be at least 1 chars long"},

		{"a deadline of 0", `spec: {deadline: 0s}`, "spec.deadline: Invalid value: \"0s\": deadline " + durationHint},
		{"a negative deadline", `spec: {deadline: -5m}`, "deadline " + durationHint},
		{"a deadline of 10 years", `spec: {deadline: 87600h}`, "deadline " + durationHint},
		{"a deadline beyond 64 bits", `spec: {deadline: 99999999999999999h}`, "deadline " + durationHint},
		{"a deadline in days", `spec: {deadline: 2d}`, "deadline " + durationHint},
		{"a deadline without a unit", `spec: {deadline: "90"}`, "deadline " + durationHint},
		{"a deadline that is a number", `spec: {deadline: 90}`, `spec.deadline in body must be of type string: "integer"`},
		{"an empty deadline", `spec: {deadline: ""}`, "deadline " + durationHint},
		{"a start deadline of 0", `spec: {startDeadline: 0s}`, "spec.startDeadline: Invalid value: \"0s\": startDeadline " + durationHint},
		{"a start deadline that isn't a duration", `spec: {startDeadline: soon}`, "startDeadline " + durationHint},

		{"a negative number of retries", `spec: {retry: {maxRetries: -1}}`, "spec.retry.maxRetries in body should be greater than or equal to 0"},
		{"101 retries", `spec: {retry: {maxRetries: 101}}`, "spec.retry.maxRetries in body should be less than or equal to 100"},
		{"a base delay below a second", `spec: {retry: {baseDelay: 999ms}}`,
			"spec.retry.baseDelay: Invalid value: \"999ms\": retry.baseDelay must be a duration such as 10s or 1m, at least 1s and less than 10 years (87600h)"},
		{"a base delay that isn't a duration", `spec: {retry: {baseDelay: quick}}`, "retry.baseDelay must be a duration such as 10s or 1m"},
		{"a maximum delay of 10 years", `spec: {retry: {maxDelay: 87600h}}`,
			"spec.retry.maxDelay: Invalid value: \"87600h\": retry.maxDelay must be a duration such as 10m or 1h, at least 1s and less than 10 years (87600h)"},
		{"a maximum below the base", `spec: {retry: {baseDelay: 1m, maxDelay: 59s}}`,
			"retry.maxDelay (10m unless set) must not be less than retry.baseDelay: raise maxDelay or lower baseDelay"},
		{"a base above the default maximum", `spec: {retry: {baseDelay: 11m}}`, "retry.maxDelay (10m unless set) must not be less than retry.baseDelay"},
		{"a permanent reason twice", `spec: {retry: {permanentReasons: [OOMKilled, OOMKilled]}}`, "spec.retry.permanentReasons[1]: Duplicate value"},
		{"an empty permanent reason", `spec: {retry: {permanentReasons: [""]}}`, "spec.retry.permanentReasons[0] in body should be at least 1 chars long"},
		{"33 permanent reasons", fmt.Sprintf(`spec: {retry: {permanentReasons: [%s]}}`, numbered("Reason", 33)),
			"spec.retry.permanentReasons: Too many: 33: must have at most 32 items"},

		{"an unknown deletion policy", `spec: {deletionPolicy: Forget}`, `spec.deletionPolicy: Unsupported value: "Forget": supported values: "Refund", "Keep"`},
		{"a negative time to live", `spec: {ttlSecondsAfterFinished: -1}`, "spec.ttlSecondsAfterFinished in body should be greater than or equal to 0"},

		{"a name of 41 characters", fmt.Sprintf(`metadata: {name: %s}`, strings.Repeat("a", 41)),
			"metadata.name must be at most 40 characters: attempts are named <name>-<number>; choose a shorter name"},
		{"a name with a dot", `metadata: {name: train.v2}`,
			"metadata.name must be a DNS label, since pods are named after it: use lower-case letters, digits and '-' only, no dots"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			err := api.Create(t.Context(), manifest(t, c.change))
			g.Expect(apierrors.IsInvalid(err)).To(BeTrue(), "want it refused as invalid, got: %v", err)
			g.Expect(err.Error()).To(ContainSubstring(c.message))
		})
	}
}

func TestManifestsThatAreAccepted(t *testing.T) {
	for _, c := range []struct{ name, change string }{
		{"a template alone", `{}`},
		{"a reference alone", referenceOnly},
		{"both", `spec: {workloadRef: {apiVersion: batch/v1, kind: Job, name: embed-corpus}}`},
		{"a free job", `spec: {cost: 0}`},
		{"the highest cost", `spec: {cost: 9007199254740991}`},
		{"an account of one character", `spec: {account: a}`},
		{"an account of 128 characters", fmt.Sprintf(`spec: {account: %s}`, strings.Repeat("a", 128))},
		{"an account that is a mail address", `spec: {account: Jo.Doe+gpu@example.com}`},
		{"a job ID of 200 characters", fmt.Sprintf(`spec: {jobID: %s}`, strings.Repeat("a", 200))},
		{"a job ID of every printable character but the slash", `spec: {jobID: "!\"#$%&'()*+,-.09:;<=>?@AZ[\\]^_` + "`" + `az{|}~"}`},
		{"a name of 40 characters", fmt.Sprintf(`metadata: {name: %s}`, strings.Repeat("a", 40))},
		{"a name that begins with a digit", `metadata: {name: 3d-render}`},
		{"a generated name", `metadata: {name: null, generateName: train-}`},
		{"the shortest deadline", `spec: {deadline: 1ns, startDeadline: 1ms}`},
		{"the longest deadline", `spec: {deadline: 87599h59m59.999999999s}`},
		{"no retries", `spec: {retry: {maxRetries: 0}}`},
		{"the most retries", `spec: {retry: {maxRetries: 100, baseDelay: 1s, maxDelay: 1s}}`},
		{"permanent reasons", `spec: {retry: {permanentReasons: [OOMKilled, PodFailurePolicy]}}`},
		{"cancelled from the start", `spec: {cancel: true}`},
		{"the other deletion policy", `spec: {deletionPolicy: Keep}`},
		{"deleted at once when it ends", `spec: {ttlSecondsAfterFinished: 0}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			created(t, c.change)
		})
	}
}

// What a rule of the CRD can't see is left to the controller, which refuses or
// drops it before it charges: this test says which those are.
func TestTemplatesThatOnlyTheControllerCanJudge(t *testing.T) {
	for _, c := range []struct{ name, change string }{
		{"another namespace", `spec: {template: {metadata: {namespace: kube-system}}}`},
		{"somebody's owner reference", `spec: {template: {metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: a, uid: b}]}}}`},
		{"finalizers", `spec: {template: {metadata: {finalizers: [example.com/hold]}}}`},
		{"a kind that Recoup doesn't know", `spec: {template: {apiVersion: example.com/v1, kind: Mystery}}`},
		{"a workload that is invalid", `spec: {template: {spec: {template: {spec: {containers: null}}}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			created(t, c.change)
		})
	}
}

func numbered(prefix string, n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return strings.Join(items, ", ")
}
