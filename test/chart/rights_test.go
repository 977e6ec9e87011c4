//go:build chart

package chart

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers"
	"github.com/h2surge/h2surge/test/builder"
)

// The operator, as the ServiceAccount and with the configuration that the chart installs, leads and
// takes a LoadTest as far as an API server without nodes lets it: to its Job, and after a stop to its end, with which
// Job and Secret go. With watchNamespaces it does so in those namespaces only, without rights elsewhere.
func TestOperatorHasItsRights(t *testing.T) {
	c := startCluster(t)
	for _, tc := range []struct {
		name, values string
		elsewhere    bool
	}{
		{"cluster", "", true},
		{"namespaced", "{watchNamespaces: [rights-namespaced-a, rights-namespaced-b], metrics: {secure: false}}", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			own, a, b, other := "rights-"+tc.name, "rights-"+tc.name+"-a", "rights-"+tc.name+"-b", "rights-"+tc.name+"-other"
			c.namespace(t, own, a, b, other)
			c.install(t, own, tc.values)
			c.operate(t, own)
			for _, ns := range []string{other, a, b} {
				if err := c.Create(t.Context(), builder.Minimal("test").Namespace(ns).Build()); err != nil {
					t.Fatal(err)
				}
			}
			for _, ns := range []string{a, b} {
				eventually(t, "a Job in "+ns, func(ctx context.Context) bool { return c.jobs(ctx, t, ns) == 1 })
			}
			if tc.elsewhere {
				eventually(t, "a Job elsewhere", func(ctx context.Context) bool { return c.jobs(ctx, t, other) == 1 })
			} else if lt := (&v1alpha1.LoadTest{}); c.get(t, lt, other, "test") != nil || lt.Status.Phase != "" {
				t.Errorf("elsewhere the LoadTest is %q", lt.Status.Phase)
			}
			for _, ns := range []string{a, b} {
				if n := c.secrets(t.Context(), t, ns); n != 1 {
					t.Errorf("%d Secrets of a test in %s", n, ns)
				}
				c.stop(t, ns, "test")
				eventually(t, "the end in "+ns, func(ctx context.Context) bool { return c.jobs(ctx, t, ns)+c.secrets(ctx, t, ns) == 0 })
			}
		})
	}
}

// TestRightsForSecureMetrics: with watchNamespaces, the operator can ask the API server about clients of its metrics and has no other
// right outside its namespaces; a reader can get /metrics.
func TestRightsForSecureMetrics(t *testing.T) {
	c := startCluster(t)
	c.namespace(t, "secure", "secure-a", "secure-other")
	c.install(t, "secure", "{watchNamespaces: [secure-a], metrics: {readers: [{namespace: secure-other, name: prometheus}]}}")
	const operator, reader = "system:serviceaccount:secure:h2surge-controller-manager", "system:serviceaccount:secure-other:prometheus"
	review := func(group, resource, verb, namespace string) *authorizationv1.ResourceAttributes {
		return &authorizationv1.ResourceAttributes{Group: group, Resource: resource, Verb: verb, Namespace: namespace}
	}
	for _, tc := range []struct {
		name string
		spec authorizationv1.SubjectAccessReviewSpec
		want bool
	}{
		{"authenticate", authorizationv1.SubjectAccessReviewSpec{User: operator, ResourceAttributes: review("authentication.k8s.io", "tokenreviews", "create", "")}, true},
		{"authorize", authorizationv1.SubjectAccessReviewSpec{User: operator, ResourceAttributes: review("authorization.k8s.io", "subjectaccessreviews", "create", "")}, true},
		{"own namespace", authorizationv1.SubjectAccessReviewSpec{User: operator, ResourceAttributes: review("h2surge.io", "loadtests", "list", "secure-a")}, true},
		{"other namespace", authorizationv1.SubjectAccessReviewSpec{User: operator, ResourceAttributes: review("h2surge.io", "loadtests", "list", "secure-other")}, false},
		{"nodes", authorizationv1.SubjectAccessReviewSpec{User: operator, ResourceAttributes: review("", "nodes", "list", "")}, false},
		{"reader", authorizationv1.SubjectAccessReviewSpec{User: reader, NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"}}, true},
	} {
		// The API server learns of new roles and bindings a little later.
		eventually(t, fmt.Sprintf("%s: allowed is %t", tc.name, tc.want), func(ctx context.Context) bool {
			sar := &authorizationv1.SubjectAccessReview{Spec: tc.spec}
			return c.Create(ctx, sar) == nil && sar.Status.Allowed == tc.want
		})
	}
}

func (c *cluster) jobs(ctx context.Context, t *testing.T, namespace string) int {
	t.Helper()
	list := &batchv1.JobList{}
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		t.Error(err)
	}
	return len(list.Items)
}

func (c *cluster) secrets(ctx context.Context, t *testing.T, namespace string) int {
	t.Helper()
	list := &corev1.SecretList{}
	if err := c.List(ctx, list, client.InNamespace(namespace), client.HasLabels{"h2surge.io/loadtest"}); err != nil {
		t.Error(err)
	}
	return len(list.Items)
}

func (c *cluster) stop(t *testing.T, namespace, name string) {
	t.Helper()
	lt := &v1alpha1.LoadTest{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := c.Patch(t.Context(), lt, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"stop":true}}`))); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) install(t *testing.T, namespace, values string) {
	t.Helper()
	// The CRD may be there, kept by another installation.
	args := []string{"install", release, chartDir, "--namespace", namespace, "--take-ownership"}
	if values != "" {
		args = append(args, "--values", valuesOf(t, values))
	}
	c.helm(t, args...)
	t.Cleanup(func() { c.helm(t, "uninstall", release, "--namespace", namespace) })
	eventually(t, "the CRD is served", func(ctx context.Context) bool { return c.List(ctx, &v1alpha1.LoadTestList{}) == nil })
}

// operate runs the operator as if in its pod, until the test ends.
func (c *cluster) operate(t *testing.T, namespace string) {
	t.Helper()
	installed := &corev1.ConfigMap{}
	if err := c.get(t, installed, namespace, "h2surge-config"); err != nil {
		t.Fatal(err)
	}
	cfg, err := configv1alpha1.Load([]byte(installed.Data["config.yaml"]), configv1alpha1.Environment{Image: "h2surge:dev", Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Metrics.BindAddress, cfg.Health.BindAddress = "0", "0" // ports of this machine
	options := controllers.ManagerOptions(cfg, filters.WithAuthenticationAndAuthorization)
	options.Logger = logr.Discard()
	options.Controller.SkipNameValidation = ptr.To(true) // one after another
	as := rest.CopyConfig(c.config)
	as.Impersonate.UserName = fmt.Sprintf("system:serviceaccount:%s:h2surge-controller-manager", namespace)
	as.Impersonate.Groups = []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
	for _, ns := range cfg.Namespaces {
		// The API server learns of new roles and bindings a little later.
		eventually(t, "the permission in "+ns, func(ctx context.Context) bool {
			reader, err := client.New(as, client.Options{Scheme: options.Scheme})
			return err == nil && reader.List(ctx, &v1alpha1.LoadTestList{}, client.InNamespace(ns)) == nil
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	mgr, leader, err := controllers.NewManager(ctx, as, cfg, options)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	if err := controllers.Setup(ctx, mgr, cfg, controllers.Options{Leader: leader}); err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the operator: %v", err)
		}
	})
}
