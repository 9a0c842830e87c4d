package controllers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/event"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/ledger"
	"recoup.dev/recoup/internal/retry"
)

// apiServer is the real API server that all tests of the package share; each test has a namespace of its own.
var apiServer *rest.Config

func TestMain(m *testing.M) {
	os.Exit(runWithAPIServer(m))
}

func runWithAPIServer(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	for _, name := range []string{"KUBEBUILDER_ASSETS", "MONGODB_URI", "REDIS_URL"} {
		if os.Getenv(name) == "" {
			fmt.Fprintf(os.Stderr, "%s is not set: these tests need a real API server, MongoDB and Redis; run `make test`, which brings them up\n", name)
			return 1
		}
	}
	env := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
	}
	config, err := env.Start()
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting the API server:", err)
		return 1
	}
	config.QPS = -1
	apiServer = config
	code := m.Run()
	if err := env.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the API server:", err)
		return 1
	}
	return code
}

// bench is one test's own corner: a namespace, a database, a lane, a clock that only the test moves, and a reconciler whose
// passes the test asks for one by one.
type bench struct {
	t     *testing.T
	ctx   context.Context
	c     client.WithWatch // to the API server itself, neither counted nor faulty
	ns    string
	r     *BillableJobReconciler
	books *ledger.Store
	lane  *retry.Lane
	redis *redis.Client
	keys  retry.Config
	clock *testClock
	count counters
	fault *faults
}

// counters count what left the process.
type counters struct {
	mongo, mongoWrites, redis, apiWrites, statusPatches atomic.Int64
}

func (c *counters) reset() {
	c.mongo.Store(0)
	c.mongoWrites.Store(0)
	c.redis.Store(0)
	c.apiWrites.Store(0)
	c.statusPatches.Store(0)
}

func (c *counters) String() string {
	return fmt.Sprintf("mongo=%d redis=%d apiWrites=%d statusPatches=%d",
		c.mongo.Load(), c.redis.Load(), c.apiWrites.Load(), c.statusPatches.Load())
}

type testClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

var benches atomic.Int64

func newBench(t *testing.T) *bench {
	t.Helper()
	ctx := ctrl.LoggerInto(t.Context(), ctrl.Log)
	id := fmt.Sprintf("t%d-%d", time.Now().UnixNano(), benches.Add(1))
	b := &bench{
		t: t, ctx: ctx, ns: id, fault: &faults{},
		// The API server stamps creation times by its own clock, to the second.
		clock: &testClock{now: time.Now().UTC().Truncate(time.Second).Add(time.Second)},
	}

	scheme := runtime.NewScheme()
	must(t, clientgoscheme.AddToScheme(scheme))
	must(t, billingv1.AddToScheme(scheme))
	c, err := client.NewWithWatch(apiServer, client.Options{Scheme: scheme})
	must(t, err)
	b.c = c
	must(t, c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.ns}}))

	b.books, err = ledger.Open(ledger.Config{
		URI: os.Getenv("MONGODB_URI"), Database: "recoup_" + strings.ReplaceAll(id, "-", "_"), Timeout: 10 * time.Second,
		MonitorCommand: &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
			if e.CommandName != "endSessions" {
				b.count.mongo.Add(1)
			}
			switch e.CommandName {
			case "insert", "update", "delete", "findAndModify":
				b.count.mongoWrites.Add(1)
			}
		}},
	})
	must(t, err)
	must(t, b.books.Prepare(ctx))

	b.keys = retry.Config{
		URL: os.Getenv("REDIS_URL"), RetryKey: id + ":retry", DeadLetterKey: id + ":dead", Owner: id,
		Timeout: 5 * time.Second, Lease: 30 * time.Second,
	}
	b.lane, err = retry.Open(b.keys)
	must(t, err)
	must(t, b.lane.Prepare(ctx))
	options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	must(t, err)
	b.redis = redis.NewClient(options)
	t.Cleanup(b.tearDown)

	b.r = b.newReconciler(c)
	return b
}

func (b *bench) tearDown() {
	ctx := context.Background()
	keys, err := b.redis.Keys(ctx, b.ns+":*").Result()
	if err == nil && len(keys) > 0 {
		err = b.redis.Del(ctx, keys...).Err()
	}
	if err != nil {
		b.t.Errorf("removing the test's keys: %v", err)
	}
	must(b.t, b.redis.Close())
	must(b.t, b.lane.Close())
	must(b.t, dropDatabase(ctx, "recoup_"+strings.ReplaceAll(b.ns, "-", "_")))
	must(b.t, b.books.Close(ctx))
}

// newReconciler makes a manager's reconciler over the same books and lane, as after a restart or in a second process.
func (b *bench) newReconciler(c client.WithWatch) *BillableJobReconciler {
	seen := interceptor.NewClient(indexed{c}, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			var o client.CreateOptions
			o.ApplyOptions(opts)
			if len(o.DryRun) > 0 {
				return c.Create(ctx, obj, opts...)
			}
			b.count.apiWrites.Add(1)
			return b.fault.around("create "+kindOf(obj), func() error { return c.Create(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			b.count.apiWrites.Add(1)
			return b.fault.around("patch "+kindOf(obj), func() error { return c.Patch(ctx, obj, p, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			b.count.apiWrites.Add(1)
			return b.fault.around("delete "+kindOf(obj), func() error { return c.Delete(ctx, obj, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			b.count.statusPatches.Add(1)
			return b.fault.around("status", func() error { return c.SubResource(sub).Patch(ctx, obj, p, opts...) })
		},
	})
	return &BillableJobReconciler{
		Client: seen, Live: c, Recorder: silent{}, Books: faultyBooks{b.books, b.fault}, Lane: testLane{b.lane, b},
		Cluster: "test", AcceptSignals: true, Now: b.clock.Now, Random: func() float64 { return 0 }, PushGrace: 30 * time.Second,
	}
}

func kindOf(obj client.Object) string {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.GetKind()
	}
	if _, ok := obj.(*billingv1.BillableJob); ok {
		return "BillableJob"
	}
	return fmt.Sprintf("%T", obj)
}

// indexed answers the lookups that the manager's cache answers from its index, without a cache, so that a test decides what
// is stale.
type indexed struct{ client.WithWatch }

func (c indexed) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	if o.FieldSelector == nil {
		return c.WithWatch.List(ctx, list, opts...)
	}
	owner, _ := o.FieldSelector.RequiresExactMatch(ownerIndex)
	if err := c.WithWatch.List(ctx, list, client.InNamespace(o.Namespace), client.HasLabels{billingv1.LabelAttempt}); err != nil {
		return err
	}
	var kept []runtime.Object
	err := meta.EachListItem(list, func(item runtime.Object) error {
		if ownerName(item.(client.Object)) == owner {
			kept = append(kept, item)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return meta.SetList(list, kept)
}

// silent drops events; the tests about events have a recorder of their own.
type silent struct{}

func (silent) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

var _ events.EventRecorder = silent{}
var _ record.EventRecorder = (*record.FakeRecorder)(nil)

// testLane is the real lane by the test's clock.
type testLane struct {
	*retry.Lane
	b *bench
}

func (l testLane) Now() time.Time { return l.b.clock.Now() }

func (l testLane) Push(ctx context.Context, e retry.Entry) error {
	l.b.count.redis.Add(1)
	return l.b.fault.around("push", func() error { return l.Lane.Push(ctx, e) })
}

func (l testLane) DeadLetter(ctx context.Context, e retry.DeadEntry) error {
	l.b.count.redis.Add(1)
	return l.b.fault.around("dead letter", func() error { return l.Lane.DeadLetter(ctx, e) })
}

func (l testLane) RemoveDeadLetter(ctx context.Context, id string) error {
	l.b.count.redis.Add(1)
	return l.b.fault.around("remove dead letter", func() error { return l.Lane.RemoveDeadLetter(ctx, id) })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// apply creates a BillableJob from a manifest's spec.
func (b *bench) apply(name, spec string) *billingv1.BillableJob {
	b.t.Helper()
	bj := &billingv1.BillableJob{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.ns}}
	must(b.t, yaml.UnmarshalStrict([]byte(spec), &bj.Spec))
	must(b.t, b.c.Create(b.ctx, bj))
	return bj
}

// pass makes one pass of the reconciler.
func (b *bench) pass(name string) error {
	_, err := b.r.Reconcile(b.ctx, ctrl.Request{NamespacedName: types.NamespacedName{Namespace: b.ns, Name: name}})
	return err
}

// settle makes passes until one changes nothing, as the watches would.
func (b *bench) settle(name string) {
	b.t.Helper()
	for range 15 {
		writes := b.count.apiWrites.Load() + b.count.statusPatches.Load()
		if err := b.pass(name); err != nil {
			b.t.Fatalf("a pass failed: %v", err)
		}
		if writes == b.count.apiWrites.Load()+b.count.statusPatches.Load() {
			return
		}
	}
	b.t.Fatalf("BillableJob %s never comes to rest", name)
}

// deliverDue hands the newest entry of the lane to the reconciler at its due time, as the consumer does.
func (b *bench) deliverDue(name string) entryResult {
	b.t.Helper()
	entry := b.lastEntry()
	if entry.Name != name {
		b.t.Fatalf("the newest entry is about BillableJob %s, not %s", entry.Name, name)
	}
	if wait := entry.NotBefore.Sub(b.clock.Now()); wait > 0 {
		b.clock.advance(wait)
	}
	result, err := b.r.runDue(b.ctx, entry)
	must(b.t, err)
	return result
}

func (b *bench) lastEntry() retry.Entry {
	b.t.Helper()
	raw, err := b.redis.LIndex(b.ctx, b.keys.RetryKey, -1).Bytes()
	must(b.t, err)
	entry, err := retry.Decode(raw)
	must(b.t, err)
	return entry
}

func (b *bench) get(name string) *billingv1.BillableJob {
	b.t.Helper()
	var bj billingv1.BillableJob
	must(b.t, b.c.Get(b.ctx, types.NamespacedName{Namespace: b.ns, Name: name}, &bj))
	return &bj
}

func (b *bench) job(name string) *batchv1.Job {
	b.t.Helper()
	var job batchv1.Job
	must(b.t, b.c.Get(b.ctx, types.NamespacedName{Namespace: b.ns, Name: name}, &job))
	return &job
}

// docID is the ID of a BillableJob's document.
func (b *bench) docID(bj *billingv1.BillableJob) string {
	id := bj.Spec.JobID
	if id == "" {
		id = string(bj.UID)
	}
	return ledger.JobID("test", b.ns, id)
}

// rows are a job's ledger rows in words, in the order they were decided.
func (b *bench) rows(bj *billingv1.BillableJob) string {
	b.t.Helper()
	rows, err := b.books.Rows(b.ctx, b.docID(bj))
	must(b.t, err)
	words := make([]string, 0, len(rows))
	for _, r := range rows {
		words = append(words, fmt.Sprintf("%s %+d", r.Type, r.Amount))
	}
	return strings.Join(words, ", ")
}

func (b *bench) wantRows(bj *billingv1.BillableJob, want string) {
	b.t.Helper()
	if got := b.rows(bj); got != want {
		b.t.Fatalf("ledger rows are %q, want %q", got, want)
	}
}

func (b *bench) wantPhase(name string, want billingv1.Phase) {
	b.t.Helper()
	if got := b.get(name).Status.Phase; got != want {
		b.t.Fatalf("phase is %s, want %s; status: %+v", got, want, b.get(name).Status)
	}
}

// runs, fails and succeeds write a Job's status as the job controller does, which doesn't run here.
func (b *bench) runs(name string) {
	b.t.Helper()
	job := b.job(name)
	now := metav1.NewTime(b.clock.Now())
	ready := int32(1)
	if job.Status.StartTime == nil {
		job.Status.StartTime = &now
	}
	job.Status.Active, job.Status.Ready = 1, &ready
	must(b.t, b.c.Status().Update(b.ctx, job))
}

func (b *bench) fails(name string) {
	b.t.Helper()
	b.ends(name, batchv1.JobFailureTarget, batchv1.JobFailed)
}

func (b *bench) succeeds(name string) {
	b.t.Helper()
	b.ends(name, batchv1.JobSuccessCriteriaMet, batchv1.JobComplete)
}

func (b *bench) ends(name string, interim, final batchv1.JobConditionType) {
	b.t.Helper()
	job := b.job(name)
	now := metav1.NewTime(b.clock.Now())
	zero := int32(0)
	if job.Status.StartTime == nil {
		job.Status.StartTime = &now
	}
	job.Status.Active, job.Status.Ready = 0, &zero
	reason := "BackoffLimitExceeded"
	if final == batchv1.JobComplete {
		reason = "CompletionsReached"
		job.Status.CompletionTime = &now
		job.Status.Succeeded = 1
	} else {
		job.Status.Failed = 1
	}
	for _, c := range []batchv1.JobConditionType{interim, final} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: c, Status: corev1.ConditionTrue, Reason: reason, LastProbeTime: now, LastTransitionTime: now,
		})
	}
	must(b.t, b.c.Status().Update(b.ctx, job))
}

func (b *bench) annotate(name, key, value string) {
	b.t.Helper()
	bj := b.get(name)
	setAnnotation(bj, key, value)
	must(b.t, b.c.Update(b.ctx, bj))
}
