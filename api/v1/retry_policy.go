package v1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RetryPolicy says how often and how soon a failed attempt is followed by
// another. Retry n, from 1, waits baseDelay * 2^n, at most maxDelay.
//
// +kubebuilder:validation:XValidation:rule="!has(self.baseDelay) || !has(self.maxDelay) || duration(self.maxDelay) >= duration(self.baseDelay)",message="retry.maxDelay (10m unless set) must not be less than retry.baseDelay: raise maxDelay or lower baseDelay"
type RetryPolicy struct {
	// MaxRetries is how many retries follow the first run, from 0 to 100. With N
	// the job runs N+1 times at most, until somebody redrives it.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxRetries *int32 `json:"maxRetries,omitempty"`

	// BaseDelay is the unit of the back-off, from 1 second.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) < duration('87600h')",message="retry.baseDelay must be a duration such as 10s or 1m, at least 1s and less than 10 years (87600h)"
	BaseDelay *metav1.Duration `json:"baseDelay,omitempty"`

	// MaxDelay is the longest wait between two attempts; not less than baseDelay. Its
	// default is spelled as Go writes it, so that writing the object back is no change.
	// +optional
	// +kubebuilder:default="10m0s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) < duration('87600h')",message="retry.maxDelay must be a duration such as 10m or 1h, at least 1s and less than 10 years (87600h)"
	MaxDelay *metav1.Duration `json:"maxDelay,omitempty"`

	// PermanentReasons are failure reasons after which no retry can help, such as
	// PodFailurePolicy: the job is refunded and dead-lettered at once.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	PermanentReasons []string `json:"permanentReasons,omitempty"`
}

// The policy of a job that doesn't set one; the CRD's defaults say the same.
const (
	DefaultMaxRetries = 3
	DefaultBaseDelay  = 10 * time.Second
	DefaultMaxDelay   = 10 * time.Minute
)
