package controllers

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/workload"
)

// workloadsOf are the workloads of every kind that name a BillableJob, as the cache has them.
func (r *BillableJobReconciler) workloadsOf(ctx context.Context, key types.NamespacedName) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	for _, kind := range workload.Kinds() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GVK.GroupVersion().WithKind(kind.GVK.Kind + "List"))
		if err := r.Client.List(ctx, list, client.InNamespace(key.Namespace), client.MatchingFields{ownerIndex: key.Name}); err != nil {
			return nil, fmt.Errorf("listing the %ss of BillableJob %s: %w", kind.GVK.Kind, key, err)
		}
		all = append(all, list.Items...)
	}
	return all, nil
}

// liveBillableJob reads from the API server whether a BillableJob is there, and at which UID and resource version.
func (r *BillableJobReconciler) liveBillableJob(ctx context.Context, key types.NamespacedName) (metav1.PartialObjectMetadata, error) {
	now := metav1.PartialObjectMetadata{}
	now.SetGroupVersionKind(billingv1.GroupVersion.WithKind("BillableJob"))
	if err := r.Live.Get(ctx, key, &now); err != nil {
		return now, fmt.Errorf("reading BillableJob %s: %w", key, err)
	}
	return now, nil
}
