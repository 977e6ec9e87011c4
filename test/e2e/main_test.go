//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// Where config/default puts the operator, and how its pods are found.
const (
	operatorNamespace = "h2surge-system"
	operatorSelector  = "app.kubernetes.io/name=h2surge,app.kubernetes.io/component=manager"
)

// ours marks the namespaces of the stories, so that a later run finds what a killed one left.
const ours = "h2surge.io/e2e"

// The cluster all stories share; set once, before the first of them.
var (
	objects client.WithWatch
	core    kubernetes.Interface
	// targetDir and rulesDir are kustomizations of the target and of the one with rules, with the
	// image under test; probeImage is what the stories' own pods run. hack/e2e.sh makes them.
	targetDir  = os.Getenv("E2E_TARGET_DIR")
	rulesDir   = os.Getenv("E2E_TARGET_RULES_DIR")
	probeImage = os.Getenv("E2E_PROBE_IMG")
)

func TestMain(m *testing.M) {
	if err := connect(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func connect() error {
	if targetDir == "" || rulesDir == "" || probeImage == "" {
		return fmt.Errorf("E2E_TARGET_DIR, E2E_TARGET_RULES_DIR and E2E_PROBE_IMG are not set: run make e2e")
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 100, 200 // the stories look often
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, statev1alpha1.AddToScheme} {
		if err := add(scheme.Scheme); err != nil {
			return err
		}
	}
	if objects, err = client.NewWithWatch(config, client.Options{Scheme: scheme.Scheme}); err != nil {
		return err
	}
	if core, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	return clear(context.Background())
}

// clear removes the namespaces that a killed run left behind.
func clear(ctx context.Context) error {
	list, err := core.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: ours})
	if err != nil {
		return err
	}
	for _, ns := range list.Items {
		if ns.Status.Phase == corev1.NamespaceTerminating {
			continue
		}
		if err := core.CoreV1().Namespaces().Delete(ctx, ns.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return nil
}
