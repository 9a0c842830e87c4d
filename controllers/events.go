package controllers

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	billingv1 "recoup.dev/recoup/api/v1"
)

// told are the conditions whose turning True is an event, with the event's type.
var told = []struct{ condition, eventType string }{
	{billingv1.ConditionCharged, corev1.EventTypeNormal},
	{billingv1.ConditionRefunded, corev1.EventTypeWarning},
	{billingv1.ConditionReclaimed, corev1.EventTypeNormal},
	{billingv1.ConditionDelivered, corev1.EventTypeNormal},
	{billingv1.ConditionDeadLettered, corev1.EventTypeWarning},
	{billingv1.ConditionStalled, corev1.EventTypeWarning},
	{billingv1.ConditionBlocked, corev1.EventTypeWarning},
	{billingv1.ConditionContradicted, corev1.EventTypeWarning},
}

// announceChanges sends an event for each change that the status write made known. Nothing is said that the status
// doesn't say, so that a pass that died before the write loses no event and one that comes after it repeats none.
func (p *pass) announceChanges(was, now *billingv1.BillableJobStatus) {
	said := map[string]bool{}
	for _, t := range told {
		if c := turned(was, now, t.condition, metav1.ConditionTrue); c != nil && !said[c.Message] {
			said[c.Message] = true // a dead letter also stalls the job, which is the same news
			p.event(t.eventType, t.condition, c.Message)
		}
	}
	if c := turned(was, now, billingv1.ConditionStoresAvailable, metav1.ConditionFalse); c != nil {
		p.event(corev1.EventTypeWarning, c.Reason, c.Message)
	}
	if now.NotBefore != nil && (was.NotBefore == nil || !now.NotBefore.Equal(was.NotBefore)) {
		p.r.Recorder.Eventf(&p.bj, nil, corev1.EventTypeNormal, billingv1.ReasonRetryScheduled, "Schedule",
			"attempt %d is due at %s", *now.Attempt, now.NotBefore.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	for _, w := range p.warnings {
		p.event(corev1.EventTypeWarning, w.reason, w.message)
	}
}

func (p *pass) event(eventType, reason, message string) {
	p.r.Recorder.Eventf(&p.bj, nil, eventType, reason, "Reconcile", "%s", message)
}

// turned is the condition as it is now if it has this status and hadn't it, or had it for another reason, before.
func turned(was, now *billingv1.BillableJobStatus, conditionType string, status metav1.ConditionStatus) *metav1.Condition {
	c := meta.FindStatusCondition(now.Conditions, conditionType)
	if c == nil || c.Status != status {
		return nil
	}
	before := meta.FindStatusCondition(was.Conditions, conditionType)
	if before != nil && before.Status == status && before.Reason == c.Reason {
		return nil
	}
	return c
}
