package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/ledger"
)

// teller says what happens, as it happens.
type teller struct {
	w      *world
	began  time.Time
	rows   map[string]int
	phases map[string]string
}

func newTeller(w *world) *teller {
	return &teller{w: w, began: time.Now(), rows: map[string]int{}, phases: map[string]string{}}
}

func (t *teller) say(name, format string, args ...any) {
	fmt.Printf("%6.1fs  %-14s %s\n", time.Since(t.began).Seconds(), name, fmt.Sprintf(format, args...))
}

// look tells what is new about one story and returns its BillableJob and rows.
func (t *teller) look(ctx context.Context, s story) (*billingv1.BillableJob, []ledger.Row, error) {
	var bj billingv1.BillableJob
	if err := t.w.c.Get(ctx, types.NamespacedName{Namespace: namespace, Name: s.name}, &bj); err != nil {
		return nil, nil, fmt.Errorf("reading BillableJob %s: %w", s.name, err)
	}
	rows, err := t.w.books.Rows(ctx, ledger.JobID(cluster, namespace, s.jobID))
	if err != nil {
		return nil, nil, err
	}
	for _, r := range rows[min(t.rows[s.name], len(rows)):] {
		t.say(s.name, "%-8s %+d credits, account %s", strings.ToUpper(string(r.Type)), r.Amount, r.Account)
	}
	t.rows[s.name] = len(rows)
	if now := describe(&bj); now != t.phases[s.name] {
		t.phases[s.name] = now
		t.say(s.name, "%s", now)
	}
	return &bj, rows, nil
}

func describe(bj *billingv1.BillableJob) string {
	if bj.Status.Phase == "" {
		return "is there"
	}
	text := "is " + string(bj.Status.Phase)
	if bj.Status.Attempt != nil {
		text += fmt.Sprintf(", attempt %d", *bj.Status.Attempt)
	}
	for _, a := range bj.Status.Attempts {
		if a.Outcome == billingv1.AttemptFailed && bj.Status.Attempt != nil && a.Number >= *bj.Status.Attempt-1 {
			text += fmt.Sprintf(" (attempt %d failed: %s)", a.Number, a.Reason)
		}
	}
	return text
}
