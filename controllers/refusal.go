package controllers

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	corev1 "k8s.io/api/core/v1"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/billing"
)

// refusal tells what an API server's answer to the creation of a workload means: a manifest that no waiting makes valid,
// or something that may pass. It returns nil for an error that says nothing about the workload, such as a connection
// that broke.
func refusal(err error) *billing.Obstacle {
	blocked := func(reason string) *billing.Obstacle {
		return &billing.Obstacle{Reason: reason, Message: bound(err.Error())}
	}
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return blocked(billingv1.ReasonNamespaceTerminating)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err),
		apierrors.IsUnsupportedMediaType(err):
		return &billing.Obstacle{Reason: billingv1.ReasonTemplateInvalid, Message: bound(err.Error()), Permanent: true}
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		return blocked(billingv1.ReasonQuotaExceeded)
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return blocked(billingv1.ReasonForbidden)
	case apierrors.IsTooManyRequests(err):
		return blocked(billingv1.ReasonThrottled)
	case apierrors.IsInternalError(err) && strings.Contains(err.Error(), "webhook"):
		return blocked(billingv1.ReasonWebhookFailed)
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
		return blocked(billingv1.ReasonWorkloadNotServed)
	}
	return nil
}

// dryRunUnsupported tells that a webhook with side effects stands in the way of a dry run, which says nothing about the
// workload.
func dryRunUnsupported(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "dry run")
}

// maxMessage bounds a text that comes from outside, in bytes, before it is stored in a status or an event.
const maxMessage = 1024

func bound(text string) string { return cut(text, maxMessage) }

// cut shortens a text to a number of bytes, between two characters.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const ellipsis = "…"
	return strings.ToValidUTF8(text[:limit-len(ellipsis)], "") + ellipsis
}
