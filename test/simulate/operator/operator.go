// Package operator runs replicas of the real operator in a bubble of testing/synctest.
package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers"
	"github.com/h2surge/h2surge/controllers/loadtest"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/test/simulate/apiserver"
)

// The second of the default handlers sleeps since the last error of another clock, which a bubble does not have: for
// years. klog has goroutines outside of the bubble.
func init() {
	utilruntime.ErrorHandlers = nil
	klog.SetLogger(logr.Discard())
}

// Replica is a process of the operator.
type Replica struct {
	// API is its way to the API server.
	API *apiserver.Client
	// Leader knows whether it leads.
	Leader loadtest.Leader
	// Elected is closed when it begins to lead.
	Elected <-chan struct{}
	// Ended is closed when the process ended, with Err.
	Ended <-chan struct{}
	Err   error

	stop context.CancelFunc
}

// Config returns a configuration with the defaults, and without servers for metrics and health.
func Config() *configv1alpha1.OperatorConfig {
	cfg := &configv1alpha1.OperatorConfig{}
	cfg.SetDefaults(configv1alpha1.Environment{Image: "h2surge:dev", Namespace: "h2surge-system"})
	cfg.Metrics.BindAddress, cfg.Metrics.Secure, cfg.Health.BindAddress = "0", ptr.To(false), "0"
	return cfg
}

// Scheme has the kinds of the operator.
func Scheme() *runtime.Scheme { return controllers.ManagerOptions(Config(), nil).Scheme }

// Start starts a replica. Its opts.Leader is that of the election.
func Start(s *apiserver.Server, name string, cfg *configv1alpha1.OperatorConfig, opts controllers.Options,
	log logr.Logger) (*Replica, error) {
	options := controllers.ManagerOptions(cfg, nil)
	options.Controller.SkipNameValidation = ptr.To(true)
	options.Logger = log
	options.Cache.NewInformer = apiserver.NewInformer
	options.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return s.Mapper(), nil }
	ctx, stop := context.WithCancel(context.Background())
	r := &Replica{API: s.Client(name), stop: stop}
	mgr, leader, err := controllers.NewManager(ctx, r.API.Config(), cfg, options)
	if err != nil {
		stop()
		return nil, fmt.Errorf("creating the manager of %s: %w", name, err)
	}
	r.Leader, opts.Leader, r.Elected = leader, leader, mgr.Elected()
	if err := controllers.Setup(ctx, mgr, cfg, opts); err != nil {
		stop()
		return nil, err
	}
	r.run(ctx, mgr)
	return r, nil
}

func (r *Replica) run(ctx context.Context, mgr ctrl.Manager) {
	ended := make(chan struct{})
	r.Ended = ended
	go func() {
		defer close(ended)
		r.Err = mgr.Start(ctx)
		r.stop()
	}()
}

// Stop ends the process with SIGTERM, and waits for its end.
func (r *Replica) Stop() {
	r.stop()
	<-r.Ended
}

// Kill ends the process with SIGKILL: it writes nothing more.
func (r *Replica) Kill() {
	r.API.Set(apiserver.Down)
	r.Stop()
}

// Validate is for Server.Admit: it refuses LoadTests that the CRD refuses. It does not know the rules that compare with
// the earlier version.
func Validate(before, after client.Object) error {
	lt, ok := after.(*v1alpha1.LoadTest)
	if was, _ := before.(*v1alpha1.LoadTest); !ok || was != nil && equality.Semantic.DeepEqual(was.Spec, lt.Spec) {
		return nil
	}
	raw, err := json.Marshal(&v1alpha1.LoadTest{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(),
		Kind: "LoadTest"}, ObjectMeta: metav1.ObjectMeta{Name: lt.Name}, Spec: lt.Spec})
	if err != nil {
		return err
	}
	_, err = compile.Load(bytes.NewReader(raw))
	if wrong := new(compile.ManifestError); errors.As(err, &wrong) {
		return apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("LoadTest").GroupKind(), lt.Name, wrong.Errors)
	}
	return err
}
