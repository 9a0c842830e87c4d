package v1_test

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// A manifest that is accepted; each case is a change to it.
const base = `
apiVersion: billing.recoup.dev/v1
kind: BillableJob
metadata: {namespace: default}
spec:
  account: team-vision
  cost: 100
  template:
    apiVersion: batch/v1
    kind: Job
    spec: {template: {spec: {containers: [{name: train, image: train}]}}}
`

// Replaces the template by a reference.
const referenceOnly = `spec: {template: null, workloadRef: {apiVersion: batch/v1, kind: Job, name: embed-corpus}}`

var named atomic.Int64

// manifest returns the base with each change merged into it, a null taking the
// field out, under a name of its own unless a change names it.
func manifest(t *testing.T, changes ...string) *unstructured.Unstructured {
	t.Helper()
	document := asJSON(t, base)
	name := fmt.Sprintf("metadata: {name: job-%d}", named.Add(1))
	for _, change := range append([]string{name}, changes...) {
		merged, err := jsonpatch.MergePatch(document, asJSON(t, change))
		if err != nil {
			t.Fatalf("merging %q: %v", change, err)
		}
		document = merged
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(document, &object.Object); err != nil {
		t.Fatalf("reading %s: %v", document, err)
	}
	return object
}

// created writes the manifest, which must be accepted.
func created(t *testing.T, changes ...string) *unstructured.Unstructured {
	t.Helper()
	object := manifest(t, changes...)
	if err := api.Create(t.Context(), object); err != nil {
		t.Fatalf("a manifest that should be accepted was refused: %v", err)
	}
	return object
}

// changed merges a change into what the API server holds.
func changed(t *testing.T, object *unstructured.Unstructured, change string) error {
	t.Helper()
	return api.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, asJSON(t, change)))
}

func asJSON(t *testing.T, text string) []byte {
	t.Helper()
	document, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("reading %q: %v", text, err)
	}
	return document
}
