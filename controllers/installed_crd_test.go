package controllers

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestTheInstalledCRDIsCurrent(t *testing.T) {
	b := newBench(t)
	must(t, CheckInstalledCRD(b.ctx, b.c))
}

// olderCRD shows the real definition as an older release would have installed it.
type olderCRD struct{ client.Reader }

func (r olderCRD) Get(ctx context.Context, key types.NamespacedName, obj client.Object, opts ...client.GetOption) error {
	if err := r.Reader.Get(ctx, key, obj, opts...); err != nil {
		return err
	}
	u := obj.(*unstructured.Unstructured)
	versions, _, err := unstructured.NestedSlice(u.Object, "spec", "versions")
	if err != nil {
		return err
	}
	for _, field := range [][]string{{"spec", "startDeadline"}, {"status", "attempts"}} {
		unstructured.RemoveNestedField(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", field[0], "properties", field[1])
	}
	return unstructured.SetNestedSlice(u.Object, versions, "spec", "versions")
}

func TestAnOlderCRDIsSaidAtStart(t *testing.T) {
	b := newBench(t)
	err := CheckInstalledCRD(b.ctx, olderCRD{b.c})
	want := "it lacks spec.startDeadline, status.attempts; apply this release's with `make install`"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want one with %q", err, want)
	}
}
