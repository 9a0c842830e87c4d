package controllers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/billing"
	"recoup.dev/recoup/internal/ledger"
)

// report writes the status, once, if it changed, and then sends the events that the change calls for.
func (p *pass) report(ctx context.Context) error {
	was := p.bj.Status
	now := p.project()
	if !equality.Semantic.DeepEqual(was, now) {
		base := p.bj.DeepCopy()
		p.bj.Status = now
		if err := p.r.Client.Status().Patch(ctx, &p.bj, optimistic(base)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("writing the status of BillableJob %s: %w", p.key(), err)
		}
	}
	p.announceChanges(&was, &now)
	return nil
}

func (p *pass) statusWouldChange() bool {
	return !equality.Semantic.DeepEqual(p.bj.Status, p.project())
}

// project is the status as the job document and the cluster have it. What could not be seen in this pass stays as it was.
func (p *pass) project() billingv1.BillableJobStatus {
	s := *p.bj.Status.DeepCopy()
	p.projectStores(&s)
	if !p.observed || (!p.fresh && (p.doc == nil || p.trouble != nil)) {
		return s
	}
	s.ObservedGeneration = p.bj.Generation
	s.JobID = p.bj.Spec.JobID
	if s.JobID == "" {
		s.JobID = string(p.bj.UID)
	}
	s.Phase = p.phase()
	s.Attempt, s.NotBefore, s.NetCredits = nil, nil, nil
	if b := p.in.Books; b != nil {
		attempt, net := int32(b.Attempt), int64(b.Net())*p.doc.Cost
		s.Attempt, s.NetCredits = &attempt, &net
		if p.waitsForRetry() && p.announced() {
			s.NotBefore = microTime(b.NotBefore)
		}
		s.Attempts = p.projectAttempts()
	}
	p.projectConditions(&s)
	return s
}

// waitsForRetry tells that the current attempt is a retry; its due time is shown as long as it is the current one.
func (p *pass) waitsForRetry() bool {
	b := p.in.Books
	return b != nil && b.IsRetry() && !b.Delivered && !b.DeadLettered && !p.cancelled()
}

// announced tells that the lane has, or has had, the current attempt's entry, or that it needs none any more.
func (p *pass) announced() bool {
	return p.in.Reported.Announced || p.in.Attempt(p.in.Books.Attempt).Recorded()
}

func (p *pass) projectStores(s *billingv1.BillableJobStatus) {
	if p.trouble != nil {
		p.set(s, billingv1.ConditionStoresAvailable, false, p.trouble.reason, p.trouble.message)
	} else if meta.FindStatusCondition(s.Conditions, billingv1.ConditionStoresAvailable) != nil {
		p.set(s, billingv1.ConditionStoresAvailable, true, billingv1.ReasonAvailable, "the books and the retry lane answer")
	}
}

// phase is the one word for people.
func (p *pass) phase() billingv1.Phase {
	b := p.in.Books
	switch {
	case p.conflict() != nil:
		return billingv1.PhaseConflict
	case b == nil && p.in.Order.Cancel:
		return billingv1.PhaseCancelled
	case b == nil:
		return billingv1.PhasePending
	case b.Reclaimed:
		return billingv1.PhaseReclaimed
	case b.Delivered:
		return billingv1.PhaseDelivered
	case b.DeadLettered && p.in.Reported.DeadLettered:
		return billingv1.PhaseDeadLettered
	case b.DeadLettered:
		return billingv1.PhaseRefunded
	case p.cancelled():
		return billingv1.PhaseCancelled
	}
	a := p.in.Attempt(b.Attempt)
	switch {
	case (a.Exists || a.Elsewhere) && !a.Clock.StartedAt.IsZero():
		return billingv1.PhaseRunning
	case b.IsRetry() && p.announced():
		return billingv1.PhaseRetryScheduled
	case b.Refunded:
		return billingv1.PhaseRefunded
	}
	return billingv1.PhaseCharged
}

// cancelled tells that no attempt is made any more because somebody wanted it so.
func (p *pass) cancelled() bool {
	b := p.in.Books
	if p.in.Order.Cancel || (b.Withdrawn() && b.Mine) {
		return true
	}
	a := p.in.Attempt(b.Attempt)
	return !b.Refunded && p.in.Order.Keep && (a.Vanished || (a.Deleting && !a.Phase.Ended()) || a.Settled)
}

func (p *pass) projectConditions(s *billingv1.BillableJobStatus) {
	b := p.in.Books
	if b == nil {
		p.set(s, billingv1.ConditionCharged, false, billingv1.ReasonNotCharged, "nothing has been booked")
		p.withdrawClaims(s)
	} else {
		credits, account := p.doc.Cost, p.doc.Account
		p.set(s, billingv1.ConditionCharged, true, billingv1.ReasonCharged,
			fmt.Sprintf("%d credits were charged to account %s", credits, account))
		if b.Refunded {
			p.set(s, billingv1.ConditionRefunded, true, conditionReason(b.RefundReason, billingv1.ReasonRefunded),
				fmt.Sprintf("%d credits were given back to account %s: %s", credits, account, orUnknown(b.RefundReason)))
		}
		if b.Reclaimed {
			p.set(s, billingv1.ConditionReclaimed, true, billingv1.ReasonReclaimed,
				fmt.Sprintf("the job succeeded after its refund, so the %d credits were taken back from account %s", credits, account))
		}
		p.projectDelivery(s)
		p.projectDeadLetter(s)
	}
	p.projectReadiness(s)
	p.projectObstacle(s)
	p.projectContradiction(s)
}

// withdrawClaims takes back what a status says of bookings that the books don't have, as after a manager was pointed at
// another database.
func (p *pass) withdrawClaims(s *billingv1.BillableJobStatus) {
	for _, claim := range []string{
		billingv1.ConditionRefunded, billingv1.ConditionReclaimed, billingv1.ConditionDelivered, billingv1.ConditionDeadLettered,
	} {
		if meta.FindStatusCondition(s.Conditions, claim) != nil {
			p.set(s, claim, false, billingv1.ReasonNotCharged, "the books that this manager keeps have no such booking")
		}
	}
}

func (p *pass) projectDelivery(s *billingv1.BillableJobStatus) {
	if p.in.Books.Delivered {
		p.set(s, billingv1.ConditionDelivered, true, billingv1.ReasonDelivered, "the job's result was delivered; the charge is final")
	} else {
		p.set(s, billingv1.ConditionDelivered, false, billingv1.ReasonPending, "no attempt has succeeded so far")
	}
}

func (p *pass) projectDeadLetter(s *billingv1.BillableJobStatus) {
	b := p.in.Books
	switch {
	case b.Delivered && b.DeadLettered:
		if meta.FindStatusCondition(s.Conditions, billingv1.ConditionDeadLettered) != nil {
			p.set(s, billingv1.ConditionDeadLettered, false, billingv1.ReasonDelivered, "the job was delivered after all")
		}
	case b.DeadLettered && p.in.Reported.DeadLettered:
		reason := billingv1.ReasonRetriesExhausted
		if b.Retries < p.in.Order.MaxRetries {
			reason = billingv1.ReasonPermanentFailure
		}
		p.set(s, billingv1.ConditionDeadLettered, true, reason, fmt.Sprintf(
			"no retry follows attempt %d (%s); for a fresh round: kubectl annotate billablejob %s %s=%d --overwrite",
			b.Attempt, orUnknown(b.LatestFailure), p.bj.Name, billingv1.AnnotationRedrive, b.Redrives))
	case meta.FindStatusCondition(s.Conditions, billingv1.ConditionDeadLettered) == nil || b.DeadLettered:
	case b.Redrives > 0:
		p.set(s, billingv1.ConditionDeadLettered, false, billingv1.ReasonRedriven, fmt.Sprintf("redriven %d times", b.Redrives))
	}
}

// projectReadiness says what kstatus, Flux and Argo CD read: Ready once delivered, Stalled where only a person helps.
func (p *pass) projectReadiness(s *billingv1.BillableJobStatus) {
	b, conflict := p.in.Books, p.conflict()
	if b != nil && b.Delivered && conflict == nil {
		p.set(s, billingv1.ConditionReady, true, billingv1.ReasonDelivered, "the job was delivered")
	} else {
		p.set(s, billingv1.ConditionReady, false, string(s.Phase), "the job has not been delivered")
	}
	switch {
	case conflict != nil:
		p.set(s, billingv1.ConditionStalled, true, conflict.Reason, conflict.Message)
	case b != nil && b.DeadLettered && p.in.Reported.DeadLettered && !b.Delivered:
		c := meta.FindStatusCondition(s.Conditions, billingv1.ConditionDeadLettered)
		p.set(s, billingv1.ConditionStalled, true, c.Reason, c.Message)
	case b == nil && p.in.Obstacle != nil && p.in.Obstacle.Permanent:
		p.set(s, billingv1.ConditionStalled, true, p.in.Obstacle.Reason, p.in.Obstacle.Message)
	default:
		p.set(s, billingv1.ConditionStalled, false, billingv1.ReasonNothingToDo, "nothing needs a person's attention")
	}
}

// retryToStart tells that the current attempt is a retry that wasn't started so far.
func (p *pass) retryToStart() bool {
	return p.waitsForRetry() && !p.in.Attempt(p.in.Books.Attempt).Recorded()
}

// inLane tells that the lane holds the retry and that this pass is another one, which doesn't try to start it.
func (p *pass) inLane() bool {
	return p.due == nil && p.retryToStart()
}

// conflict is the one that this pass met or, while the lane holds the retry, the one that its last try to start met.
func (p *pass) conflict() *billing.Obstacle {
	if p.in.Conflict != nil || !p.inLane() {
		return p.in.Conflict
	}
	c := meta.FindStatusCondition(p.bj.Status.Conditions, billingv1.ConditionStalled)
	if c == nil || c.Status != metav1.ConditionTrue || c.Reason != billingv1.ReasonNameTaken {
		return nil
	}
	return &billing.Obstacle{Reason: c.Reason, Message: c.Message}
}

// projectObstacle says what keeps the job from being charged or started. While the lane holds the retry, only a pass that
// it asked for can tell whether the obstacle is still there.
func (p *pass) projectObstacle(s *billingv1.BillableJobStatus) {
	switch {
	case p.in.Obstacle != nil:
		p.set(s, billingv1.ConditionBlocked, true, p.in.Obstacle.Reason, p.in.Obstacle.Message)
	case p.waitsForStop():
		p.set(s, billingv1.ConditionBlocked, true, billingv1.ReasonWaitingForPredecessor, fmt.Sprintf(
			"attempt %d is due, and the workload of an attempt before it, which was deleted to make room, is still going away: look at its pods and their nodes", p.in.Books.Attempt))
	case p.in.Books != nil && p.in.Books.DeadLettered && p.in.Books.LatestFailure == billing.ReasonWorkloadRefused:
		// What stood in the way is why the job is a dead letter, and what a person has to change before a redrive.
	case p.inLane() || meta.FindStatusCondition(s.Conditions, billingv1.ConditionBlocked) == nil:
	default:
		p.set(s, billingv1.ConditionBlocked, false, billingv1.ReasonNothingToDo, "nothing is in the way")
	}
}

// patienceWithStops is how late a retry may be before people are told that its predecessor doesn't go away.
const patienceWithStops = 15 * time.Second

// waitsForStop tells that a due retry has been waiting for long for an earlier attempt to end.
func (p *pass) waitsForStop() bool {
	return p.due != nil && p.retryToStart() && p.decision.Verb == billing.Wait &&
		p.in.LaneNow.Sub(p.in.Books.NotBefore) > patienceWithStops
}

// projectContradiction keeps in sight that the outcomes disagreed, and what was booked.
func (p *pass) projectContradiction(s *billingv1.BillableJobStatus) {
	b := p.in.Books
	if p.signals.unreadable != "" {
		p.set(s, billingv1.ConditionContradicted, true, billingv1.ReasonSignalUnreadable, bound(p.signals.unreadable))
		return
	}
	if c := meta.FindStatusCondition(s.Conditions, billingv1.ConditionContradicted); c != nil && c.Reason == billingv1.ReasonSignalUnreadable {
		meta.RemoveStatusCondition(&s.Conditions, billingv1.ConditionContradicted)
	}
	if b == nil || !b.Delivered {
		return
	}
	a, record, signals := p.in.Attempt(b.Attempt), p.record(b.Attempt), p.in.Signals
	switch {
	case a.Phase == billing.Failed && (record == nil || record.Outcome != billingv1.AttemptSucceeded) && !p.succeeded():
		p.set(s, billingv1.ConditionContradicted, true, billingv1.ReasonFailedAfterDelivery, fmt.Sprintf(
			"attempt %d failed although the job had been reported as delivered; the charge of %d credits stands", b.Attempt, p.doc.Cost))
	case b.Reclaimed && (p.gaveUp() || p.overtaken() || (signals.Delivered && signals.Failed && !a.Recorded())):
		p.set(s, billingv1.ConditionContradicted, true, billingv1.ReasonSucceededAfterFailure,
			"an attempt that had been given up on succeeded after all; its refund was taken back and no further attempt is made")
	case signals.Failed && signals.FailedAttempt == b.Attempt:
		p.set(s, billingv1.ConditionContradicted, true, billingv1.ReasonFailedAfterDelivery, fmt.Sprintf(
			"the annotation failed-at says that attempt %d failed, but the job was delivered; the charge of %d credits stands", b.Attempt, p.doc.Cost))
	}
}

// gaveUp tells that the current attempt was booked as failed and that no other was planned after it.
func (p *pass) gaveUp() bool {
	b := p.in.Books
	return b.DeadLettered || (!b.IsRetry() && b.Mine)
}

func (p *pass) succeeded() bool {
	return slices.ContainsFunc(p.in.Attempts, func(a billing.Attempt) bool { return a.Phase == billing.Succeeded })
}

// overtaken tells that an attempt succeeded after a later one had been planned.
func (p *pass) overtaken() bool {
	return slices.ContainsFunc(p.in.Attempts, func(a billing.Attempt) bool {
		return a.Phase == billing.Succeeded && a.Number < p.in.Books.Attempt
	})
}

func (p *pass) set(s *billingv1.BillableJobStatus, conditionType string, status bool, reason, message string) {
	c := metav1.Condition{
		Type: conditionType, Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: p.bj.Generation,
		LastTransitionTime: metav1.NewTime(p.now),
	}
	if status {
		c.Status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&s.Conditions, c)
}

// reported reads off a status what had been done when it was written.
func reported(s *billingv1.BillableJobStatus, job *ledger.Job) billing.Reported {
	is := func(conditionType string) bool { return meta.IsStatusConditionTrue(s.Conditions, conditionType) }
	return billing.Reported{
		Charged: is(billingv1.ConditionCharged), Refunded: is(billingv1.ConditionRefunded),
		Reclaimed: is(billingv1.ConditionReclaimed), Delivered: is(billingv1.ConditionDelivered),
		DeadLettered: is(billingv1.ConditionDeadLettered) && s.Attempt != nil && int(*s.Attempt) == job.Attempt,
		Announced:    isAnnounced(s, job),
	}
}

// conditionReason is a reason from outside where it can stand in a condition, else the fallback.
func conditionReason(reason, fallback string) string {
	if conditionReasonForm.MatchString(reason) {
		return reason
	}
	return fallback
}

func orUnknown(reason string) string {
	if reason == "" {
		return "for an unknown reason"
	}
	return reason
}
