package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubeconfigs that sign in by OpenID Connect
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// FieldOwner is the name under which objects are applied and changed.
const FieldOwner = "kubectl-h2surge"

// requestTimeout bounds each request: a request without an answer is reported and sent again.
const requestTimeout = 10 * time.Second

// Options are the flags that select cluster and namespace. For empty ones, the rules of kubectl apply: $KUBECONFIG,
// ~/.kube/config, else the cluster in which this process runs.
type Options struct {
	Kubeconfig, Context, Namespace string
	// Warnings receives the warnings of the API server.
	Warnings io.Writer
}

// Cluster is one namespace of a cluster.
type Cluster struct {
	client    client.Client
	Namespace string
	// strict: a flag selects the namespace, so objects of a manifest must not have another one.
	strict bool
}

// New returns a namespace of the cluster of a client. If it is strict, Place refuses objects of other namespaces.
func New(c client.Client, namespace string, strict bool) *Cluster {
	return &Cluster{client: c, Namespace: namespace, strict: strict}
}

// Connect reads the kubeconfig. It sends no request.
func Connect(o Options) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.Context}
	overrides.Context.Namespace = o.Namespace
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loaded.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		if err := missing(rules.Precedence); err != nil {
			return nil, fmt.Errorf("kubeconfig: %w", err)
		}
		return nil, errors.New("no cluster is configured; set --kubeconfig or $KUBECONFIG")
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	namespace, _, err := loaded.Namespace()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	config.UserAgent = FieldOwner
	config.Timeout = requestTimeout
	config.WarningHandler = rest.NewWarningWriter(o.Warnings, rest.WarningWriterOptions{Deduplicate: true})
	c, err := client.New(config, client.Options{Scheme: Scheme(), Mapper: mapper()})
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return New(c, namespace, o.Namespace != ""), nil
}

// missing returns the error of a file that $KUBECONFIG names and that does not exist.
func missing(files []string) error {
	if os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		return nil // files has the default, ~/.kube/config
	}
	for _, name := range files {
		if _, err := os.Stat(name); err != nil {
			return err
		}
	}
	return nil
}

// Scheme has the kinds that this package reads and writes.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err) // two types of one kind, which no input can bring about
		}
	}
	return s
}

// mapper returns a mapper of the kinds of Scheme, so that no discovery is needed.
func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(v1alpha1.GroupVersion.WithKind("LoadTest"), meta.RESTScopeNamespace)
	m.Add(v1alpha1.GroupVersion.WithKind("LoadTestSchedule"), meta.RESTScopeNamespace)
	m.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	m.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	return m
}

func (c *Cluster) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: c.Namespace, Name: name}
}

// Get fetches a LoadTest.
func (c *Cluster) Get(ctx context.Context, name string) (*v1alpha1.LoadTest, error) {
	lt := &v1alpha1.LoadTest{}
	if err := c.client.Get(ctx, c.key(name), lt); err != nil {
		return nil, c.explain(err)
	}
	return lt, nil
}

// explain replaces a "not found" error that is not about an object: it means that the API server does not know the
// kind.
func (c *Cluster) explain(err error) error {
	if apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return fmt.Errorf("the cluster has no kind LoadTest; install the h2surge operator first (%w)", err)
	}
	return err
}
