package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	billingv1 "recoup.dev/recoup/api/v1"
	"recoup.dev/recoup/controllers"
	"recoup.dev/recoup/internal/cli"
	"recoup.dev/recoup/internal/ledger"
	"recoup.dev/recoup/internal/retry"
)

// runManager wires stores, reconciler and lane, and runs them until the context ends.
func runManager(ctx context.Context, o cli.ManagerOptions) error {
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&o.Log)))
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding a Kubernetes cluster: set KUBECONFIG, or run in a pod: %w", err)
	}
	live, err := client.New(config, client.Options{Scheme: scheme()})
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	if err := controllers.CheckInstalledCRD(ctx, live); err != nil {
		return err
	}
	cluster, err := clusterName(ctx, live, o.Cluster)
	if err != nil {
		return err
	}
	books, err := ledger.Open(ledger.Config{URI: o.MongoURI, Database: o.Database, Timeout: o.StoreTimeout})
	if err != nil {
		return fmt.Errorf("MONGODB_URI: %w", err)
	}
	defer closing("the books", books.Close)
	lane, err := retry.Open(retry.Config{
		URL: o.RedisURL, RetryKey: o.RetryKey, DeadLetterKey: o.DeadLetterKey, Owner: cluster,
		Timeout: o.StoreTimeout, Lease: o.Lease,
	})
	if err != nil {
		return fmt.Errorf("REDIS_URL: %w", err)
	}
	defer closing("the retry lane", func(context.Context) error { return lane.Close() })

	mgr, err := newManager(config, o)
	if err != nil {
		return err
	}
	if err := addControllers(ctx, mgr, o, cluster, books, lane); err != nil {
		return err
	}
	if err := addProbes(mgr, books, lane); err != nil {
		return err
	}
	ctrl.Log.WithName("setup").Info("starting", "cluster", cluster, "database", o.Database, "retry key", o.RetryKey,
		"consume retries", o.ConsumeRetries, "accept signals", o.AcceptSignals)
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("running the manager: %w", err)
	}
	return nil
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(billingv1.AddToScheme(s))
	return s
}

func newManager(config *rest.Config, o cli.ManagerOptions) (manager.Manager, error) {
	metrics := metricsserver.Options{
		BindAddress: o.MetricsAddress, SecureServing: o.MetricsSecure, CertDir: o.MetricsCertDir,
		// HTTP/2 is off, since its stream resets have let clients exhaust servers before.
		TLSOpts: []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }},
	}
	if o.MetricsSecure {
		metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme(),
		Cache:                         controllers.CacheOptions(),
		Client:                        client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Metrics:                       metrics,
		HealthProbeBindAddress:        o.ProbeAddress,
		LeaderElection:                o.LeaderElect,
		LeaderElectionID:              "recoup.billing.recoup.dev",
		LeaderElectionNamespace:       o.Namespace,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &o.StopTimeout,
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the manager: %w", err)
	}
	return mgr, nil
}

func addControllers(ctx context.Context, mgr manager.Manager, o cli.ManagerOptions, cluster string, books *ledger.Store, lane *retry.Lane) error {
	reconciler := &controllers.BillableJobReconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder("recoup"),
		Books: books, Lane: lane, Cluster: cluster, AcceptSignals: o.AcceptSignals,
		Now: time.Now, Jitter: o.Jitter, Random: rand.Float64, PushGrace: o.PushGrace, Concurrency: o.Concurrency,
	}
	if err := reconciler.SetupWithManager(ctx, mgr); err != nil {
		return err
	}
	runnables := []manager.Runnable{&controllers.LaneKeeper{
		Lane: lane, Books: books, Cluster: cluster, FlushParked: !o.ConsumeRetries, Log: ctrl.Log.WithName("lane"),
	}}
	if o.ConsumeRetries {
		runnables = append(runnables, &controllers.RetryConsumer{Lane: lane, Reconciler: reconciler, Log: ctrl.Log.WithName("retry")})
	}
	for _, r := range runnables {
		if err := mgr.Add(r); err != nil {
			return fmt.Errorf("adding %T to the manager: %w", r, err)
		}
	}
	return nil
}

// addProbes makes the manager alive at once and ready when both stores have answered. A schema that this binary can't work
// with, or a lane that is another cluster's, stops the manager: waiting doesn't mend them.
func addProbes(mgr manager.Manager, books *ledger.Store, lane *retry.Lane) error {
	var ready atomic.Bool
	if err := mgr.AddHealthzCheck("alive", healthz.Ping); err != nil {
		return fmt.Errorf("adding the health probe: %w", err)
	}
	err := mgr.AddReadyzCheck("stores", func(*http.Request) error {
		if ready.Load() {
			return nil
		}
		return errors.New("MongoDB and Redis have not both answered so far")
	})
	if err != nil {
		return fmt.Errorf("adding the readiness probe: %w", err)
	}
	return addGate(mgr, books, lane, &ready)
}

// clusterName is the name of this cluster in the books: what the operator says, else what no two clusters share.
func clusterName(ctx context.Context, live client.Reader, name string) (string, error) {
	if name != "" {
		return name, nil
	}
	var ns corev1.Namespace
	if err := live.Get(ctx, types.NamespacedName{Name: "kube-system"}, &ns); err != nil {
		return "", fmt.Errorf("reading the UID of the namespace kube-system, which names this cluster in the books; give --cluster instead: %w", err)
	}
	return string(ns.UID), nil
}

func closing(what string, closeIt func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := closeIt(ctx); err != nil {
		ctrl.Log.WithName("setup").Error(err, "closing "+what)
	}
}
