package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BillableJobStatus is a projection of the job's document in the books and of
// its workloads in the cluster.
type BillableJobStatus struct {
	// ObservedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Phase sums up for people where the job stands; programs read the conditions.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// JobID is the job's name in the books, within its namespace: spec.jobID, or
	// this object's UID.
	// +optional
	JobID string `json:"jobID,omitempty"`

	// Attempt is the number of the current attempt, from 0. It never falls.
	// +optional
	Attempt *int32 `json:"attempt,omitempty"`

	// NotBefore is the moment before which the next attempt isn't started, by the
	// clock of the Redis server.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}(Z|[+-][0-9]{2}:[0-9]{2})$`
	NotBefore *metav1.MicroTime `json:"notBefore,omitempty"`

	// NetCredits is the sum of the job's ledger rows: minus its cost, or 0. Unset
	// until something is booked.
	// +optional
	NetCredits *int64 `json:"netCredits,omitempty"`

	// Attempts are the latest attempts, oldest first, 20 at most.
	// +optional
	// +listType=map
	// +listMapKey=number
	// +kubebuilder:validation:MaxItems=20
	Attempts []AttemptStatus `json:"attempts,omitempty"`

	// Conditions say what was booked and what stands in the way, and why.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// MaxAttempts is how many attempts a status keeps, the latest ones.
const MaxAttempts = 20
