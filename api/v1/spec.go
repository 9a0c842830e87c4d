package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// BillableJobSpec says what to run, who pays, and what happens when it fails.
//
// +kubebuilder:validation:XValidation:rule="self.account == oldSelf.account",fieldPath=".account",message="account can't be changed, since the job may be charged to it already: create another BillableJob"
// +kubebuilder:validation:XValidation:rule="self.cost == oldSelf.cost",fieldPath=".cost",message="cost can't be changed, since the job may be charged already: create another BillableJob"
// +kubebuilder:validation:XValidation:rule="has(self.jobID) == has(oldSelf.jobID) && (!has(self.jobID) || self.jobID == oldSelf.jobID)",message="jobID can't be set, changed or removed after creation, since the books know the job by it: create another BillableJob"
// +kubebuilder:validation:XValidation:rule="has(self.workloadRef) == has(oldSelf.workloadRef) && (!has(self.workloadRef) || self.workloadRef == oldSelf.workloadRef)",message="workloadRef can't be added, changed or removed after creation: create another BillableJob"
// +kubebuilder:validation:XValidation:rule="has(self.workloadRef) || has(self.template)",message="nothing to run: set workloadRef (a workload that exists), template (a manifest to run), or both"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.template) || has(self.template)",message="template can't be removed, since retries are made from it: put it back, or set cancel to true to stop the job"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.cancel) || !oldSelf.cancel || (has(self.cancel) && self.cancel)",message="cancel can't be taken back once it is true: create another BillableJob to run the job again"
type BillableJobSpec struct {
	// Account is the name of the account that pays. It can't be changed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9._@+]*[A-Za-z0-9])?$')",message="account must begin and end with a letter or digit and hold only letters, digits, '-', '_', '.', '@' and '+'"
	Account string `json:"account"`

	// Cost is what the job costs, in whole credits, from 0 to 2^53-1. A free job
	// (0) is booked like any other. It can't be changed.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=9007199254740991
	Cost int64 `json:"cost"`

	// JobID is the job's name in the books, within its namespace: the same ID is
	// never charged twice. Unset, it is this object's UID, so set it in manifests
	// that may be deleted and applied again. It can't be set, changed or removed
	// later. At most 200 printable ASCII characters, without white space and '/'.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:XValidation:rule="self.matches('^[!-.0-~]*$')",message="jobID must hold only printable ASCII characters, without white space and without '/'"
	JobID string `json:"jobID,omitempty"`

	// WorkloadRef names a workload of the same namespace that exists already; it
	// is attempt 0. It can't be added, changed or removed later.
	// +optional
	WorkloadRef *WorkloadReference `json:"workloadRef,omitempty"`

	// Template is the complete manifest of a workload, of which each attempt gets
	// a copy named <name>-<attempt>. Recoup sets name and namespace itself, refuses
	// a template that names another namespace, and drops owner references,
	// finalizers, status and its own labels and annotations. If only workloadRef
	// is set, Recoup fills the template in from that workload once.
	// +optional
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	Template *runtime.RawExtension `json:"template,omitempty"`

	// Deadline is how long an attempt may run. One that has neither succeeded nor
	// failed by then counts as failed: it is refunded, but goes on until its retry
	// starts, and if it succeeds after all, the refund is taken back. It runs from the
	// first ready pod where the kind shows one, else from the start that the
	// workload reports; time suspended doesn't count. More than 0, less than 10 years.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) < duration('87600h')",message="deadline must be a duration such as 90s, 15m or 2h30m, more than 0 and less than 10 years (87600h)"
	Deadline *metav1.Duration `json:"deadline,omitempty"`

	// StartDeadline is the same for an attempt that never starts to run; it runs
	// from the attempt's creation. More than 0, less than 10 years.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) < duration('87600h')",message="startDeadline must be a duration such as 90s, 15m or 2h30m, more than 0 and less than 10 years (87600h)"
	StartDeadline *metav1.Duration `json:"startDeadline,omitempty"`

	// Retry says how often and how soon a failed attempt is followed by another.
	// Left out, its fields take their defaults: 3 retries, from 10 seconds to 10
	// minutes apart. For no retry at all, set maxRetries to 0.
	// +optional
	// +kubebuilder:default={}
	Retry *RetryPolicy `json:"retry,omitempty"`

	// DeletionPolicy says what happens to the charge of an undelivered job that
	// somebody cancels, or whose object or workload somebody deletes.
	// +optional
	// +kubebuilder:default=Refund
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// Cancel, once true, stops the job and settles it by deletionPolicy. It can't
	// be taken back.
	// +optional
	Cancel bool `json:"cancel,omitempty"`

	// TTLSecondsAfterFinished is how many seconds after its end (delivered,
	// dead-lettered or cancelled) this object is deleted. Unset, it stays.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// WorkloadReference names a workload in the BillableJob's own namespace.
type WorkloadReference struct {
	// APIVersion is the workload's group and version, such as batch/v1.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`

	// Kind is the workload's kind, such as Job.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// Name is the workload's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// DeletionPolicy says who bears the cost of a job that is stopped before it is delivered.
//
// +kubebuilder:validation:Enum=Refund;Keep
type DeletionPolicy string

const (
	// DeletionPolicyRefund gives the credits back. It is the default.
	DeletionPolicyRefund DeletionPolicy = "Refund"

	// DeletionPolicyKeep leaves the charge as it is.
	DeletionPolicyKeep DeletionPolicy = "Keep"
)
