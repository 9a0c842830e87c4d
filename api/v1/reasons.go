package v1

// Reasons of the conditions that say what is booked.
const (
	// ReasonPending: it has not happened, and may yet.
	ReasonPending = "Pending"

	// ReasonNotCharged: nothing is booked yet.
	ReasonNotCharged = "NotCharged"

	// ReasonCharged: the charge is in the books.
	ReasonCharged = "Charged"

	// ReasonRefunded: the refund is in the books.
	ReasonRefunded = "Refunded"

	// ReasonReclaimed: the refund was taken back, since the job was delivered after it.
	ReasonReclaimed = "Reclaimed"

	// ReasonDelivered: an attempt succeeded.
	ReasonDelivered = "Delivered"

	// ReasonDeliveredSignal: the annotation delivered-at says that the job was delivered.
	ReasonDeliveredSignal = "DeliveredSignal"

	// ReasonRunning: an attempt runs.
	ReasonRunning = "Running"

	// ReasonSuspended: the attempt's workload is suspended, so no deadline runs.
	ReasonSuspended = "Suspended"

	// ReasonUnknown: the workload's state can't be told, such as on a lost node; no
	// credits move before the deadline.
	ReasonUnknown = "Unknown"

	// ReasonRetryScheduled: the next attempt starts at status.notBefore.
	ReasonRetryScheduled = "RetryScheduled"

	// ReasonRetryStarted: a retry was started.
	ReasonRetryStarted = "RetryStarted"

	// ReasonRedriven: somebody asked for another round of attempts.
	ReasonRedriven = "Redriven"

	// ReasonNothingToDo: the condition doesn't apply now.
	ReasonNothingToDo = "NothingToDo"
)

// Reasons for which an attempt fails, and with it a refund is booked. A workload
// that gives a reason of its own is refunded for that one, such as
// BackoffLimitExceeded.
const (
	// ReasonWorkloadFailed: the workload failed and gave no reason.
	ReasonWorkloadFailed = "WorkloadFailed"

	// ReasonWorkloadDeleted: the workload was deleted before it had ended.
	ReasonWorkloadDeleted = "WorkloadDeleted"

	// ReasonWorkloadRefused: the API server refused the attempt's workload as
	// invalid; correct spec.template, then redrive.
	ReasonWorkloadRefused = "WorkloadRefused"

	// ReasonDeadlineExceeded: the attempt ran for longer than spec.deadline.
	ReasonDeadlineExceeded = "DeadlineExceeded"

	// ReasonStartDeadlineExceeded: the attempt didn't start within spec.startDeadline.
	ReasonStartDeadlineExceeded = "StartDeadlineExceeded"

	// ReasonFailedSignal: the annotation failed-at says that the attempt failed.
	ReasonFailedSignal = "FailedSignal"

	// ReasonCancelled: spec.cancel was set.
	ReasonCancelled = "Cancelled"

	// ReasonJobDeleted: the BillableJob was deleted before it was delivered.
	ReasonJobDeleted = "JobDeleted"

	// ReasonSuperseded: the attempt was overdue and stopped, since its retry was due.
	ReasonSuperseded = "Superseded"
)

// Reasons for which a job is dead-lettered.
const (
	// ReasonRetriesExhausted: the job failed with no retry left.
	ReasonRetriesExhausted = "RetriesExhausted"

	// ReasonPermanentFailure: the failure is one that no retry helps, by
	// spec.retry.permanentReasons or since the API server calls the workload invalid.
	ReasonPermanentFailure = "PermanentFailure"
)

// Reasons for which a job is not charged, or its attempt not started.
const (
	// ReasonTemplateInvalid: the API server's dry run refused spec.template; the
	// message has its words. Nothing is charged until it is corrected.
	ReasonTemplateInvalid = "TemplateInvalid"

	// ReasonTemplateRefused: spec.template reaches for what a tenant may not have,
	// such as another namespace, or is too large or of a kind that Recoup doesn't know.
	ReasonTemplateRefused = "TemplateRefused"

	// ReasonWorkloadNotFound: spec.workloadRef names no workload of this namespace.
	ReasonWorkloadNotFound = "WorkloadNotFound"

	// ReasonWorkloadNotServed: the API server doesn't serve the workload's kind now.
	ReasonWorkloadNotServed = "WorkloadNotServed"

	// ReasonWorkloadUnreadable: the API server doesn't let Recoup read the workload.
	ReasonWorkloadUnreadable = "WorkloadUnreadable"

	// ReasonQuotaExceeded: a resource quota of the namespace leaves no room for the
	// workload. Recoup tries again.
	ReasonQuotaExceeded = "QuotaExceeded"

	// ReasonThrottled: the API server asked Recoup to come back later.
	ReasonThrottled = "Throttled"

	// ReasonWebhookFailed: an admission webhook couldn't be called. Recoup tries again.
	ReasonWebhookFailed = "WebhookFailed"

	// ReasonForbidden: the API server doesn't let Recoup create the workload.
	ReasonForbidden = "Forbidden"

	// ReasonNamespaceTerminating: the namespace is going away, so nothing is created in it.
	ReasonNamespaceTerminating = "NamespaceTerminating"

	// ReasonWaitingForPredecessor: the object of an earlier BillableJob of this name,
	// or of an earlier attempt, is still going away.
	ReasonWaitingForPredecessor = "WaitingForPredecessor"
)

// Reasons of a conflict, in which nothing runs and nothing is booked.
const (
	// ReasonWorkloadClaimed: the workload counts for another BillableJob already.
	ReasonWorkloadClaimed = "WorkloadClaimed"

	// ReasonNameTaken: an object that isn't this job's stands under its attempt's name.
	ReasonNameTaken = "NameTaken"

	// ReasonJobIDTaken: another BillableJob of this namespace opened this job ID.
	ReasonJobIDTaken = "JobIDTaken"

	// ReasonBooksDiffer: the books hold another account or amount for this job.
	ReasonBooksDiffer = "BooksDiffer"
)

// Reasons of Contradicted.
const (
	// ReasonSucceededAfterFailure: an attempt that was booked as failed has
	// succeeded; the refund was taken back.
	ReasonSucceededAfterFailure = "SucceededAfterFailure"

	// ReasonFailedAfterDelivery: an attempt failed, or a signal says so, after the job
	// was delivered; the charge stands.
	ReasonFailedAfterDelivery = "FailedAfterDelivery"

	// ReasonSignalUnreadable: an annotation that should hold a signal can't be read;
	// the message says what it should look like.
	ReasonSignalUnreadable = "SignalUnreadable"
)

// Reasons of StoresAvailable.
const (
	// ReasonAvailable: MongoDB and Redis answer.
	ReasonAvailable = "Available"

	// ReasonMongoUnavailable: MongoDB can't be reached, so nothing is booked or started.
	ReasonMongoUnavailable = "MongoUnavailable"

	// ReasonRedisUnavailable: Redis can't be reached or is full, so retries wait. What
	// is booked is booked.
	ReasonRedisUnavailable = "RedisUnavailable"

	// ReasonSchemaMismatch: the books were written by another release of Recoup, which
	// this one must not write to.
	ReasonSchemaMismatch = "SchemaMismatch"
)
