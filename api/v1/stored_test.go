package v1_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	billingv1 "recoup.dev/recoup/api/v1"
)

func TestDefaultsOfAJobThatSetsNone(t *testing.T) {
	g := NewWithT(t)
	object := created(t)

	var job billingv1.BillableJob
	g.Expect(api.Get(t.Context(), client.ObjectKeyFromObject(object), &job)).To(Succeed())
	g.Expect(*job.Spec.Retry.MaxRetries).To(Equal(int32(3)))
	g.Expect(job.Spec.Retry.BaseDelay.Duration).To(Equal(10 * time.Second))
	g.Expect(job.Spec.Retry.MaxDelay.Duration).To(Equal(10 * time.Minute))
	g.Expect(job.Spec.DeletionPolicy).To(Equal(billingv1.DeletionPolicyRefund))
	g.Expect(job.Spec.Cancel).To(BeFalse())
	g.Expect(job.Spec.Deadline).To(BeNil())
	g.Expect(job.Spec.TTLSecondsAfterFinished).To(BeNil())

	g.Expect(int32(billingv1.DefaultMaxRetries)).To(Equal(*job.Spec.Retry.MaxRetries))
	g.Expect(billingv1.DefaultBaseDelay).To(Equal(job.Spec.Retry.BaseDelay.Duration))
	g.Expect(billingv1.DefaultMaxDelay).To(Equal(job.Spec.Retry.MaxDelay.Duration))
}

func TestATemplateKeepsWhatTheCRDDoesNotKnow(t *testing.T) {
	g := NewWithT(t)
	object := created(t, `spec: {template: {metadata: {labels: {app: train}, annotations: {note: "1"}}, spec: {backoffLimit: 0, managedBy: example.com/queue}}}`)

	g.Expect(api.Get(t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
	template, _, err := unstructured.NestedMap(object.Object, "spec", "template")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(template).To(Equal(map[string]any{
		"apiVersion": "batch/v1",
		"kind":       "Job",
		"metadata": map[string]any{
			"labels":      map[string]any{"app": "train"},
			"annotations": map[string]any{"note": "1"},
		},
		"spec": map[string]any{
			"backoffLimit": int64(0),
			"managedBy":    "example.com/queue",
			"template": map[string]any{"spec": map[string]any{
				"containers": []any{map[string]any{"name": "train", "image": "train"}},
			}},
		},
	}))
}

func TestTheStatusIsASubresourceAndKeepsEveryField(t *testing.T) {
	g := NewWithT(t)
	object := created(t)
	at := metav1.NewMicroTime(time.Date(2026, 3, 4, 5, 6, 7, 891234000, time.UTC))
	attempt, net := int32(0), int64(-100)
	want := billingv1.BillableJobStatus{
		ObservedGeneration: 1,
		Phase:              billingv1.PhaseRunning,
		JobID:              "train-once",
		Attempt:            &attempt,
		NotBefore:          &at,
		NetCredits:         &net,
		Attempts: []billingv1.AttemptStatus{{
			Number:       0,
			Workload:     &billingv1.AttemptWorkload{APIVersion: "batch/v1", Kind: "Job", Name: "train-once-0", UID: "u"},
			CreatedAt:    &at,
			StartedAt:    &at,
			RunningSince: &at,
			Ran:          &metav1.Duration{Duration: 90 * time.Second},
			FinishedAt:   &at,
			Outcome:      billingv1.AttemptFailed,
			Reason:       billingv1.ReasonDeadlineExceeded,
		}},
		Conditions: []metav1.Condition{{
			Type: billingv1.ConditionCharged, Status: metav1.ConditionTrue, ObservedGeneration: 1,
			Reason: billingv1.ReasonCharged, Message: "100 credits were charged to team-vision",
			LastTransitionTime: metav1.NewTime(at.Truncate(time.Second)),
		}},
	}

	var job billingv1.BillableJob
	g.Expect(api.Get(t.Context(), client.ObjectKeyFromObject(object), &job)).To(Succeed())
	job.Status = want
	g.Expect(api.Update(t.Context(), &job)).To(Succeed())
	g.Expect(job.Status).To(Equal(billingv1.BillableJobStatus{}), "a plain update must not touch the status")

	job.Status = want
	g.Expect(api.Status().Update(t.Context(), &job)).To(Succeed())
	var got billingv1.BillableJob
	g.Expect(api.Get(t.Context(), client.ObjectKeyFromObject(object), &got)).To(Succeed())
	g.Expect(asYAML(t, got.Status)).To(Equal(asYAML(t, want)))
	g.Expect(got.Generation).To(Equal(int64(1)), "the status must not move the generation")
}

func TestAnAttemptReasonIsBounded(t *testing.T) {
	g := NewWithT(t)
	object := created(t)
	err := api.Status().Patch(t.Context(), object, client.RawPatch("application/merge-patch+json",
		asJSON(t, `status: {attempts: [{number: 0, reason: `+strings.Repeat("r", 257)+`}]}`)))
	g.Expect(err).To(MatchError(ContainSubstring("status.attempts[0].reason: Too long: may not be more than 256 bytes")))
}

func TestTheColumnsOfKubectlGet(t *testing.T) {
	g := NewWithT(t)
	object := created(t)
	attempt, net := int32(1), int64(0)
	notBefore := metav1.NewMicroTime(time.Date(2099, 1, 2, 3, 4, 5, 0, time.UTC))
	var job billingv1.BillableJob
	g.Expect(api.Get(t.Context(), client.ObjectKeyFromObject(object), &job)).To(Succeed())
	job.Status = billingv1.BillableJobStatus{Phase: billingv1.PhaseRetryScheduled, Attempt: &attempt, NetCredits: &net, NotBefore: &notBefore}
	g.Expect(api.Status().Update(t.Context(), &job)).To(Succeed())

	cluster := rest.CopyConfig(config)
	cluster.GroupVersion = &billingv1.GroupVersion
	cluster.APIPath = "/apis"
	cluster.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	get, err := rest.RESTClientFor(cluster)
	g.Expect(err).NotTo(HaveOccurred())
	raw, err := get.Get().Namespace("default").Resource("billablejobs").Name(object.GetName()).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	table := tableOf(t, raw)

	g.Expect(table.names).To(Equal([]string{"Name", "Account", "Cost", "Phase", "Net", "Attempt", "Not Before", "Age"}))
	g.Expect(table.wide).To(Equal([]string{"Not Before"}))
	g.Expect(table.cells[:7]).To(Equal([]any{
		object.GetName(), "team-vision", int64(100), "RetryScheduled", int64(0), int64(1), "2099-01-02T03:04:05.000000Z",
	}))
}
