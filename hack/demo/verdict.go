package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/ledger"
)

// verdict shows what is there now and compares it with what the stories say.
func (w *world) verdict(ctx context.Context) error {
	fmt.Println("\n== kubectl get billablejobs")
	if err := w.kubectl(ctx, "-n", namespace, "get", "billablejobs"); err != nil {
		return err
	}
	var wrong []error
	fmt.Println("\n== The ledger")
	for _, s := range stories {
		wrong = append(wrong, w.checkStory(ctx, s))
	}
	fmt.Println("\n== Balances")
	for _, b := range balances {
		got, err := w.books.Balance(ctx, b.account)
		if err != nil {
			return err
		}
		fmt.Printf("   %-14s %+d\n", b.account, got)
		if got != b.credits {
			wrong = append(wrong, fmt.Errorf("account %s has %+d credits, and should have %+d", b.account, got, b.credits))
		}
	}
	waiting, dead, err := w.lists(ctx)
	if err != nil {
		return err
	}
	wrong = append(wrong, show("The retry lane", waiting, waitingJob), show("Dead letters", dead, deadJob))
	if err := errors.Join(wrong...); err != nil {
		return fmt.Errorf("this is not how the stories end:\n%w", err)
	}
	fmt.Println("\nThe books, the cluster and the lane say what the stories say.")
	fmt.Println("The stack goes on running: `make stack-status` shows it, `make stack-down` stops it. The demo's manager has stopped;")
	fmt.Println("the README says how to start one of your own.")
	return nil
}

func (w *world) checkStory(ctx context.Context, s story) error {
	rows, err := w.books.Rows(ctx, ledger.JobID(cluster, namespace, s.jobID))
	if err != nil {
		return err
	}
	var got []booking
	var net int64
	for _, r := range rows {
		fmt.Printf("   %-14s %-8s %+4d  %s  %s\n", s.name, r.Type, r.Amount, r.Account, r.CreatedAt.Format("15:04:05.000"))
		got = append(got, booking{string(r.Type), r.Amount})
		net += r.Amount
	}
	fmt.Printf("   %-14s %-8s %+4d\n", "", "net", net)
	var wrong []error
	if fmt.Sprint(got) != fmt.Sprint(s.rows) {
		wrong = append(wrong, fmt.Errorf("%s has the rows %v, and should have %v", s.name, got, s.rows))
	}
	var bj billingv1.BillableJob
	if err := w.c.Get(ctx, types.NamespacedName{Namespace: namespace, Name: s.name}, &bj); err != nil {
		return fmt.Errorf("reading BillableJob %s: %w", s.name, err)
	}
	if bj.Status.Phase != s.phase {
		wrong = append(wrong, fmt.Errorf("%s is %s, and should be %s", s.name, bj.Status.Phase, s.phase))
	}
	if bj.Status.NetCredits == nil || *bj.Status.NetCredits != net {
		wrong = append(wrong, fmt.Errorf("%s shows another net than the %+d of its rows", s.name, net))
	}
	var jobs batchv1.JobList
	if err := w.c.List(ctx, &jobs, client.InNamespace(namespace), client.MatchingLabels{billingv1.LabelBillableJob: s.name}); err != nil {
		return fmt.Errorf("listing the Jobs of %s: %w", s.name, err)
	}
	if len(jobs.Items) != s.attempts {
		wrong = append(wrong, fmt.Errorf("%s has had %d Jobs, and should have had %d", s.name, len(jobs.Items), s.attempts))
	}
	return errors.Join(wrong...)
}

// lists are the entries of the lane, wherever in it they are, and the dead letters.
func (w *world) lists(ctx context.Context) (waiting, dead []string, err error) {
	p := w.redis.Pipeline()
	list, parked := p.LRange(ctx, retryKey, 0, -1), p.ZRange(ctx, retryKey+":parked", 0, -1)
	leased, letters := p.ZRange(ctx, retryKey+":leased", 0, -1), p.LRange(ctx, deadLetterKey, 0, -1)
	if _, err := p.Exec(ctx); err != nil {
		return nil, nil, fmt.Errorf("reading the retry lane: %w", err)
	}
	waiting = append(append(list.Val(), parked.Val()...), leased.Val()...)
	return waiting, letters.Val(), nil
}

func (w *world) laneHoldsOnly(ctx context.Context, jobID string) (bool, error) {
	waiting, _, err := w.lists(ctx)
	return len(waiting) == 1 && isAbout(waiting[0], jobID), err
}

func isAbout(raw, jobID string) bool {
	var entry struct {
		JobID string `json:"job_id"`
	}
	return json.Unmarshal([]byte(raw), &entry) == nil && strings.HasSuffix(entry.JobID, "/"+jobID)
}

// show prints a list's entries, which must be one, about the given job.
func show(title string, entries []string, jobID string) error {
	fmt.Printf("\n== %s\n", title)
	for _, e := range entries {
		fmt.Println("  ", e)
	}
	if len(entries) != 1 || !isAbout(entries[0], jobID) {
		return fmt.Errorf("%s should hold one entry, about %s; it holds %d", strings.ToLower(title), jobID, len(entries))
	}
	return nil
}
