package integration

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// apiServer is the configuration of the API server that all tests of this package share; nil
// with -short.
var apiServer *rest.Config

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if testing.Short() {
		return m.Run()
	}
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		fmt.Fprintln(os.Stderr, "KUBEBUILDER_ASSETS is not set, so there is no API server to test with: \"make test\" sets it; -short leaves these tests out")
		return 1
	}
	// For the API server, which then needs a quarter less CPU; this process has read the variables.
	os.Setenv("GOGC", "400")
	os.Setenv("GOMEMLIMIT", "1GiB")
	env := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
	}
	config, err := env.Start()
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting the API server:", err)
		_ = env.Stop() // what did start; the error above is the one to tell
		return 1
	}
	apiServer = config
	code := m.Run()
	if err := env.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the API server:", err)
		return 1
	}
	return code
}

// newClient talks to the shared API server; with -short the test is skipped.
func newClient(t *testing.T) client.Client {
	t.Helper()
	if apiServer == nil {
		t.Skip("needs an API server, which -short leaves out")
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(apiServer, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
