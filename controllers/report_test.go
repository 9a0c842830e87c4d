package controllers

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"go.mongodb.org/mongo-driver/v2/bson"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	billingv1 "recoup.dev/recoup/api/v1"
)

// rebuilds takes the status away from a BillableJob at rest and wants it back as it was, with nothing booked or started.
func (b *bench) rebuilds(who, name string) {
	b.t.Helper()
	status, books, jobs := b.statusInWords(name), b.booksInWords(), b.workloads()
	bj := b.get(name)
	bj.Status = billingv1.BillableJobStatus{}
	must(b.t, b.c.Status().Update(b.ctx, bj))
	b.settle(name)
	g := NewWithT(b.t)
	g.Expect(b.statusInWords(name)).To(Equal(status), "the status, by %s", who)
	g.Expect(b.booksInWords()).To(Equal(books), "the books, by %s", who)
	g.Expect(b.workloads()).To(Equal(jobs), "the workloads, by %s", who)
}

// statusInWords is what a status says that the books and the cluster know as well: the record of attempts that ended, and
// with it how they contradicted what was booked, stands nowhere else.
func (b *bench) statusInWords(name string) string {
	b.t.Helper()
	s := b.get(name).Status
	net, attempt, due := "none", "none", "none"
	if s.NetCredits != nil {
		net = fmt.Sprint(*s.NetCredits)
	}
	if s.Attempt != nil {
		attempt = fmt.Sprint(*s.Attempt)
	}
	if s.NotBefore != nil {
		due = s.NotBefore.UTC().String()
	}
	var conditions []string
	for _, c := range s.Conditions {
		if c.Type == billingv1.ConditionContradicted {
			continue
		}
		conditions = append(conditions, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	slices.Sort(conditions)
	return fmt.Sprintf("%s, job %s, net %s, attempt %s, due %s\n%s", s.Phase, s.JobID, net, attempt, due, strings.Join(conditions, "\n"))
}

// booksInWords is every document and every row of the test, to the byte.
func (b *bench) booksInWords() string {
	b.t.Helper()
	var all []string
	rows := b.ledgerCollection()
	for _, name := range []string{"jobs", rows.Name()} {
		cursor, err := rows.Database().Collection(name).Find(b.ctx, bson.D{})
		must(b.t, err)
		for cursor.Next(b.ctx) {
			all = append(all, cursor.Current.String())
		}
		must(b.t, cursor.Err())
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// workloads are the Jobs of the test, by name and UID.
func (b *bench) workloads() string {
	b.t.Helper()
	var jobs batchv1.JobList
	must(b.t, b.c.List(b.ctx, &jobs, client.InNamespace(b.ns)))
	text := ""
	for _, j := range jobs.Items {
		text += fmt.Sprintf("%s %s, ", j.Name, j.UID)
	}
	return text
}

// listener keeps the events that were sent.
type listener struct {
	mu   sync.Mutex
	sent []string
}

func (l *listener) Eventf(_ runtime.Object, _ runtime.Object, eventType, reason, _, note string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, strings.TrimSpace(eventType+" "+reason+": "+fmt.Sprintf(note, args...)))
}

// heard are the events since the last call.
func (l *listener) heard() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	sent := l.sent
	l.sent = nil
	return sent
}

// TestEventsFollowTheStatus wants nothing to be said that a status doesn't say, and everything once.
func TestEventsFollowTheStatus(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBench(t)
	ears := &listener{}
	b.r.Recorder = ears

	says := func(events ...string) {
		t.Helper()
		b.fault.failBefore("status")
		g.Expect(b.pass("job")).To(MatchError(errInjected))
		g.Expect(ears.heard()).To(BeEmpty(), "before the status is written")
		b.settle("job")
		g.Expect(ears.heard()).To(Equal(events))
		must(t, b.pass("job"))
		g.Expect(ears.heard()).To(BeEmpty(), "after a pass with nothing to do")
	}

	b.apply("job", trainingJob)
	says("Normal Charged: 40 credits were charged to account team-a")
	b.fails("job-0")
	says("Warning Refunded: 40 credits were given back to account team-a: BackoffLimitExceeded",
		"Normal RetryScheduled: attempt 1 is due at "+b.clock.Now().Add(10e9).Format("2006-01-02T15:04:05.000Z"))
	b.deliverDue("job")
	ears.heard()
	b.succeeds("job-1")
	says("Normal Reclaimed: the job succeeded after its refund, so the 40 credits were taken back from account team-a",
		"Normal Delivered: the job's result was delivered; the charge is final")

	// A reply that was lost may cost an event. It makes none before its time, and none twice.
	b.apply("other", trainingJob)
	b.fault.failAfter("status")
	g.Expect(b.pass("other")).To(MatchError(errInjected))
	b.settle("other")
	g.Expect(ears.heard()).To(BeEmpty())

	b.r = b.newReconciler(b.c)
	b.r.Recorder = ears
	b.settle("job")
	g.Expect(ears.heard()).To(BeEmpty(), "after a restart")
}
