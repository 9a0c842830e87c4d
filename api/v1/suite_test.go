package v1_test

import (
	"fmt"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	billingv1 "recoup.dev/recoup/api/v1"
)

// The API server that every test of this package writes to, with the generated
// CustomResourceDefinition installed.
var (
	api    client.Client
	config *rest.Config
)

func TestMain(m *testing.M) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		fmt.Fprintln(os.Stderr, "KUBEBUILDER_ASSETS isn't set: these tests need a real API server. Run `make test`, which brings one.")
		os.Exit(1)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	environment := &envtest.Environment{
		CRDDirectoryPaths:     []string{"../../config/crd/bases"},
		ErrorIfCRDPathMissing: true,
	}
	defer func() {
		if err := environment.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the API server:", err)
		}
	}()
	var err error
	if config, err = environment.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "starting the API server of KUBEBUILDER_ASSETS; `make test` brings one that works:", err)
		return 1
	}
	scheme := runtime.NewScheme()
	if err := billingv1.AddToScheme(scheme); err != nil {
		fmt.Fprintln(os.Stderr, "registering the types:", err)
		return 1
	}
	if api, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		fmt.Fprintln(os.Stderr, "making a client:", err)
		return 1
	}
	return m.Run()
}
