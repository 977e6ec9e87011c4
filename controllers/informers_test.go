package controllers

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
)

// TestInformers: each kind that the operator watches has an informer before the manager starts, so the caches of a
// replica that does not lead yet sync only if it may list all of them.
func TestInformers(t *testing.T) {
	cfg := &configv1alpha1.OperatorConfig{}
	cfg.SetDefaults(configv1alpha1.Environment{Image: "h2surge:test"})
	cfg.LeaderElection.Enabled, cfg.Metrics.BindAddress, cfg.Health.BindAddress = ptr.To(false), "0", "0"
	var got []string
	opts := ManagerOptions(cfg, nil)
	opts.Metrics.FilterProvider, opts.Controller.SkipNameValidation, opts.Logger = nil, ptr.To(true), logr.Discard()
	opts.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
		out := meta.NewDefaultRESTMapper(nil)
		for kind := range opts.Scheme.AllKnownTypes() {
			out.Add(kind, meta.RESTScopeNamespace)
		}
		return out, nil
	}
	opts.Cache.NewInformer = func(lw clientcache.ListerWatcher, o runtime.Object, resync time.Duration,
		indexers clientcache.Indexers) clientcache.SharedIndexInformer {
		got = append(got, fmt.Sprintf("%T", o))
		return clientcache.NewSharedIndexInformer(lw, o, resync, indexers)
	}
	mgr, _, err := NewManager(t.Context(), &rest.Config{Host: "http://127.0.0.1:1"}, cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := Setup(t.Context(), mgr, cfg, Options{}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	want := []string{"*v1.Job", "*v1.PartialObjectMetadata", "*v1.Pod", "*v1alpha1.LoadTest", "*v1alpha1.LoadTestLock",
		"*v1alpha1.LoadTestSchedule"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
