package controllers

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	billingv1 "recoup.dev/recoup/api/v1"
)

// crdName is the name of the BillableJob's CustomResourceDefinition.
const crdName = "billablejobs." + billingv1.Group

// CheckInstalledCRD compares the CustomResourceDefinition on the cluster with the types of this binary. The API server
// silently drops fields that the definition lacks, so that a manager beside an older one would work with half a status; an
// error says which fields are missing and what to do.
func CheckInstalledCRD(ctx context.Context, reader client.Reader) error {
	crd := blank(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	if err := reader.Get(ctx, types.NamespacedName{Name: crdName}, crd); err != nil {
		return fmt.Errorf("reading the CustomResourceDefinition %s, which `make install` applies: %w", crdName, err)
	}
	var missing []string
	for _, part := range []struct {
		name string
		of   reflect.Type
	}{
		{"spec", reflect.TypeFor[billingv1.BillableJobSpec]()},
		{"status", reflect.TypeFor[billingv1.BillableJobStatus]()},
	} {
		served := properties(crd, part.name)
		for _, field := range jsonFields(part.of) {
			if !slices.Contains(served, field) {
				missing = append(missing, part.name+"."+field)
			}
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the CustomResourceDefinition %s on the cluster is of another release: it lacks %s; apply this release's with `make install`",
			crdName, strings.Join(missing, ", "))
	}
	return nil
}

// properties are the fields that version v1 of the definition knows of spec or status.
func properties(crd *unstructured.Unstructured, part string) []string {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if !ok || version["name"] != billingv1.GroupVersion.Version {
			continue
		}
		fields, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema", "properties", part, "properties")
		names := make([]string, 0, len(fields))
		for name := range fields {
			names = append(names, name)
		}
		return names
	}
	return nil
}

func jsonFields(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}
