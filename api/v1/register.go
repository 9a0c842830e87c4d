package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of every type in this package, and the prefix of every
// label, annotation and finalizer that Recoup sets.
const Group = "billing.recoup.dev"

// Kind is the kind of a BillableJob, as it stands in owner references.
const Kind = "BillableJob"

var (
	// GroupVersion is the group and version of every type in this package.
	GroupVersion = schema.GroupVersion{Group: Group, Version: "v1"}

	// GroupVersionKind is what a BillableJob calls itself.
	GroupVersionKind = GroupVersion.WithKind(Kind)

	// SchemeBuilder collects what AddToScheme registers.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers this package's types. It fails only if the scheme
	// holds other Go types under the same names.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &BillableJob{}, &BillableJobList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
