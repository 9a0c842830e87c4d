package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/internal/ledger"
)

// The demo keeps to names of its own, so that it disturbs nothing else on the same stack and starts afresh each time.
const (
	namespace     = "recoup-demo"
	database      = "recoup_demo"
	cluster       = "demo"
	retryKey      = "demo:jobs:retry"
	deadLetterKey = "demo:jobs:dead-letter"
)

// world is what the demo looks at: the cluster, the books and the lane.
type world struct {
	c     client.Client
	books *ledger.Store
	redis *redis.Client
	root  string
}

func connect() (*world, error) {
	for _, name := range []string{"KUBECONFIG", "MONGODB_URI", "REDIS_URL"} {
		if os.Getenv(name) == "" {
			return nil, fmt.Errorf("%s is not set; run `make demo`, which brings up what it needs", name)
		}
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("finding the working directory: %w", err)
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), billingv1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("registering the API types: %w", err)
	}
	w := &world{root: root}
	if w.c, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	if w.books, err = ledger.Open(ledger.Config{URI: os.Getenv("MONGODB_URI"), Database: database, Timeout: 10 * time.Second}); err != nil {
		return nil, err
	}
	o, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		return nil, fmt.Errorf("reading REDIS_URL: %w", err)
	}
	w.redis = redis.NewClient(o)
	return w, nil
}

// reset removes what an earlier run left.
func (w *world) reset(ctx context.Context) error {
	if err := w.kubectl(ctx, "apply", "--server-side", "--force-conflicts", "-f", filepath.Join("config", "crd", "bases")); err != nil {
		return err
	}
	if err := w.kubectl(ctx, "wait", "--for=condition=Established", "--timeout=30s", "crd/billablejobs.billing.recoup.dev"); err != nil {
		return err
	}
	if err := w.dropNamespace(ctx); err != nil {
		return err
	}
	m, err := mongo.Connect(options.Client().ApplyURI(os.Getenv("MONGODB_URI")))
	if err != nil {
		return fmt.Errorf("connecting to MongoDB: %w", err)
	}
	if err := errors.Join(m.Database(database).Drop(ctx), m.Disconnect(ctx)); err != nil {
		return fmt.Errorf("dropping the database %s: %w", database, err)
	}
	for _, key := range []string{retryKey, retryKey + ":parked", retryKey + ":leased", retryKey + ":owner", deadLetterKey, deadLetterKey + ":index"} {
		if err := w.redis.Del(ctx, key).Err(); err != nil {
			return fmt.Errorf("deleting the Redis key %s: %w", key, err)
		}
	}
	return nil
}

// dropNamespace deletes the namespace of an earlier run. No manager runs by now, so that the demo takes off the finalizers
// itself.
func (w *world) dropNamespace(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, 300*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := w.c.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err != nil && !apierrors.IsConflict(err) {
			return false, err
		}
		for _, list := range []client.ObjectList{&billingv1.BillableJobList{}, &batchv1.JobList{}} {
			if err := w.stripFinalizers(ctx, list); err != nil {
				return false, err
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("deleting the namespace %s of an earlier run: %w", namespace, err)
	}
	if err := w.c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return fmt.Errorf("creating the namespace %s: %w", namespace, err)
	}
	return nil
}

func (w *world) stripFinalizers(ctx context.Context, list client.ObjectList) error {
	if err := w.c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("listing what an earlier run left: %w", err)
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		obj := item.(client.Object)
		base := obj.DeepCopyObject().(client.Object)
		var kept []string
		for _, f := range obj.GetFinalizers() {
			if f != billingv1.FinalizerSettlement && f != billingv1.FinalizerOutcome {
				kept = append(kept, f)
			}
		}
		if len(kept) == len(obj.GetFinalizers()) {
			return nil
		}
		obj.SetFinalizers(kept)
		return client.IgnoreNotFound(w.c.Patch(ctx, obj, client.MergeFrom(base)))
	})
}

func (w *world) kubectl(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "kubectl", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = w.root, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("kubectl %v: %w", args, err)
	}
	return nil
}
