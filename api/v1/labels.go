package v1

// Labels on the workloads that run as attempts.
const (
	// LabelBillableJob holds the name of the BillableJob. It comes and goes with
	// the finalizer, so that watches can select on it.
	LabelBillableJob = Group + "/billablejob"

	// LabelAttempt holds the number of the attempt, in decimal.
	LabelAttempt = Group + "/attempt"
)

// Annotations on workloads.
const (
	// AnnotationClaimedBy holds the UID of the one BillableJob that a workload
	// counts for.
	AnnotationClaimedBy = Group + "/claimed-by"
)

// Annotations on a BillableJob, set by people and their programs.
const (
	// AnnotationDeliveredAt says that the job was delivered, at an RFC 3339 time.
	// It is read only with --accept-signals.
	AnnotationDeliveredAt = Group + "/delivered-at"

	// AnnotationFailedAt says that an attempt failed: <attempt>@<RFC 3339 time>. It
	// is read only with --accept-signals.
	AnnotationFailedAt = Group + "/failed-at"

	// AnnotationStartedAt says that a worker of the user's own has taken an attempt
	// from the retry lane: <attempt>@<RFC 3339 time>.
	AnnotationStartedAt = Group + "/started-at"

	// AnnotationRedrive asks for another round of attempts of a dead-lettered job.
	// It holds the number of redrives so far, so that it acts once.
	AnnotationRedrive = Group + "/redrive"
)

// Finalizers.
const (
	// FinalizerSettlement holds a BillableJob back until its charge is settled.
	FinalizerSettlement = Group + "/settlement"

	// FinalizerOutcome holds a workload back until its outcome is recorded.
	FinalizerOutcome = Group + "/outcome"
)
