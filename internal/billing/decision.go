package billing

import "time"

// Verb is what to do next.
type Verb string

const (
	// Wait does nothing until something changes or Decision.Wake has come.
	Wait Verb = "Wait"
	// Hold adds the settlement finalizer to the BillableJob.
	Hold Verb = "Hold"
	// Claim ties the referenced workload to this BillableJob: annotation, labels and finalizer in one write.
	Claim Verb = "Claim"
	// Adopt adds labels and finalizer to an attempt's workload that somebody else created for this BillableJob.
	Adopt Verb = "Adopt"
	// Fill writes the template of the referenced workload into the BillableJob.
	Fill Verb = "Fill"
	// TryOut makes a dry run of the attempt's workload.
	TryOut Verb = "TryOut"
	// Charge opens the job document.
	Charge Verb = "Charge"
	// EnsureRows appends the rows that the job document demands, where they are missing.
	EnsureRows Verb = "EnsureRows"
	// Deliver closes a charged job.
	Deliver Verb = "Deliver"
	// Reclaim takes the refund of a job back and closes it.
	Reclaim Verb = "Reclaim"
	// Refund gives the charge back, because attempt Decision.Attempt failed.
	Refund Verb = "Refund"
	// FailAgain notes that attempt Decision.Attempt of a refunded job failed.
	FailAgain Verb = "FailAgain"
	// Redrive gives a dead-lettered job a fresh round of attempts.
	Redrive Verb = "Redrive"
	// Push announces the current attempt to the retry lane.
	Push Verb = "Push"
	// PushAgain announces it once more, since it should have appeared and has not.
	PushAgain Verb = "PushAgain"
	// DeadLetter puts the job on the list for people.
	DeadLetter Verb = "DeadLetter"
	// Stop ends attempt Decision.Attempt's workload, unless it turns out to have succeeded.
	Stop Verb = "Stop"
	// Start creates attempt Decision.Attempt's workload.
	Start Verb = "Start"
	// Finish lets go of every workload and of the BillableJob itself.
	Finish Verb = "Finish"
	// Expire deletes the BillableJob, whose time is up.
	Expire Verb = "Expire"
)

// Then is what follows a failure.
type Then string

const (
	// ThenNothing ends the job: somebody wanted it to end.
	ThenNothing Then = "Nothing"
	// ThenRetry plans the next attempt.
	ThenRetry Then = "Retry"
	// ThenDeadLetter leaves the job to people.
	ThenDeadLetter Then = "DeadLetter"
)

// Reasons of failures that Recoup itself finds. Those of a workload are the workload's own.
const (
	ReasonWorkloadFailed        = "WorkloadFailed"
	ReasonFailedSignal          = "FailedSignal"
	ReasonWorkloadDeleted       = "WorkloadDeleted"
	ReasonWorkloadRefused       = "WorkloadRefused"
	ReasonDeadlineExceeded      = "DeadlineExceeded"
	ReasonStartDeadlineExceeded = "StartDeadlineExceeded"
	ReasonCancelled             = "Cancelled"
	ReasonJobDeleted            = "JobDeleted"
)

// Decision is one step.
type Decision struct {
	Verb Verb
	// Rule names the rule that decided.
	Rule string
	// Attempt is the attempt that the step is about.
	Attempt int
	// Reason and Message say why an attempt failed.
	Reason, Message string
	// Then is what follows the failure.
	Then Then
	// Wake is when to look again if nothing happens until then, by the manager's clock; zero if no time matters.
	Wake time.Time
}
