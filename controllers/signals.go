package controllers

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/billing"
)

// startedElsewhere is a worker's word that it runs an attempt.
type startedElsewhere struct {
	attempt int
	at      time.Time
}

// signals are the annotations of one BillableJob, read.
type signals struct {
	billing.Signals
	started *startedElsewhere
	// unreadable names what could not be read, in a sentence for the user; empty if all could.
	unreadable string
}

// readSignals reads the annotations that may move a job. Those that move credits count only where the manager was told
// to accept them; redrive and started-at never move any.
func readSignals(annotations map[string]string, accept bool) signals {
	var s signals
	var bad []string
	if text, ok := annotations[billingv1.AnnotationRedrive]; ok {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			bad = append(bad, fmt.Sprintf("%s must be the number of redrives so far, such as \"0\", not %q", billingv1.AnnotationRedrive, text))
		} else {
			s.Redrive, s.Redrives = true, n
		}
	}
	if text, ok := annotations[billingv1.AnnotationStartedAt]; ok {
		n, at, err := attemptAt(text)
		if err != nil {
			bad = append(bad, fmt.Sprintf("%s %s", billingv1.AnnotationStartedAt, err))
		} else {
			s.started = &startedElsewhere{attempt: n, at: at}
		}
	}
	if !accept {
		for _, key := range []string{billingv1.AnnotationDeliveredAt, billingv1.AnnotationFailedAt} {
			if _, ok := annotations[key]; ok {
				bad = append(bad, key+" is ignored, since the manager runs without --accept-signals")
			}
		}
	} else {
		if text, ok := annotations[billingv1.AnnotationDeliveredAt]; ok {
			if _, err := time.Parse(time.RFC3339, text); err != nil {
				bad = append(bad, fmt.Sprintf("%s must be an RFC 3339 time, such as 2026-01-02T15:04:05Z, not %q", billingv1.AnnotationDeliveredAt, text))
			} else {
				s.Delivered = true
			}
		}
		if text, ok := annotations[billingv1.AnnotationFailedAt]; ok {
			n, _, err := attemptAt(text)
			if err != nil {
				bad = append(bad, fmt.Sprintf("%s %s", billingv1.AnnotationFailedAt, err))
			} else {
				s.Failed, s.FailedAttempt = true, n
			}
		}
	}
	s.unreadable = strings.Join(bad, "; ")
	return s
}

// attemptAt reads "<attempt>@<RFC 3339 time>".
func attemptAt(text string) (int, time.Time, error) {
	number, at, found := strings.Cut(text, "@")
	n, err := strconv.Atoi(number)
	when, timeErr := time.Parse(time.RFC3339, at)
	if !found || err != nil || n < 0 || timeErr != nil || when.UTC().Year() < 1970 {
		return 0, time.Time{}, fmt.Errorf("must be an attempt and an RFC 3339 time, such as 0@2026-01-02T15:04:05Z, not %q", text)
	}
	return n, when, nil
}
