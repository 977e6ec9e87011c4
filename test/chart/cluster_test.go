//go:build chart

package chart

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// cluster is an API server without nodes, which all tests of this package share.
type cluster struct {
	client.Client
	config *rest.Config
	// kubeconfig is a file for Helm.
	kubeconfig string
}

var environment envtest.Environment

func kubeconfigFile() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("h2surge-chart-%d.kubeconfig", os.Getpid()))
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	code := m.Run()
	if environment.Config != nil { // it was started
		_ = os.Remove(kubeconfigFile())
		if err := environment.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the API server:", err)
			code = 1
		}
	}
	os.Exit(code)
}

var start = sync.OnceValues(func() (*cluster, error) {
	// OpenShift enables it: an owner reference that blocks a deletion needs a right.
	environment.ControlPlane.GetAPIServer().Configure().Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
	config, err := environment.Start()
	if err != nil {
		return nil, fmt.Errorf("starting the API server: %w", err)
	}
	user, err := environment.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, config)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	file := kubeconfigFile()
	return &cluster{c, config, file}, os.WriteFile(file, kubeconfig, 0o600)
})

func startCluster(t *testing.T) *cluster {
	t.Helper()
	if testing.Short() || os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("SKIPPED: KUBEBUILDER_ASSETS is not set; make chart-test sets it")
	}
	c, err := start()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// helm runs a command on the cluster.
func (c *cluster) helm(t *testing.T, args ...string) {
	t.Helper()
	if out, err := helmAt(t, c.kubeconfig, args...); err != nil {
		t.Fatalf("helm %v: %v\n%s", args, err, out)
	}
}

func (c *cluster) namespace(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
}

func (c *cluster) get(t *testing.T, into client.Object, namespace, name string) error {
	t.Helper()
	return c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, into)
}

// eventually asks until the answer is yes, for a minute at most.
func eventually(t *testing.T, what string, yes func(context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return yes(ctx), nil
	})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
