package controllers

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/billing"
	"recoup.dev/recoup/internal/ledger"
	"recoup.dev/recoup/internal/retry"
)

// maxSteps bounds the steps of one pass. The longest legal way, from nothing to a start, takes nine.
const maxSteps = 24

// pass is one look at one BillableJob: what was observed, what has been done about it so far, and what is to be said.
type pass struct {
	r   *BillableJobReconciler
	log logr.Logger
	now time.Time
	// due is set when the lane handed over an entry.
	due *retry.Entry
	// observed tells that books and attempts were seen, so that a status can be made from them.
	observed bool
	// found and gone tell that the BillableJob was there, and that it was let go of or deleted in this pass.
	found, gone bool
	bj          billingv1.BillableJob

	in       billing.Input
	decision billing.Decision
	signals  signals

	// doc is the job document, nil when there is none; fresh tells that it isn't only believed.
	doc   *ledger.Job
	fresh bool

	// objects are the workloads of this BillableJob's attempts, by number; leftovers are held workloads of predecessors.
	objects   map[int]*unstructured.Unstructured
	leftovers []*unstructured.Unstructured

	// trouble says which store is away; warnings become events.
	trouble  *trouble
	warnings []warning
	// failures are the reasons of attempts that failed in this pass, by number; stopped are those that were ended.
	failures map[int]string
	stopped  map[int]string
}

// trouble is a store that doesn't answer as it should.
type trouble struct {
	reason, message string
}

type warning struct{ reason, message string }

func (r *BillableJobReconciler) newPass(ctx context.Context, due *retry.Entry) *pass {
	return &pass{
		r: r, log: ctrl.LoggerFrom(ctx), now: r.Now().UTC(), due: due,
		objects: map[int]*unstructured.Unstructured{}, failures: map[int]string{}, stopped: map[int]string{},
	}
}

func (p *pass) key() types.NamespacedName { return client.ObjectKeyFromObject(&p.bj) }

// jobID is the document's ID; a BillableJob without a job ID of its own is known by its UID.
func (p *pass) jobID() string {
	id := p.bj.Spec.JobID
	if id == "" {
		id = string(p.bj.UID)
	}
	return ledger.JobID(p.r.Cluster, p.bj.Namespace, id)
}

// work asks for the next step and takes it, until there is nothing to do but wait.
func (p *pass) work(ctx context.Context) error {
	for range maxSteps {
		p.decision = billing.Decide(&p.in)
		if p.decision.Verb == billing.Wait {
			if p.fresh || (p.doc != nil && !p.statusWouldChange()) {
				return nil
			}
			// What would be reported rests on a belief: look before saying it.
			if err := p.readBooks(ctx); err != nil {
				return err
			}
			continue
		}
		if !p.fresh && !guarded(p.decision.Verb) && (p.doc != nil || !preparing(p.decision.Verb)) {
			if err := p.readBooks(ctx); err != nil {
				return err
			}
			continue
		}
		p.log.V(1).Info("step", "verb", p.decision.Verb, "attempt", p.decision.Attempt, "rule", p.decision.Rule)
		if err := p.do(ctx, p.decision); err != nil {
			return err
		}
		if p.gone {
			return nil
		}
	}
	return fmt.Errorf("BillableJob %s has not come to rest after %d steps, the last one %s by the rule %q",
		p.key(), maxSteps, p.decision.Verb, p.decision.Rule)
}

// guarded tells that the books themselves check the step, so that it may rest on a belief.
func guarded(v billing.Verb) bool {
	switch v {
	case billing.Charge, billing.Deliver, billing.Reclaim, billing.Refund, billing.FailAgain, billing.Redrive:
		return true
	}
	return false
}

// preparing tells that the step comes before the charge and moves nothing that couldn't be moved back.
func preparing(v billing.Verb) bool {
	switch v {
	case billing.Hold, billing.Claim, billing.Fill, billing.TryOut:
		return true
	}
	return false
}

func (p *pass) do(ctx context.Context, d billing.Decision) error {
	switch d.Verb {
	case billing.Hold:
		return p.hold(ctx)
	case billing.Claim:
		return p.claim(ctx)
	case billing.Adopt:
		return p.adopt(ctx, d.Attempt)
	case billing.Fill:
		return p.fill(ctx)
	case billing.TryOut:
		return p.tryOut(ctx)
	case billing.Charge, billing.Deliver, billing.Reclaim, billing.Refund, billing.FailAgain, billing.Redrive:
		return p.book(ctx, d)
	case billing.EnsureRows:
		return p.ensureRows(ctx)
	case billing.Push, billing.PushAgain:
		return p.push(ctx, d.Verb == billing.PushAgain)
	case billing.DeadLetter:
		return p.deadLetter(ctx)
	case billing.Stop:
		return p.stop(ctx, d.Attempt)
	case billing.Start:
		return p.start(ctx, d.Attempt)
	case billing.Finish:
		return p.finish(ctx)
	case billing.Expire:
		return p.expire(ctx)
	}
	return fmt.Errorf("BillableJob %s: no way is known to %s", p.key(), d.Verb)
}

// lookAgainIn is when the next pass is due if nothing happens until then; 0 means that only an event can change anything.
func (p *pass) lookAgainIn() time.Duration {
	if !p.found || p.gone {
		return 0
	}
	var in time.Duration
	if !p.decision.Wake.IsZero() {
		in = max(p.decision.Wake.Sub(p.now), 10*time.Millisecond)
	}
	if p.in.Obstacle != nil || p.in.Conflict != nil {
		if in == 0 || in > obstacleRecheck {
			in = obstacleRecheck
		}
	}
	return in
}
