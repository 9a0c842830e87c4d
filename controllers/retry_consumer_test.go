package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/retry"
)

// quickRetries is trainingJob with the shortest delays that a manifest may ask for.
const quickRetries = `
account: team-a
cost: 40
retry: {maxRetries: 2, baseDelay: 1s, maxDelay: 1s}
template:
  apiVersion: batch/v1
  kind: Job
  spec:
    backoffLimit: 0
    template:
      spec:
        restartPolicy: Never
        containers: [{name: train, image: train}]
`

// inRealTime lets the bench live by the clocks of the machine and of the Redis server.
func (b *bench) inRealTime() {
	b.r.Now, b.r.Lane = time.Now, b.lane
}

func (b *bench) consumer() *RetryConsumer {
	return &RetryConsumer{Lane: b.lane, Reconciler: b.r, Log: logr.Discard()}
}

func (b *bench) exists(name string) (bool, error) {
	var job batchv1.Job
	err := b.c.Get(b.ctx, types.NamespacedName{Namespace: b.ns, Name: name}, &job)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// TestTheConsumerBringsRetriesInTime runs the consumer over the real lane in real time: a poison entry stands at the head,
// a consumer died with the first retry in hand, and no attempt starts before its time.
func TestTheConsumerBringsRetriesInTime(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBench(t)
	b.inRealTime()
	must(t, b.redis.RPush(b.ctx, b.keys.RetryKey, "not an entry").Err())
	bj := b.apply("job", quickRetries)
	b.settle("job")
	b.fails("job-0")
	b.settle("job")

	doomed := b.keys
	doomed.Lease = time.Second
	dead, err := retry.Open(doomed)
	must(t, err)
	defer func() { must(t, dead.Close()) }()
	g.Eventually(func() (int, error) {
		batch, err := dead.Take(b.ctx, 10)
		return len(batch.Due), err
	}).WithTimeout(10 * time.Second).WithPolling(20 * time.Millisecond).Should(Equal(1))

	ctx, stop := context.WithCancel(b.ctx)
	defer stop()
	ended := make(chan error, 1)
	consumer := b.consumer()
	go func() { ended <- consumer.Start(ctx) }()

	for n := 1; n <= 2; n++ {
		notBefore := b.doc().NotBefore
		name := fmt.Sprintf("job-%d", n)
		g.Eventually(func() (bool, error) { return b.exists(name) }).
			WithTimeout(20 * time.Second).WithPolling(20 * time.Millisecond).Should(BeTrue())
		g.Expect(b.lane.Now()).To(BeTemporally(">=", notBefore), "%s was started early", name)
		if n == 1 {
			b.fails(name)
		} else {
			b.succeeds(name)
		}
		g.Eventually(func() error { return b.pass("job") }).Should(Succeed())
	}
	g.Eventually(func() (billingv1.Phase, error) {
		err := b.pass("job")
		return b.get("job").Status.Phase, err
	}).Should(Equal(billingv1.PhaseReclaimed))
	b.wantRows(bj, "charge -40, refund +40, reclaim -40")

	g.Eventually(func() (retry.Depth, error) { return b.lane.Depth(b.ctx) }).
		Should(Equal(retry.Depth{DeadLetters: 1}), "all is done, but for the poison")
	var poison retry.PoisonEntry
	must(t, json.Unmarshal([]byte(b.list(b.keys.DeadLetterKey)[0]), &poison))
	g.Expect(string(poison.Raw)).To(Equal("not an entry"))
	g.Expect(poison.Error).NotTo(BeEmpty())

	stop()
	g.Eventually(ended).WithTimeout(5 * time.Second).Should(Receive(BeNil()))
}

// parkedUntil is when the only parked entry of the lane is due.
func (b *bench) parkedUntil() time.Time {
	b.t.Helper()
	parked, err := b.redis.ZRangeWithScores(b.ctx, b.keys.RetryKey+":parked", 0, -1).Result()
	must(b.t, err)
	if len(parked) != 1 {
		b.t.Fatalf("%d entries are parked, want 1", len(parked))
	}
	return time.UnixMilli(int64(parked[0].Score)).UTC()
}

// TestAnEntryGoesBackUntilItsTime: the books know better than an entry when an attempt is due; and while the books can't be
// asked, an entry waits.
func TestAnEntryGoesBackUntilItsTime(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBench(t)
	b.inRealTime()
	b.apply("job", strings.Replace(trainingJob, "baseDelay: 5s", "baseDelay: 1m", 1))
	b.settle("job")
	b.fails("job-0")
	b.settle("job")
	entry := b.lastEntry()
	due := entry.NotBefore
	must(t, b.redis.Del(b.ctx, b.keys.RetryKey).Err())

	entry.NotBefore = due.Add(-time.Hour) // somebody edited it
	must(t, b.lane.Push(b.ctx, entry))
	_, _, err := b.consumer().round(b.ctx)
	must(t, err)
	g.Expect(b.parkedUntil()).To(Equal(due))
	must(t, b.redis.Del(b.ctx, b.keys.RetryKey+":parked").Err())

	b.mongoGoes()
	must(t, b.lane.Push(b.ctx, entry))
	asked := b.lane.Now()
	_, _, err = b.consumer().round(b.ctx)
	must(t, err)
	g.Expect(b.parkedUntil()).To(BeTemporally("~", asked.Add(obstacleRecheck), 5*time.Second))
	depth, err := b.lane.Depth(b.ctx)
	must(t, err)
	g.Expect(depth).To(Equal(retry.Depth{Parked: 1}))

	started, err := b.exists("job-1")
	must(t, err)
	g.Expect(started).To(BeFalse())
}
