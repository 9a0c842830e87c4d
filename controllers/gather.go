package controllers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/billing"
	"recoup.dev/recoup/internal/ledger"
	"recoup.dev/recoup/internal/workload"
)

// gather observes everything that a decision depends on. An error means that something could not be seen; what can't be
// seen is unknown, and nothing is decided on it.
func (p *pass) gather(ctx context.Context) error {
	p.log = p.log.WithValues("jobID", p.jobID())
	p.in.Now = p.now
	p.in.LaneNow = p.r.Lane.Now()
	p.in.Due = p.due != nil
	p.in.Order = order(&p.bj)
	p.signals = readSignals(p.bj.Annotations, p.r.AcceptSignals)
	p.in.Signals = p.signals.Signals

	if err := p.r.Books.Prepare(ctx); err != nil {
		return p.mongoAway(err)
	}
	if err := p.recall(ctx); err != nil {
		return err
	}
	return p.gatherAttempts(ctx)
}

func order(bj *billingv1.BillableJob) billing.Order {
	o := billing.Order{
		UID:        string(bj.UID),
		Held:       hasFinalizer(bj, billingv1.FinalizerSettlement),
		Deleting:   bj.DeletionTimestamp != nil,
		Cancel:     bj.Spec.Cancel,
		Keep:       bj.Spec.DeletionPolicy == billingv1.DeletionPolicyKeep,
		Referenced: bj.Spec.WorkloadRef != nil,
		Templated:  bj.Spec.Template != nil && len(bj.Spec.Template.Raw) > 0,
	}
	if bj.Spec.Deadline != nil {
		o.Deadline = bj.Spec.Deadline.Duration
	}
	if bj.Spec.StartDeadline != nil {
		o.StartDeadline = bj.Spec.StartDeadline.Duration
	}
	if ttl := bj.Spec.TTLSecondsAfterFinished; ttl != nil {
		o.Expires, o.TTL = true, time.Duration(*ttl)*time.Second
	}
	if r := bj.Spec.Retry; r != nil {
		if r.MaxRetries != nil {
			o.MaxRetries = int(*r.MaxRetries)
		}
		o.PermanentReasons = r.PermanentReasons
	}
	return o
}

// recall takes the document as it was last seen, or, for a BillableJob that is new, as absent: the guards find out what is
// wrong with a belief, and what isn't guarded is not done on one. Else it reads the document.
func (p *pass) recall(ctx context.Context) error {
	certain := p.due != nil || p.in.Order.Deleting
	if job, ok := p.r.memory.belief(p.bj.UID); ok && !certain {
		p.setDoc(&job, false)
		return nil
	}
	if p.isNew() && !certain && !p.in.Order.Cancel {
		p.setDoc(nil, false)
		return nil
	}
	return p.readBooks(ctx)
}

// isNew tells that nothing was ever said about the BillableJob and that it was never held, which comes before the charge. A
// reference under a job ID of the user's own may be somebody else's, or delivered, and its workload isn't to be marked then.
func (p *pass) isNew() bool {
	return p.bj.Status.Phase == "" && !p.in.Order.Held && !(p.in.Order.Referenced && p.bj.Spec.JobID != "")
}

// readBooks reads the job document from the primary.
func (p *pass) readBooks(ctx context.Context) error {
	job, err := p.r.Books.Get(ctx, p.jobID())
	if errors.Is(err, ledger.ErrNotCharged) {
		p.setDoc(nil, true)
		return nil
	}
	if err != nil {
		return p.mongoAway(err)
	}
	p.setDoc(&job, true)
	return nil
}

// setDoc takes a job document as the state to decide on.
func (p *pass) setDoc(job *ledger.Job, fresh bool) {
	p.doc, p.fresh = job, fresh
	p.in.RowsProven = false
	if job == nil {
		p.in.Books = nil
		p.in.Reported = billing.Reported{}
		p.r.memory.doubt(p.bj.UID)
		return
	}
	if obstacle := ownership(&p.bj, job); obstacle != nil {
		p.in.Conflict, p.in.Books = obstacle, nil
		return
	}
	p.r.memory.believe(p.bj.UID, *job)
	p.in.Books = &billing.Books{
		Mine:      job.UID == string(p.bj.UID),
		ChargedAt: job.CreatedAt, RefundedAt: job.RefundedAt, DeliveredAt: job.DeliveredAt,
		Refunded: job.IsRefunded, Reclaimed: job.IsReclaimed, Delivered: job.IsDelivered,
		DeadLettered: job.IsDeadLettered, DeadLetteredAt: job.DeadLetteredAt,
		Attempt: job.Attempt, Retries: job.Retries, Redrives: job.Redrives, NotBefore: job.NotBefore,
		RefundReason: job.RefundReason, LatestFailure: job.FailReason,
	}
	p.in.Reported = reported(&p.bj.Status, job)
	if p.in.Books.IsRetry() {
		p.in.PushAgainAt = p.r.memory.pushAgainAt(p.bj.UID, job.Attempt, p.fromLane(job.NotBefore), p.r.PushGrace)
	}
}

// fromLane turns a time of the lane's clock into one of the manager's.
func (p *pass) fromLane(t time.Time) time.Time { return t.Add(p.in.Now.Sub(p.in.LaneNow)) }

// ownership tells why a document can't be this BillableJob's; nil when it is.
func ownership(bj *billingv1.BillableJob, job *ledger.Job) *billing.Obstacle {
	switch {
	case job.Name != bj.Name:
		return &billing.Obstacle{Reason: billingv1.ReasonJobIDTaken, Message: fmt.Sprintf(
			"job ID %q belongs to BillableJob %q, which was charged for it; give this one a spec.jobID of its own", bj.Spec.JobID, job.Name)}
	case job.Account != bj.Spec.Account:
		return &billing.Obstacle{Reason: billingv1.ReasonBooksDiffer, Message: fmt.Sprintf(
			"the books have this job for account %q, not %q; re-create it with the account that was charged, or with a new spec.jobID", job.Account, bj.Spec.Account)}
	case job.Cost != bj.Spec.Cost:
		return &billing.Obstacle{Reason: billingv1.ReasonBooksDiffer, Message: fmt.Sprintf(
			"the books have this job at %d credits, not %d; re-create it with the cost that was charged, or with a new spec.jobID", job.Cost, bj.Spec.Cost)}
	}
	return nil
}

// gatherAttempts puts together what the cache, the record in the status and, where these leave a gap, live reads say of
// the attempts.
func (p *pass) gatherAttempts(ctx context.Context) error {
	for _, kind := range workload.Kinds() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GVK.GroupVersion().WithKind(kind.GVK.Kind + "List"))
		if err := p.r.Client.List(ctx, list, client.InNamespace(p.bj.Namespace), client.MatchingFields{ownerIndex: p.bj.Name}); err != nil {
			return fmt.Errorf("listing the %ss of BillableJob %s: %w", kind.GVK.Kind, p.key(), err)
		}
		for i := range list.Items {
			p.place(&list.Items[i])
		}
	}
	live := p.due != nil || p.in.Order.Deleting
	if live {
		for n, obj := range p.objects {
			if err := p.refresh(ctx, n, obj); err != nil {
				return err
			}
		}
	}
	records := map[int]*billingv1.AttemptStatus{}
	for i := range p.bj.Status.Attempts {
		records[int(p.bj.Status.Attempts[i].Number)] = &p.bj.Status.Attempts[i]
	}
	if err := p.gatherReferenced(ctx, records[0]); err != nil {
		return err
	}
	p.missTemplate()
	vanished, err := p.findMissing(ctx, records, live)
	if err != nil {
		return err
	}

	p.in.Attempts = nil
	for n, obj := range p.objects {
		p.in.Attempts = append(p.in.Attempts, p.observe(n, obj, records[n]))
		delete(records, n)
	}
	for n, record := range records {
		a := billing.Attempt{
			Number: n, Vanished: vanished[n], Referenced: n == 0 && p.in.Order.Referenced,
			Clock: clockOf(record), Settled: record.Outcome != "", Elsewhere: record.Workload == nil && record.Outcome == "",
		}
		if record.FinishedAt != nil {
			a.FinishedAt = record.FinishedAt.UTC()
		}
		p.in.Attempts = append(p.in.Attempts, a)
	}
	p.gatherElsewhere()
	p.observed = true
	return nil
}

// place sorts a workload that names this BillableJob under its attempt's number, or among what predecessors left.
func (p *pass) place(obj *unstructured.Unstructured) {
	n, ok := p.attemptOf(obj)
	switch {
	case ok && p.replaced(n, obj):
		p.leftovers = append(p.leftovers, obj)
	case ok:
		p.objects[n] = obj
	case p.isReferenced(obj):
		// A predecessor's claim: the live read that follows decides.
	case hasFinalizer(obj, billingv1.FinalizerOutcome) && ownerUID(obj) != "" && ownerUID(obj) != p.bj.UID:
		p.leftovers = append(p.leftovers, obj)
	}
}

// attemptOf tells which attempt of this BillableJob a workload is. Only UIDs count: a name says nothing.
func (p *pass) attemptOf(obj *unstructured.Unstructured) (int, bool) {
	if p.isReferenced(obj) {
		return 0, obj.GetAnnotations()[billingv1.AnnotationClaimedBy] == string(p.bj.UID)
	}
	owner := metav1.GetControllerOf(obj)
	if owner == nil || owner.UID != p.bj.UID {
		return 0, false
	}
	n, err := strconv.Atoi(obj.GetLabels()[billingv1.LabelAttempt])
	return n, err == nil && n >= 0
}

// replaced tells that attempt n was another object, although this one carries its marks: somebody created it anew from an
// export that holds them.
func (p *pass) replaced(n int, obj client.Object) bool {
	record := p.record(n)
	return record != nil && record.Workload != nil && record.Workload.UID != obj.GetUID()
}

func (p *pass) isReferenced(obj *unstructured.Unstructured) bool {
	ref := p.bj.Spec.WorkloadRef
	return ref != nil && ref.Name == obj.GetName() && ref.Kind == obj.GetKind() && ref.APIVersion == obj.GetAPIVersion()
}

// ownerUID is the UID of the BillableJob that a workload is tied to, by claim or by controller reference.
func ownerUID(obj client.Object) types.UID {
	if uid := obj.GetAnnotations()[billingv1.AnnotationClaimedBy]; uid != "" {
		return types.UID(uid)
	}
	if owner := metav1.GetControllerOf(obj); owner != nil && owner.Kind == "BillableJob" {
		return owner.UID
	}
	return ""
}

func hasFinalizer(obj client.Object, finalizer string) bool {
	for _, f := range obj.GetFinalizers() {
		if f == finalizer {
			return true
		}
	}
	return false
}

// refresh replaces a cached workload by what the API server has now, or drops it when its UID is gone.
func (p *pass) refresh(ctx context.Context, n int, cached *unstructured.Unstructured) error {
	obj, err := p.readLive(ctx, cached.GroupVersionKind(), cached.GetName())
	switch {
	case err != nil:
		return err
	case obj == nil || obj.GetUID() != cached.GetUID():
		delete(p.objects, n)
	default:
		p.objects[n] = obj
	}
	return nil
}

// readLive reads a workload from the API server; nil means that there is none under that name. A kind that isn't served
// and a refusal to read are errors: they say nothing about the workload.
func (p *pass) readLive(ctx context.Context, gvk schema.GroupVersionKind, name string) (*unstructured.Unstructured, error) {
	obj := blank(gvk)
	err := p.r.Live.Get(ctx, types.NamespacedName{Namespace: p.bj.Namespace, Name: name}, obj)
	if apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s/%s: %w", gvk.Kind, p.bj.Namespace, name, err)
	}
	return obj, nil
}

// gatherReferenced looks for the workload that the BillableJob names, unless the cache has it or its end is recorded. One
// that was applied again looks for it even where the books are at a retry: it may run on, and lends the retry its template.
func (p *pass) gatherReferenced(ctx context.Context, record *billingv1.AttemptStatus) error {
	ref := p.bj.Spec.WorkloadRef
	settled := p.in.Books != nil && (p.in.Books.Delivered || (p.in.Books.Attempt > 0 && p.in.Books.Mine))
	if ref == nil || p.objects[0] != nil || settled || (record != nil && record.Outcome != "") {
		return nil
	}
	if _, known := workload.Lookup(ref.APIVersion, ref.Kind); !known {
		p.in.Obstacle = &billing.Obstacle{Reason: billingv1.ReasonTemplateRefused, Permanent: true, Message: fmt.Sprintf(
			"spec.workloadRef names %s %s, a kind that Recoup can't bill; use batch/v1 Job", ref.APIVersion, ref.Kind)}
		return nil
	}
	obj, err := p.readLive(ctx, schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), ref.Name)
	if err != nil {
		return err
	}
	if obj == nil {
		if p.in.Books == nil {
			p.in.Obstacle = &billing.Obstacle{Reason: billingv1.ReasonWorkloadNotFound, Message: fmt.Sprintf(
				"%s %q, which spec.workloadRef names, doesn't exist in namespace %q; create it, or correct the name", ref.Kind, ref.Name, p.bj.Namespace)}
		}
		return nil
	}
	if p.in.Books != nil && record != nil && record.Workload != nil && record.Workload.UID != obj.GetUID() {
		return nil // another object under the same name
	}
	claimant, err := p.claimant(ctx, obj)
	switch {
	case err != nil:
		return err
	case claimant != "":
		p.in.Conflict = &billing.Obstacle{Reason: billingv1.ReasonWorkloadClaimed, Message: fmt.Sprintf(
			"%s %q is billed by BillableJob %q already; name another workload", ref.Kind, ref.Name, claimant)}
	default:
		p.objects[0] = obj
	}
	return nil
}

// missTemplate notes that a retry has nothing to be made from: a BillableJob that was applied again finds its workload gone
// before the template was filled in.
func (p *pass) missTemplate() {
	b, ref := p.in.Books, p.bj.Spec.WorkloadRef
	if b == nil || ref == nil || b.Delivered || b.Attempt == 0 || p.in.Order.Templated || p.objects[0] != nil || p.in.Obstacle != nil {
		return
	}
	p.in.Obstacle = &billing.Obstacle{Reason: billingv1.ReasonWorkloadNotFound, Message: fmt.Sprintf(
		"no retry can be made: %s %q, which spec.workloadRef names, doesn't exist; create it, or set spec.template", ref.Kind, ref.Name)}
}

// claimant is the name of another BillableJob that exists and that the workload belongs to; empty when there is none.
func (p *pass) claimant(ctx context.Context, obj *unstructured.Unstructured) (string, error) {
	uid, name := ownerUID(obj), ownerName(obj)
	if uid == "" || uid == p.bj.UID || name == "" || name == p.bj.Name {
		return "", nil
	}
	other := metav1.PartialObjectMetadata{}
	other.SetGroupVersionKind(billingv1.GroupVersion.WithKind("BillableJob"))
	err := p.r.Live.Get(ctx, types.NamespacedName{Namespace: p.bj.Namespace, Name: name}, &other)
	if apierrors.IsNotFound(err) || (err == nil && other.UID != uid) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading BillableJob %s/%s, which claimed %s %s: %w", p.bj.Namespace, name, obj.GetKind(), obj.GetName(), err)
	}
	return name, nil
}

// findMissing reads live what the record says was there and the cache doesn't show: a cache that lags brings no news of a
// disappearance. It returns the numbers of the attempts that are really gone.
func (p *pass) findMissing(ctx context.Context, records map[int]*billingv1.AttemptStatus, live bool) (map[int]bool, error) {
	vanished := map[int]bool{}
	for n, record := range records {
		if p.objects[n] != nil || record.Outcome != "" || record.Workload == nil {
			continue
		}
		w := record.Workload
		obj, err := p.readLive(ctx, schema.FromAPIVersionAndKind(w.APIVersion, w.Kind), w.Name)
		if err != nil {
			return nil, err
		}
		if obj == nil || obj.GetUID() != w.UID {
			vanished[n] = true
			continue
		}
		p.objects[n] = obj
	}
	if b := p.in.Books; live && b != nil && p.objects[b.Attempt] == nil && p.in.Order.Templated && records[b.Attempt] == nil {
		return vanished, p.findUnrecorded(ctx, b.Attempt)
	}
	return vanished, nil
}

// findUnrecorded looks for a current attempt that was started without leaving a record, by a pass that died or by a
// user's own worker, and that the cache doesn't show yet.
func (p *pass) findUnrecorded(ctx context.Context, n int) error {
	if n == 0 && p.in.Order.Referenced {
		return nil
	}
	_, kind, err := workload.Parse(p.bj.Spec.Template.Raw, p.bj.Namespace)
	if err != nil {
		return nil //nolint:nilerr // a template that can't be read has no workload; whoever starts it says what is wrong
	}
	obj, err := p.readLive(ctx, kind.GVK, attemptName(&p.bj, n))
	if err != nil || obj == nil {
		return err
	}
	if number, ok := p.attemptOf(obj); ok && number == n {
		p.objects[n] = obj
	}
	return nil
}

// gatherElsewhere takes a user's own worker at its word that it runs an attempt.
func (p *pass) gatherElsewhere() {
	s := p.signals.started
	if s == nil || p.in.Books == nil || s.attempt != p.in.Books.Attempt {
		return
	}
	for _, a := range p.in.Attempts {
		if a.Number == s.attempt {
			return
		}
	}
	start := s.at
	if start.After(p.now) {
		start = p.now
	}
	p.in.Attempts = append(p.in.Attempts, billing.Attempt{
		Number: s.attempt, Elsewhere: true, Phase: billing.Running,
		Clock: billing.Clock{StartedAt: start, RunningSince: start},
	})
}

func attemptName(bj *billingv1.BillableJob, n int) string { return fmt.Sprintf("%s-%d", bj.Name, n) }
