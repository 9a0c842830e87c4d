package controllers

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	billingv1 "recoup.dev/recoup/api/v1"
)

// place sorts a workload that names this BillableJob under its attempt's number, or among what predecessors left.
func (p *pass) place(obj *unstructured.Unstructured) {
	n, ok := p.attemptOf(obj)
	switch {
	case ok && p.replaced(n, obj):
		p.leftovers = append(p.leftovers, obj)
	case ok:
		p.objects[n] = obj
	case p.isReferenced(obj):
		// A predecessor's claim: the live read that follows decides.
	case controllerutil.ContainsFinalizer(obj, billingv1.FinalizerOutcome) && ownerUID(obj) != "" && ownerUID(obj) != p.bj.UID:
		p.leftovers = append(p.leftovers, obj)
	}
}

// attemptOf tells which attempt of this BillableJob a workload is. Only UIDs count: a name says nothing.
func (p *pass) attemptOf(obj *unstructured.Unstructured) (int, bool) {
	if p.isReferenced(obj) {
		return 0, obj.GetAnnotations()[billingv1.AnnotationClaimedBy] == string(p.bj.UID)
	}
	owner := metav1.GetControllerOf(obj)
	if owner == nil || owner.UID != p.bj.UID {
		return 0, false
	}
	return p.attemptNumber(obj.GetLabels()[billingv1.LabelAttempt])
}

// attemptNumber reads the attempt label. Only the number of an attempt that can have been started counts, in its usual
// spelling: anyone who may create workloads can write a label.
func (p *pass) attemptNumber(label string) (int, bool) {
	n, err := strconv.Atoi(label)
	if err != nil || n < 0 || strconv.Itoa(n) != label {
		return 0, false
	}
	latest := 0
	if p.in.Books != nil {
		latest = p.in.Books.Attempt
	}
	return n, n <= latest
}

// isOurs tells that the workload is tied to this BillableJob or, where somebody took the tie off, that it is the object on
// record.
func (p *pass) isOurs(n int, obj client.Object) bool {
	if uid := ownerUID(obj); uid != "" {
		return uid == p.bj.UID
	}
	record := p.record(n)
	return record != nil && record.Workload != nil && record.Workload.UID == obj.GetUID()
}

// replaced tells that attempt n was another object, although this one carries its marks: somebody created it anew from an
// export that holds them.
func (p *pass) replaced(n int, obj client.Object) bool {
	record := p.record(n)
	return record != nil && record.Workload != nil && record.Workload.UID != obj.GetUID()
}

func (p *pass) isReferenced(obj *unstructured.Unstructured) bool {
	ref := p.bj.Spec.WorkloadRef
	return ref != nil && ref.Name == obj.GetName() && ref.Kind == obj.GetKind() && ref.APIVersion == obj.GetAPIVersion()
}

// ownerUID is the UID of the BillableJob that a workload is tied to, by claim or by controller reference.
func ownerUID(obj client.Object) types.UID {
	if uid := obj.GetAnnotations()[billingv1.AnnotationClaimedBy]; uid != "" {
		return types.UID(uid)
	}
	if owner := metav1.GetControllerOf(obj); owner != nil && owner.Kind == "BillableJob" {
		return owner.UID
	}
	return ""
}
