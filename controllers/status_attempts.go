package controllers

import (
	"cmp"
	"regexp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/billing"
)

// conditionReasonForm is what the API server takes as a condition's reason.
var conditionReasonForm = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]{0,254}[A-Za-z0-9_])?$`)

// projectAttempts is the record of the attempts, the newest billingv1.MaxAttempts of them, by number.
func (p *pass) projectAttempts() []billingv1.AttemptStatus {
	var list []billingv1.AttemptStatus
	for _, a := range p.in.Attempts {
		var s billingv1.AttemptStatus
		if record := p.record(a.Number); record != nil {
			s = *record.DeepCopy()
		}
		s.Number = int32(a.Number)
		if obj := p.objects[a.Number]; obj != nil {
			s.Workload = &billingv1.AttemptWorkload{
				APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(), Name: obj.GetName(), UID: obj.GetUID(),
			}
			s.CreatedAt = microTime(a.CreatedAt)
		}
		s.StartedAt, s.RunningSince, s.Ran = microTime(a.Clock.StartedAt), microTime(a.Clock.RunningSince), nil
		if a.Clock.Ran > 0 {
			s.Ran = &metav1.Duration{Duration: a.Clock.Ran}
		}
		p.projectOutcome(&s, a)
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b billingv1.AttemptStatus) int { return cmp.Compare(a.Number, b.Number) })
	if extra := len(list) - billingv1.MaxAttempts; extra > 0 {
		list = list[extra:]
	}
	return list
}

// projectOutcome says how an attempt ended. An attempt that was given up on has failed, even while it still runs; when it
// succeeds after all, that is its outcome. An end that the books don't have so far is not said: a workload whose outcome is
// recorded is let go of, and nothing would tell the end again.
func (p *pass) projectOutcome(s *billingv1.AttemptStatus, a billing.Attempt) {
	if !p.booked(a) {
		return
	}
	outcome, reason := s.Outcome, s.Reason
	b := p.in.Books
	switch {
	case a.Phase == billing.Succeeded:
		outcome, reason = billingv1.AttemptSucceeded, ""
	case outcome != "":
	case a.Phase == billing.Failed:
		outcome, reason = billingv1.AttemptFailed, a.Reason
	case p.failures[a.Number] != "" && p.stopped[a.Number] == "":
		outcome, reason = billingv1.AttemptFailed, p.failures[a.Number]
	case p.stopped[a.Number] != "":
		outcome, reason = billingv1.AttemptStopped, p.stopped[a.Number]
	case a.Gone && (p.in.Order.Cancel || p.in.Order.Deleting):
		outcome, reason = billingv1.AttemptStopped, p.stopReason()
	case a.Referenced && !b.Mine && a.Exists && !a.Gone && !b.DeadLettered && a.Number < b.Attempt:
		// It belongs to a job that was applied again, at a retry. Nobody gave up on this run.
	case a.Number < b.Attempt, a.Number == b.Attempt && b.DeadLettered:
		outcome, reason = billingv1.AttemptFailed, b.LatestFailure
	case a.Vanished, a.Gone:
		outcome, reason = billingv1.AttemptFailed, billingv1.ReasonWorkloadDeleted
	}
	if outcome != s.Outcome && s.FinishedAt == nil {
		at := p.now
		if a.Exists && a.Phase.Ended() && !a.FinishedAt.IsZero() && a.FinishedAt.Before(at) {
			at = a.FinishedAt
		}
		if at.Before(a.Clock.StartedAt) {
			at = a.Clock.StartedAt // two machines' clocks disagree
		}
		s.FinishedAt = microTime(at)
	}
	s.Outcome, s.Reason = outcome, cut(reason, 256)
}

// booked tells that the books hold what follows from the attempt's end, or that nothing follows from it.
func (p *pass) booked(a billing.Attempt) bool {
	b, o := p.in.Books, p.in.Order
	switch {
	case b.Delivered:
		return true
	case a.Phase == billing.Succeeded:
		return false
	case a.Number < b.Attempt, b.DeadLettered, b.Withdrawn() && b.Mine, o.Cancel, o.Deleting:
		return true
	}
	return o.Keep && !b.Refunded && a.Phase != billing.Failed && (a.Vanished || a.Deleting)
}
