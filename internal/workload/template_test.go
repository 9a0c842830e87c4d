package workload

import (
	"errors"
	"maps"
	"strings"
	"testing"
)

const plain = `{"apiVersion":"batch/v1","kind":"Job","spec":{"backoffLimit":0,"template":{"spec":{"restartPolicy":"Never"}}}}`

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ name, template, message string }{
		{"another namespace", strings.Replace(plain, `"spec"`, `"metadata":{"namespace":"kube-system"},"spec"`, 1),
			`spec.template.metadata.namespace is "kube-system"; remove it`},
		{"somebody's owner reference", strings.Replace(plain, `"spec"`, `"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"y"}]},"spec"`, 1),
			"spec.template.metadata.ownerReferences must be removed"},
		{"an unknown kind", strings.Replace(plain, "batch/v1", "apps/v1", 1), "apps/v1 Job, which Recoup can't bill; use one of: batch/v1 Job"},
		{"a role", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding"}`, "which Recoup can't bill"},
		{"no kind", `{"spec":{}}`, "manifest without apiVersion or kind"},
		{"no spec", `{"apiVersion":"batch/v1","kind":"Job"}`, "spec.template.spec is missing"},
		{"a spec that is text", `{"apiVersion":"batch/v1","kind":"Job","spec":"x"}`, "spec.template.spec is missing"},
		{"a list", `[]`, "spec.template is not an object"},
		{"null", `null`, "manifest without apiVersion or kind"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := Parse([]byte(c.template), "team")
			if !errors.Is(err, ErrTemplate) || !strings.Contains(err.Error(), c.message) {
				t.Errorf("error is %v, want one with %q", err, c.message)
			}
		})
	}
}

func TestParseDropsWhatIsNotATenants(t *testing.T) {
	obj, kind, err := Parse([]byte(`{"apiVersion":"batch/v1","kind":"Job",
		"metadata":{"name":"mine","namespace":"team","uid":"u","finalizers":["x/y"],
			"labels":{"app":"train","billing.recoup.dev/attempt":"7"},
			"annotations":{"note":"n","billing.recoup.dev/claimed-by":"somebody"}},
		"spec":{"backoffLimit":0},"status":{"succeeded":1}}`), "team")
	if err != nil {
		t.Fatal(err)
	}
	if kind.GVK.Kind != "Job" || obj.GetName() != "" || obj.GetNamespace() != "" || obj.GetUID() != "" || len(obj.GetFinalizers()) != 0 {
		t.Errorf("kept metadata that isn't a tenant's: %v", obj.Object)
	}
	if _, ok := obj.Object["status"]; ok {
		t.Error("kept a status")
	}
	if want := map[string]string{"app": "train"}; !maps.Equal(obj.GetLabels(), want) {
		t.Errorf("labels are %v, want %v", obj.GetLabels(), want)
	}
	if want := map[string]string{"note": "n"}; !maps.Equal(obj.GetAnnotations(), want) {
		t.Errorf("annotations are %v, want %v", obj.GetAnnotations(), want)
	}
	if limit, ok := obj.Object["spec"].(map[string]any)["backoffLimit"].(int64); !ok || limit != 0 {
		t.Errorf("a whole number did not stay one: %v", obj.Object["spec"])
	}
}

func TestFromObjectKeepsOnlyWhatARetryNeeds(t *testing.T) {
	raw, err := FromObject(jobWith(t, `
metadata:
  name: train
  uid: u
  labels: {app: train, kueue.x-k8s.io/queue-name: gpus}
  annotations: {note: n}
spec:
  suspend: true
  backoffLimit: 0
  selector: {matchLabels: {batch.kubernetes.io/controller-uid: u}}
  template:
    metadata:
      creationTimestamp: null
      labels: {app: train, controller-uid: u, job-name: train, batch.kubernetes.io/controller-uid: u, batch.kubernetes.io/job-name: train}
    spec: {restartPolicy: Never}
status: {failed: 1}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"apiVersion":"batch/v1","kind":"Job","metadata":{"labels":{"kueue.x-k8s.io/queue-name":"gpus"}},` +
		`"spec":{"backoffLimit":0,"template":{"metadata":{"labels":{"app":"train"}},"spec":{"restartPolicy":"Never"}}}}`
	if string(raw) != want {
		t.Errorf("template is\n%s\nwant\n%s", raw, want)
	}
}

func TestFromObjectKeepsAManualSelector(t *testing.T) {
	raw, err := FromObject(jobWith(t, `spec: {manualSelector: true, selector: {matchLabels: {run: a}}}`))
	if want := `{"apiVersion":"batch/v1","kind":"Job","spec":{"manualSelector":true,"selector":{"matchLabels":{"run":"a"}}}}`; err != nil || string(raw) != want {
		t.Errorf("template is %s (%v), want %s", raw, err, want)
	}
}

func TestFromObjectRefusesWhatIsTooLarge(t *testing.T) {
	_, err := FromObject(jobWith(t, "spec: {note: "+strings.Repeat("x", MaxTemplateBytes)+"}"))
	if !errors.Is(err, ErrTemplate) || !strings.Contains(err.Error(), "the limit is 262144") {
		t.Errorf("error is %v", err)
	}
}
