// Package workload answers one question about an object of the cluster: how does this run stand? Each kind that Recoup
// bills has one small file that reads the kind's own terminal conditions, over unstructured content, so that no
// operator's Go module becomes a dependency.
//
// The package promises that only what a kind documents as its end counts as one: pod counts, interim conditions and an
// unknown state never do. It has no client, reads no clock and decides nothing about credits.
package workload

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Phase says how a run stands.
type Phase string

const (
	// Pending runs have been accepted and none of their pods has started.
	Pending Phase = "Pending"
	// Running runs have started and have not ended; a run that is suspended or retries its pods after it started is one.
	Running Phase = "Running"
	// Succeeded runs have reached the end that their kind calls a success.
	Succeeded Phase = "Succeeded"
	// Failed runs have reached the end that their kind calls a failure.
	Failed Phase = "Failed"
	// Unknown runs can't be judged, for example because their node is lost. Unknown is never an end.
	Unknown Phase = "Unknown"
)

// Ended tells whether the phase is terminal.
func (p Phase) Ended() bool { return p == Succeeded || p == Failed }

// Outcome is what a workload's own status says of its run.
type Outcome struct {
	// Phase is how the run stands.
	Phase Phase
	// Reason is the kind's own word for a failure, in CamelCase; empty unless Phase is Failed.
	Reason string
	// Message is the kind's own sentence about a failure; empty unless Phase is Failed.
	Message string
	// Suspended tells that the run is being held back; the time it is held does not count towards a deadline.
	Suspended bool
	// Ready tells that the kind shows a pod that is ready now.
	Ready bool
	// StartedAt is the start that the kind reports, by the cluster's clock; zero if it reports none.
	StartedAt time.Time
	// SuspendedAt is when the suspension under way began, by the cluster's clock; zero if there is none, or the kind
	// doesn't tell.
	SuspendedAt time.Time
	// ResumedAt is when the last suspension ended, by the cluster's clock; zero if there was none.
	ResumedAt time.Time
	// FinishedAt is the end that the kind reports, by the cluster's clock; zero unless the run has ended.
	FinishedAt time.Time
}

// Kind is all that Recoup knows about one kind of workload.
type Kind struct {
	// GVK names the kind as the API server serves it.
	GVK schema.GroupVersionKind
	// Observe reads a run's outcome off an object of this kind.
	Observe func(*unstructured.Unstructured) Outcome
	// Generated takes out of an object's spec what the API server or a controller generated there, so that the rest can
	// be created again as another run.
	Generated func(spec map[string]any)
}

// kinds is the register: one line a kind.
var kinds = []Kind{
	job,
}

// Lookup finds a kind by the apiVersion and kind of a manifest.
func Lookup(apiVersion, kind string) (Kind, bool) {
	for _, k := range kinds {
		if gv, name := k.GVK.ToAPIVersionAndKind(); gv == apiVersion && name == kind {
			return k, true
		}
	}
	return Kind{}, false
}

// Kinds lists every kind that Recoup can bill, in the order of the register.
func Kinds() []Kind { return append([]Kind(nil), kinds...) }
