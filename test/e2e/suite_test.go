package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/ledger"
)

const (
	// patience bounds every wait for something that must come; the machine may be busy.
	patience = 90 * time.Second
	tick     = 100 * time.Millisecond
)

// The suite's own names in the stores, so that it disturbs nothing else there.
var (
	run       = fmt.Sprintf("e2e%d", time.Now().UnixNano())
	database  = "recoup_" + run
	retryKey  = run + ":retry"
	deadKey   = run + ":dead"
	cluster   = run
	binary    string
	workDir   string
	c         client.Client
	books     *ledger.Store
	rdb       *redis.Client
	asManager string // kubeconfig with the rights of the manager's service account
)

func TestMain(m *testing.M) {
	os.Exit(runSuite(m))
}

func runSuite(m *testing.M) int {
	for _, name := range []string{"KUBECONFIG", "MONGODB_URI", "REDIS_URL"} {
		if os.Getenv(name) == "" {
			fmt.Fprintf(os.Stderr, "%s is not set: these tests need a whole cluster, MongoDB and Redis; run `make test`, which brings them up\n", name)
			return 1
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := setUp(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "setting up:", err)
		return 1
	}
	code := m.Run()
	if err := tearDown(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "tearing down:", err)
		return 1
	}
	return code
}

func setUp(ctx context.Context) (err error) {
	if workDir, err = os.MkdirTemp("", "recoup-e2e-"); err != nil {
		return err
	}
	binary = filepath.Join(workDir, "recoup")
	if err := command(ctx, "go", "build", "-o", binary, "../.."); err != nil {
		return err
	}
	if err := command(ctx, "kubectl", "apply", "--server-side", "--force-conflicts", "-f", "../../config/crd/bases"); err != nil {
		return err
	}
	if err := command(ctx, "kubectl", "wait", "--for=condition=Established", "--timeout=30s", "crd/billablejobs.billing.recoup.dev"); err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := billingv1.AddToScheme(scheme); err != nil {
		return err
	}
	if c, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if books, err = ledger.Open(ledger.Config{URI: os.Getenv("MONGODB_URI"), Database: database, Timeout: 10 * time.Second}); err != nil {
		return err
	}
	o, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		return err
	}
	rdb = redis.NewClient(o)
	return useServiceAccount(ctx)
}

func tearDown(ctx context.Context) error {
	m, err := mongo.Connect(options.Client().ApplyURI(os.Getenv("MONGODB_URI")))
	if err != nil {
		return err
	}
	if err := m.Database(database).Drop(ctx); err != nil {
		return err
	}
	keys, err := rdb.Keys(ctx, run+":*").Result()
	if err != nil {
		return err
	}
	if len(keys) > 0 {
		if err := rdb.Del(ctx, keys...).Err(); err != nil {
			return err
		}
	}
	return os.RemoveAll(workDir)
}

// command runs a program and shows its output only if it fails.
func command(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// newNamespace makes a namespace that goes away with the test.
func newNamespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}
	must(t, c.Create(t.Context(), ns))
	t.Cleanup(func() {
		if err := c.Delete(context.Background(), ns); client.IgnoreNotFound(err) != nil {
			t.Errorf("deleting namespace %s: %v", ns.Name, err)
		}
	})
	return ns.Name
}

// jobSpec is a BillableJob's spec whose pods run for so long and end so.
func jobSpec(cost, runSeconds int, outcome, more string) string {
	return fmt.Sprintf(`
account: team-e2e
cost: %d
retry: {maxRetries: 1, baseDelay: 1s, maxDelay: 2s}
%s
template:
  apiVersion: batch/v1
  kind: Job
  spec:
    backoffLimit: 0
    template:
      metadata:
        annotations: {stack.recoup.dev/run-seconds: "%d", stack.recoup.dev/outcome: %s}
      spec:
        restartPolicy: Never
        containers:
        - name: train
          image: example/train:1
          resources: {limits: {nvidia.com/gpu: 1}}
`, cost, more, runSeconds, outcome)
}

func apply(t *testing.T, ns, name, spec string) *billingv1.BillableJob {
	t.Helper()
	bj := &billingv1.BillableJob{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns}}
	must(t, yaml.UnmarshalStrict([]byte(spec), &bj.Spec))
	must(t, c.Create(t.Context(), bj))
	return bj
}

// eventually waits until the check passes and fails with what it last said.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(tick) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatalf("not after %s: %v", patience, err)
}

func phaseOf(ns, name string, want billingv1.Phase) func() error {
	return func() error {
		var bj billingv1.BillableJob
		if err := c.Get(context.Background(), types.NamespacedName{Namespace: ns, Name: name}, &bj); err != nil {
			return err
		}
		if bj.Status.Phase != want {
			return fmt.Errorf("%s is %q, want %s; conditions: %+v", name, bj.Status.Phase, want, bj.Status.Conditions)
		}
		return nil
	}
}

func gone(obj client.Object) func() error {
	return func() error {
		err := c.Get(context.Background(), client.ObjectKeyFromObject(obj), obj)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return fmt.Errorf("%T %s is still there, with finalizers %v", obj, obj.GetName(), obj.GetFinalizers())
	}
}

// rowsOf are a job's ledger rows in words.
func rowsOf(t *testing.T, bj *billingv1.BillableJob) string {
	t.Helper()
	id := bj.Spec.JobID
	if id == "" {
		id = string(bj.UID)
	}
	rows, err := books.Rows(context.Background(), ledger.JobID(cluster, bj.Namespace, id))
	must(t, err)
	words := make([]string, 0, len(rows))
	for _, r := range rows {
		words = append(words, fmt.Sprintf("%s %+d", r.Type, r.Amount))
	}
	return strings.Join(words, ", ")
}

func wantRows(t *testing.T, bj *billingv1.BillableJob, want string) {
	t.Helper()
	if got := rowsOf(t, bj); got != want {
		t.Errorf("the ledger of %s has %q, want %q", bj.Name, got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
