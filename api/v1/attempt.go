package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AttemptStatus is what is known of one run of the job.
type AttemptStatus struct {
	// Number is the attempt's number: 0 for the first, n for retry n.
	// +required
	// +kubebuilder:validation:Minimum=0
	Number int32 `json:"number"`

	// Workload is the object that runs, or ran, as this attempt.
	// +optional
	Workload *AttemptWorkload `json:"workload,omitempty"`

	// CreatedAt is when the workload was created; startDeadline runs from here.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}(Z|[+-][0-9]{2}:[0-9]{2})$`
	CreatedAt *metav1.MicroTime `json:"createdAt,omitempty"`

	// StartedAt is the start that the workload reports.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}(Z|[+-][0-9]{2}:[0-9]{2})$`
	StartedAt *metav1.MicroTime `json:"startedAt,omitempty"`

	// RunningSince is when the stretch began in which the attempt now runs; unset
	// while it is suspended, pending or over.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}(Z|[+-][0-9]{2}:[0-9]{2})$`
	RunningSince *metav1.MicroTime `json:"runningSince,omitempty"`

	// Ran is how long the attempt ran before the current stretch. Together with
	// the time since runningSince it is what deadline is compared to.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="ran must be a duration"
	Ran *metav1.Duration `json:"ran,omitempty"`

	// FinishedAt is when the attempt ended.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}(Z|[+-][0-9]{2}:[0-9]{2})$`
	FinishedAt *metav1.MicroTime `json:"finishedAt,omitempty"`

	// Outcome is how the attempt ended; empty until it has.
	// +optional
	Outcome AttemptOutcome `json:"outcome,omitempty"`

	// Reason says in a word, at most 256 bytes, why the attempt ended so.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`
}

// AttemptWorkload identifies an attempt's object. Objects are told apart by UID,
// never by name alone.
type AttemptWorkload struct {
	// +required
	APIVersion string `json:"apiVersion"`
	// +required
	Kind string `json:"kind"`
	// +required
	Name string `json:"name"`
	// +required
	UID types.UID `json:"uid"`
}

// AttemptOutcome is how an attempt ended.
type AttemptOutcome string

const (
	// AttemptSucceeded means that the workload reached its kind's success.
	AttemptSucceeded AttemptOutcome = "Succeeded"

	// AttemptFailed means that the workload failed, was deleted, or outlived a deadline.
	AttemptFailed AttemptOutcome = "Failed"

	// AttemptStopped means that Recoup stopped it: the job was cancelled or
	// deleted, or another attempt took its place.
	AttemptStopped AttemptOutcome = "Stopped"
)
