// Command manager is the operator: it runs LoadTests of a cluster on runner pods.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"

	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	"github.com/h2surge/h2surge/controllers"
	"github.com/h2surge/h2surge/internal/version"
)

func main() {
	config := flag.String("config", "",
		"`file` with an OperatorConfig (config.h2surge.io/v1alpha1); default: the defaults of all fields")
	flag.Parse() // --kubeconfig comes with controller-runtime
	if err := run(ctrl.SetupSignalHandler(), *config); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

// document is a configuration to be logged whole: of an API object the logger writes the name only.
func document(cfg *configv1alpha1.OperatorConfig) json.RawMessage {
	b, err := json.Marshal(cfg)
	if err != nil { // it was read from such a document
		return nil
	}
	return b
}

const (
	// gcPercent makes the collector run more often than by default, which is 100. A collection takes some milliseconds of
	// CPU, and the memory of an operator with thousands of shards is a third less.
	gcPercent = 40
	// memoryPercent is the part of the container's memory limit from which on the collector runs more often.
	memoryPercent = 90
)

// memorySettings returns the arguments of debug.SetGCPercent and debug.SetMemoryLimit. The variables of Go's runtime
// take precedence; a negative number keeps what they say. H2SURGE_MEMORY_LIMIT is the memory limit of the container in
// bytes.
func memorySettings(env func(string) string) (percent int, limit int64) {
	percent, limit = -1, -1
	if env("GOGC") == "" {
		percent = gcPercent
	}
	if n, err := strconv.ParseInt(env("H2SURGE_MEMORY_LIMIT"), 10, 64); err == nil && n > 0 && env("GOMEMLIMIT") == "" {
		limit = n / 100 * memoryPercent
	}
	return percent, limit
}

// run is the whole life of the operator.
func run(ctx context.Context, configFile string) error {
	percent, limit := memorySettings(os.Getenv)
	if percent >= 0 {
		debug.SetGCPercent(percent)
	}
	debug.SetMemoryLimit(limit)
	kube, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the API server: %w", err)
	}
	cfg, err := load(ctx, configFile, kube)
	if err != nil {
		return err
	}
	ctrl.SetLogger(logger(cfg.Logging, os.Stderr))
	klog.SetLogger(ctrl.Log.WithName("client-go"))
	log := ctrl.Log.WithName("manager")
	log.Info("Starting the operator", "version", version.Get().String(), "config", document(cfg))

	mgr, leader, err := controllers.NewManager(ctx, kube, cfg, controllers.ManagerOptions(cfg,
		filters.WithAuthenticationAndAuthorization))
	if err != nil {
		return err
	}
	if err := controllers.Setup(ctx, mgr, cfg, controllers.Options{Leader: leader}); err != nil {
		return err
	}
	// It succeeds while the API server does not answer: after a restart, the operator could not poll the runners.
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	caches := &ready{}
	if err := mgr.Add(caches); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("caches", caches.check); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// load reads the configuration. The image of runners is that of the operator, unless the file or H2SURGE_IMAGE
// names another one.
func load(ctx context.Context, file string, kube *rest.Config) (*configv1alpha1.OperatorConfig, error) {
	var data []byte
	if file != "" {
		var err error
		if data, err = os.ReadFile(file); err != nil {
			return nil, fmt.Errorf("reading the configuration: %w", err)
		}
	}
	env := configv1alpha1.Environment{Image: os.Getenv("H2SURGE_IMAGE"), Namespace: os.Getenv("POD_NAMESPACE")}
	if pod := os.Getenv("POD_NAME"); env.Image == "" && pod != "" {
		image, err := ownImage(ctx, kube, types.NamespacedName{Namespace: env.Namespace, Name: pod})
		if err != nil {
			return nil, err
		}
		env.Image = image
	}
	return configv1alpha1.Load(data, env)
}

// container is the name of the manager's container in config/manager.
const container = "manager"

// ownImage asks for the pod that this process runs in. An environment variable with the image
// would have to be kept in step by every tool that changes images in manifests.
func ownImage(ctx context.Context, kube *rest.Config, key types.NamespacedName) (string, error) {
	c, err := corev1.NewForConfig(kube)
	if err != nil {
		return "", fmt.Errorf("finding the API server: %w", err)
	}
	pod, err := c.Pods(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading the manager's own pod: %w", err)
	}
	for _, c := range pod.Spec.Containers {
		if c.Name == container {
			return c.Image, nil
		}
	}
	return "", fmt.Errorf("pod %s has no container named %s", key, container)
}

// logger writes the names and the times of the runners' log, so that both can be read together.
func logger(cfg configv1alpha1.Logging, to io.Writer) logr.Logger {
	sameAsRunners := func(c *zapcore.EncoderConfig) {
		c.TimeKey, c.EncodeTime, c.EncodeLevel = "time", zapcore.RFC3339NanoTimeEncoder, zapcore.CapitalLevelEncoder
	}
	levels := map[string]zapcore.Level{"debug": zapcore.DebugLevel, "info": zapcore.InfoLevel, "error": zapcore.ErrorLevel}
	opts := []zap.Opts{zap.WriteTo(to), zap.Level(levels[cfg.Level]), zap.StacktraceLevel(zapcore.PanicLevel)}
	if cfg.Format == "text" {
		opts = append(opts, zap.ConsoleEncoder(sameAsRunners))
	} else {
		opts = append(opts, zap.JSONEncoder(sameAsRunners))
	}
	return zap.New(opts...)
}
