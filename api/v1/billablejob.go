package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BillableJob is a job that costs credits: charged before it runs, refunded
// when it fails, and charged again (reclaimed) when it is delivered later.
//
// The name must be a DNS label of at most 40 characters, because attempt n runs
// as a workload of the name <name>-<n>, whose pods are named after it in turn.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=bj,categories=billing
// +kubebuilder:printcolumn:name="Account",type=string,JSONPath=`.spec.account`,description="Account that pays"
// +kubebuilder:printcolumn:name="Cost",type=integer,JSONPath=`.spec.cost`,description="Credits that the job costs"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`,description="Where the job stands"
// +kubebuilder:printcolumn:name="Net",type=integer,JSONPath=`.status.netCredits`,description="Sum of the job's ledger rows"
// +kubebuilder:printcolumn:name="Attempt",type=integer,JSONPath=`.status.attempt`,description="Number of the current attempt, from 0"
// +kubebuilder:printcolumn:name="Not Before",type=string,priority=1,JSONPath=`.status.notBefore`,description="When the next attempt may start"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 40",message="metadata.name must be at most 40 characters: attempts are named <name>-<number>; choose a shorter name"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be a DNS label, since pods are named after it: use lower-case letters, digits and '-' only, no dots"
type BillableJob struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// Spec is what the user wants run, and who pays how much for it.
	// +required
	Spec BillableJobSpec `json:"spec"`

	// Status is a projection of the books and of the cluster. Nothing is decided
	// from it: deleted, it is written again, and nothing is booked twice.
	// +optional
	Status BillableJobStatus `json:"status,omitzero"`
}

// BillableJobList is a list of BillableJobs.
//
// +kubebuilder:object:root=true
type BillableJobList struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []BillableJob `json:"items"`
}
