package v1

// Types of the conditions of a BillableJob.
const (
	// ConditionCharged is True once the charge is booked. It stays True after a
	// refund: it says that the row is there.
	ConditionCharged = "Charged"

	// ConditionRefunded is True once the refund is booked, and stays so.
	ConditionRefunded = "Refunded"

	// ConditionReclaimed is True once the refund was taken back.
	ConditionReclaimed = "Reclaimed"

	// ConditionDelivered is True once an attempt, or a signal, has succeeded.
	ConditionDelivered = "Delivered"

	// ConditionDeadLettered is True while no retry is left.
	ConditionDeadLettered = "DeadLettered"

	// ConditionReady is True once the job is delivered.
	ConditionReady = "Ready"

	// ConditionStalled is True while nothing more happens without a person: in a
	// conflict, or dead-lettered.
	ConditionStalled = "Stalled"

	// ConditionBlocked is True while something keeps the job from being charged or
	// its attempt from being started. Its reason says what; Recoup tries again.
	ConditionBlocked = "Blocked"

	// ConditionContradicted is True after signals disagreed, such as a success
	// after a failure. Its message says what was booked.
	ConditionContradicted = "Contradicted"

	// ConditionStoresAvailable is False while MongoDB or Redis can't be reached.
	// Nothing is lost meanwhile: what is due is done when they are back.
	ConditionStoresAvailable = "StoresAvailable"
)
