package workload

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

// MaxTemplateBytes bounds a template that is filled in from an existing workload: 256 KiB of JSON.
const MaxTemplateBytes = 256 << 10

// ownPrefix marks the labels and annotations that Recoup alone sets.
const ownPrefix = "billing.recoup.dev/"

// keptLabels are the labels of an existing workload that its retries need to be queued like it. All other metadata of
// an existing workload stays behind: tools that own it would take the copy for the original.
var keptLabels = []string{"kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"}

// ErrTemplate marks every refusal of a template; its text says what to change.
var ErrTemplate = errors.New("template refused")

// Parse reads a template that a tenant wrote for use in the given namespace. It returns an object with kind, spec,
// labels and annotations and nothing else: name and namespace are the caller's to set, and finalizers, status and every
// label or annotation that is Recoup's own are dropped. A template of an unknown kind, of another namespace or with
// owner references is refused with an error that matches ErrTemplate.
func Parse(raw []byte, namespace string) (*unstructured.Unstructured, Kind, error) {
	var content map[string]any
	if err := json.Unmarshal(raw, &content); err != nil {
		return nil, Kind{}, fmt.Errorf("%w: spec.template is not an object: %w", ErrTemplate, err)
	}
	in := &unstructured.Unstructured{Object: content}
	kind, ok := Lookup(in.GetAPIVersion(), in.GetKind())
	if !ok {
		return nil, Kind{}, fmt.Errorf("%w: spec.template is a %s, which Recoup can't bill; use one of: %s",
			ErrTemplate, describe(in.GetAPIVersion(), in.GetKind()), known())
	}
	if ns := in.GetNamespace(); ns != "" && ns != namespace {
		return nil, Kind{}, fmt.Errorf("%w: spec.template.metadata.namespace is %q; remove it, since a workload always runs in its BillableJob's own namespace, %q",
			ErrTemplate, ns, namespace)
	}
	if len(in.GetOwnerReferences()) > 0 {
		return nil, Kind{}, fmt.Errorf("%w: spec.template.metadata.ownerReferences must be removed: the BillableJob alone owns the workload",
			ErrTemplate)
	}
	if _, ok := in.Object["spec"].(map[string]any); !ok {
		return nil, Kind{}, fmt.Errorf("%w: spec.template.spec is missing; give the %s a spec", ErrTemplate, kind.GVK.Kind)
	}

	out := &unstructured.Unstructured{Object: map[string]any{"spec": in.Object["spec"]}}
	out.SetGroupVersionKind(kind.GVK)
	out.SetLabels(withoutOwn(in.GetLabels()))
	out.SetAnnotations(withoutOwn(in.GetAnnotations()))
	return out, kind, nil
}

// FromObject makes a template out of an existing workload, for its retries. The result holds kind, spec and the few
// labels that queue it; it is refused, with an error that matches ErrTemplate, when it exceeds MaxTemplateBytes.
func FromObject(u *unstructured.Unstructured) ([]byte, error) {
	kind, ok := Lookup(u.GetAPIVersion(), u.GetKind())
	if !ok {
		return nil, fmt.Errorf("%w: %s can't be billed; use one of: %s", ErrTemplate, describe(u.GetAPIVersion(), u.GetKind()), known())
	}
	spec, _, err := unstructured.NestedMap(u.Object, "spec")
	if err != nil {
		return nil, fmt.Errorf("%w: reading the spec of %s %s: %w", ErrTemplate, u.GetKind(), u.GetName(), err)
	}
	kind.Generated(spec)
	out := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	out.SetGroupVersionKind(kind.GVK)
	labels := map[string]string{}
	for _, key := range keptLabels {
		if value, ok := u.GetLabels()[key]; ok {
			labels[key] = value
		}
	}
	if len(labels) > 0 {
		out.SetLabels(labels)
	}
	raw, err := json.Marshal(out.Object)
	if err != nil {
		return nil, fmt.Errorf("encoding the spec of %s %s as a template: %w", u.GetKind(), u.GetName(), err)
	}
	if len(raw) > MaxTemplateBytes {
		return nil, fmt.Errorf("%w: the spec of %s %s has %d bytes; the limit is %d: move large data into a ConfigMap",
			ErrTemplate, u.GetKind(), u.GetName(), len(raw), MaxTemplateBytes)
	}
	return raw, nil
}

func withoutOwn(in map[string]string) map[string]string {
	var out map[string]string
	for k, v := range in {
		if strings.HasPrefix(k, ownPrefix) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[k] = v
	}
	return out
}

func describe(apiVersion, kind string) string {
	if apiVersion == "" || kind == "" {
		return "manifest without apiVersion or kind"
	}
	return apiVersion + " " + kind
}

func known() string {
	names := make([]string, 0, len(kinds))
	for _, k := range kinds {
		names = append(names, describe(k.GVK.ToAPIVersionAndKind()))
	}
	return strings.Join(names, ", ")
}
