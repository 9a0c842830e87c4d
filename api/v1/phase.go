package v1

// Phase sums up where a BillableJob stands.
type Phase string

const (
	// PhasePending means that nothing is booked yet.
	PhasePending Phase = "Pending"

	// PhaseCharged means that the job is paid for and no attempt runs yet.
	PhaseCharged Phase = "Charged"

	// PhaseRunning means that the current attempt runs: paid for, or, if it is a
	// retry of a refunded job, charged once it succeeds.
	PhaseRunning Phase = "Running"

	// PhaseRefunded means that the credits were given back and that what follows,
	// a retry or a dead letter, is not announced yet.
	PhaseRefunded Phase = "Refunded"

	// PhaseRetryScheduled means that the credits were given back and the next
	// attempt starts at status.notBefore.
	PhaseRetryScheduled Phase = "RetryScheduled"

	// PhaseDelivered means that the job succeeded and the charge stands. Final.
	PhaseDelivered Phase = "Delivered"

	// PhaseReclaimed means that the job succeeded after a refund, which was taken
	// back. Final.
	PhaseReclaimed Phase = "Reclaimed"

	// PhaseDeadLettered means that the credits were given back and no retry is
	// left. It ends with a redrive, or a late success.
	PhaseDeadLettered Phase = "DeadLettered"

	// PhaseCancelled means that somebody stopped the job, and that deletionPolicy
	// settled its charge.
	PhaseCancelled Phase = "Cancelled"

	// PhaseConflict means that the books or the cluster hold something else under
	// this job's name. Nothing runs and nothing is booked until a person looks.
	PhaseConflict Phase = "Conflict"
)
