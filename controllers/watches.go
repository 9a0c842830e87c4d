package controllers

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/workload"
)

// ownerIndex finds the workloads of a BillableJob in the cache by its name.
const ownerIndex = "billing.recoup.dev/owner"

// CacheOptions keeps in memory only what is read: of workloads those that carry the attempt label, without the pod
// template, and of every object no managedFields.
func CacheOptions() cache.Options {
	requirement, err := labels.NewRequirement(billingv1.LabelAttempt, selection.Exists, nil)
	if err != nil {
		panic(err) // the label is a constant
	}
	watched := cache.ByObject{Label: labels.NewSelector().Add(*requirement), Transform: slim}
	opts := cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: map[client.Object]cache.ByObject{}}
	for _, kind := range workload.Kinds() {
		opts.ByObject[blank(kind.GVK)] = watched
	}
	return opts
}

func slim(obj any) (any, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		u.SetManagedFields(nil)
		unstructured.RemoveNestedField(u.Object, "spec", "template")
	}
	return obj, nil
}

func blank(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u
}

// ownerName is the name of the BillableJob that a workload belongs to: by its label, else, for a workload that a user's
// own worker created, by its controller reference.
func ownerName(obj client.Object) string {
	if name := obj.GetLabels()[billingv1.LabelBillableJob]; name != "" {
		return name
	}
	if owner := metav1.GetControllerOf(obj); owner != nil && owner.Kind == "BillableJob" &&
		owner.APIVersion == billingv1.GroupVersion.String() {
		return owner.Name
	}
	return ""
}

func indexOwner(obj client.Object) []string {
	if name := ownerName(obj); name != "" {
		return []string{name}
	}
	return nil
}

func toOwner(_ context.Context, obj client.Object) []reconcile.Request {
	name := ownerName(obj)
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: name}}}
}
