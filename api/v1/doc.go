// Package v1 holds the types of the API group billing.recoup.dev: the
// BillableJob, a job that is charged before it runs, refunded when it fails,
// and charged again when it is delivered after all.
//
// It promises that what the API server accepted is well formed: validation and
// immutability are rules in the generated CustomResourceDefinition. What those
// rules can't see (whether a template's kind is known, whether its metadata
// reaches for another namespace or owner) the controller checks before it
// charges anything. The package never reads a clock, a cluster or the books,
// and imports nothing of this project.
//
// +kubebuilder:object:generate=true
// +groupName=billing.recoup.dev
package v1
