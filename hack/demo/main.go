// Command demo tells five short stories on a real cluster: how a job is charged, refunded, retried, reclaimed and
// dead-lettered. It ends with an error if anything differs from what the stories say.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	billingv1 "recoup.dev/recoup/api/v1"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	w, err := connect()
	if err != nil {
		return err
	}
	fmt.Println("== Setting the stage")
	if err := w.reset(ctx); err != nil {
		return err
	}
	logFile := filepath.Join(w.root, "bin", "demo-manager.log")
	stopManager, err := startManager(ctx, w.root, logFile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopManager()) }()
	fmt.Println("the manager is ready; its log is", logFile)

	fmt.Println("\n== Five stories")
	for _, s := range stories {
		fmt.Printf("   %-14s %s\n", s.name, s.tells)
	}
	fmt.Println()
	for _, s := range stories {
		if err := w.kubectl(ctx, "apply", "-f", filepath.Join("hack", "demo", "stories", s.file)); err != nil {
			return err
		}
	}
	fmt.Println()
	if err := tell(ctx, w); err != nil {
		return err
	}
	return w.verdict(ctx)
}

// tell follows all stories to their ends.
func tell(ctx context.Context, w *world) error {
	t := newTeller(w)
	signalled := false
	ended := 0
	err := wait.PollUntilContextTimeout(ctx, 150*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		ended = 0
		for _, s := range stories {
			bj, rows, err := t.look(ctx, s)
			if err != nil {
				return false, err
			}
			if bj.Status.Phase == s.phase && len(rows) == len(s.rows) {
				ended++
			}
			if s.jobID == waitingJob && !signalled && running(bj, signalAfter) {
				signalled = true
				at := time.Now().UTC().Format(time.RFC3339)
				if err := w.kubectl(ctx, "-n", namespace, "annotate", "billablejob", s.name, billingv1.AnnotationFailedAt+"=0@"+at); err != nil {
					return false, err
				}
			}
		}
		quiet, err := w.laneHoldsOnly(ctx, waitingJob)
		return ended == len(stories) && signalled && quiet, err
	})
	if err != nil {
		return fmt.Errorf("%d of %d stories have come to their ends: %w", ended, len(stories), err)
	}
	t.say("", "all five stories have come to their ends")
	return nil
}

// running tells that the first attempt started that long ago.
func running(bj *billingv1.BillableJob, since time.Duration) bool {
	for _, a := range bj.Status.Attempts {
		if a.Number == 0 && a.StartedAt != nil {
			return time.Since(a.StartedAt.Time) >= since-200*time.Millisecond
		}
	}
	return false
}
