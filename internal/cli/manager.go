package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// ManagerOptions is all that the manager can be told. Its fields are documented by the flags' help texts, in
// managerCommand.
type ManagerOptions struct {
	// MongoURI and RedisURL come from the environment or from files, never from flags, since they hold secrets.
	MongoURI, RedisURL string

	Database       string
	RetryKey       string
	DeadLetterKey  string
	Cluster        string
	AcceptSignals  bool
	ConsumeRetries bool
	Jitter         float64
	PushGrace      time.Duration
	StoreTimeout   time.Duration
	Lease          time.Duration
	Concurrency    int

	MetricsAddress string
	MetricsSecure  bool
	MetricsCertDir string
	ProbeAddress   string
	LeaderElect    bool
	Namespace      string
	StopTimeout    time.Duration

	Log zap.Options
}

const managerLong = `Run the controller against the cluster that the kubeconfig or the pod's service account names.

Environment:
  MONGODB_URI       connection string of the books (required)
  MONGODB_URI_FILE  file that holds it, instead
  REDIS_URL         connection string of the retry lane (required)
  REDIS_URL_FILE    file that holds it, instead
  KUBECONFIG        kubeconfig to use outside of a cluster

Connection strings hold secrets, so that there are no flags for them.`

func managerCommand(run func(context.Context, ManagerOptions) error) *cobra.Command {
	var o ManagerOptions
	cmd := &cobra.Command{
		Use:   "manager",
		Short: "Run the controller",
		Long:  managerLong,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complete(os.Getenv, os.ReadFile); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Database, "database", "recoup", "MongoDB database that holds the books")
	f.StringVar(&o.RetryKey, "retry-key", "jobs:retry", "Redis list that carries retries; clusters that share a Redis use different names")
	f.StringVar(&o.DeadLetterKey, "dead-letter-key", "jobs:dead-letter", "Redis list that holds dead letters for people")
	f.StringVar(&o.Cluster, "cluster", "", "name of this cluster in the books; it must never change (default: the UID of the namespace kube-system)")
	f.BoolVar(&o.AcceptSignals, "accept-signals", false, "let the annotations delivered-at and failed-at of a BillableJob move credits")
	f.BoolVar(&o.ConsumeRetries, "consume-retries", true, "start due retries; false leaves the list to workers of your own")
	f.Float64Var(&o.Jitter, "retry-jitter", 0.2, "largest part of a back-off that is taken off at random, from 0 to 1, so that jobs that failed together don't return together")
	f.DurationVar(&o.PushGrace, "retry-grace", 30*time.Second, "how long after its due time a retry that hasn't started is put on the list again; it doubles each time")
	f.DurationVar(&o.Lease, "retry-lease", 2*time.Minute, "how long an entry that a manager took stays with it if the manager dies")
	f.DurationVar(&o.StoreTimeout, "store-timeout", 10*time.Second, "time-out of each call to MongoDB and Redis")
	f.IntVar(&o.Concurrency, "concurrency", 8, "BillableJobs worked on at once")
	f.StringVar(&o.MetricsAddress, "metrics-bind-address", ":8443", "address of the metrics; 0 turns them off")
	f.BoolVar(&o.MetricsSecure, "metrics-secure", true, "serve metrics by TLS, to clients that the API server authenticates and authorizes")
	f.StringVar(&o.MetricsCertDir, "metrics-cert-dir", "", "folder with tls.crt and tls.key for the metrics (default: a self-signed certificate)")
	f.StringVar(&o.ProbeAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz")
	f.BoolVar(&o.LeaderElect, "leader-elect", false, "let only one of several managers work at a time")
	f.StringVar(&o.Namespace, "leader-election-namespace", "", "namespace of the leader's lease (default: the pod's own)")
	f.DurationVar(&o.StopTimeout, "stop-timeout", 20*time.Second, "how long work under way may take to end when the manager is told to stop")
	logs := flag.NewFlagSet("log", flag.ContinueOnError)
	o.Log.BindFlags(logs)
	f.AddGoFlagSet(logs)
	return cmd
}

// complete reads the secrets and checks what flags alone can't.
func (o *ManagerOptions) complete(getenv func(string) string, readFile func(string) ([]byte, error)) error {
	var errs []error
	secret := func(name string, into *string) {
		value, err := readSecret(name, getenv, readFile)
		*into = value
		errs = append(errs, err)
	}
	secret("MONGODB_URI", &o.MongoURI)
	secret("REDIS_URL", &o.RedisURL)
	if strings.ContainsAny(o.Cluster, "/ \t\n") {
		errs = append(errs, fmt.Errorf("--cluster is %q; it must not have slashes or spaces, since it is the first part of every job's ID", o.Cluster))
	}
	if o.Database == "" || len(o.Database) > 63 || strings.ContainsAny(o.Database, "/\\. \"$*<>:|?") {
		errs = append(errs, fmt.Errorf("--database is %q, which MongoDB doesn't take as a name; use up to 63 letters, digits, _ and -", o.Database))
	}
	if o.Jitter < 0 || o.Jitter > 1 {
		errs = append(errs, fmt.Errorf("--retry-jitter is %v; give a number from 0 to 1", o.Jitter))
	}
	if o.Concurrency < 1 {
		errs = append(errs, fmt.Errorf("--concurrency is %d; give at least 1", o.Concurrency))
	}
	for name, d := range map[string]time.Duration{
		"retry-grace": o.PushGrace, "retry-lease": o.Lease, "store-timeout": o.StoreTimeout, "stop-timeout": o.StopTimeout,
	} {
		if d <= 0 {
			errs = append(errs, fmt.Errorf("--%s is %s; give a time above 0", name, d))
		}
	}
	return errors.Join(errs...)
}

// readSecret reads a variable, or the file that its _FILE form names.
func readSecret(name string, getenv func(string) string, readFile func(string) ([]byte, error)) (string, error) {
	value, file := getenv(name), getenv(name+"_FILE")
	switch {
	case value != "" && file != "":
		return "", fmt.Errorf("%s and %s_FILE are both set; unset one of them", name, name)
	case file != "":
		content, err := readFile(file)
		if err != nil {
			return "", fmt.Errorf("reading %s_FILE: %w", name, err)
		}
		value = strings.TrimSpace(string(content))
	}
	if value == "" {
		return "", fmt.Errorf("%s is not set; set it, or %s_FILE, to a connection string", name, name)
	}
	return value, nil
}
