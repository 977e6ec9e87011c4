package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
)

// podServer is an API server that knows one pod.
func podServer(t *testing.T) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api/v1/namespaces/surge/pods/manager-0":
			_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"manager-0","namespace":"surge"},` +
				`"spec":{"containers":[{"name":"proxy","image":"proxy:1"},{"name":"manager","image":"mirror.example/h2surge:7"}]}}`))
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`))
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func TestLoadImage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := "apiVersion: config.h2surge.io/v1alpha1\nkind: OperatorConfig\nrunner: {image: \"file:1\"}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		file, image, pod string
		want, fails      string
	}{
		"the manager's own":        {pod: "manager-0", want: "mirror.example/h2surge:7"},
		"the environment's":        {image: "env:1", pod: "manager-0", want: "env:1"},
		"the file's":               {file: file, image: "env:1", want: "file:1"},
		"not known":                {fails: "runner.image"},
		"the pod is not there":     {pod: "manager-9", fails: "own pod"},
		"the file is not there":    {file: "missing.yaml", image: "env:1", fails: "missing.yaml"},
		"file beats the own image": {file: file, pod: "manager-0", want: "file:1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("H2SURGE_IMAGE", tt.image)
			t.Setenv("POD_NAME", tt.pod)
			t.Setenv("POD_NAMESPACE", "surge")
			cfg, err := load(t.Context(), tt.file, podServer(t))
			switch {
			case tt.fails != "":
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error %v, want one that says %q", err, tt.fails)
				}
			case err != nil:
				t.Fatal(err)
			case cfg.Runner.Image != tt.want || cfg.OperatorNamespace != "surge":
				t.Errorf("image %q in namespace %q, want %q in surge", cfg.Runner.Image, cfg.OperatorNamespace, tt.want)
			}
		})
	}
}

// TestDeployedConfig: what config/manager mounts is what the operator reads.
func TestDeployedConfig(t *testing.T) {
	t.Setenv("H2SURGE_IMAGE", "env:1")
	if _, err := load(t.Context(), filepath.Join("..", "..", "config", "manager", "config.yaml"), nil); err != nil {
		t.Error(err)
	}
}

// syncing is a cache that syncs when synced is closed.
type syncing struct {
	informertest.FakeInformers
	synced chan struct{}
}

func (s *syncing) WaitForCacheSync(context.Context) bool {
	<-s.synced
	return true
}

// TestReady: the operator is ready when its caches have synced.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &syncing{synced: make(chan struct{})}
		mgr, err := ctrl.NewManager(&rest.Config{}, ctrl.Options{
			NewCache: func(*rest.Config, cache.Options) (cache.Cache, error) { return c, nil },
			Metrics:  metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		})
		if err != nil {
			t.Fatal(err)
		}
		var r ready
		if err := mgr.Add(&r); err != nil {
			t.Fatal(err)
		}
		go func() { _ = mgr.Start(t.Context()) }()
		synctest.Wait()
		if r.check(nil) == nil {
			t.Error("the operator is ready before its caches have synced")
		}
		close(c.synced)
		synctest.Wait()
		if err := r.check(nil); err != nil {
			t.Error(err)
		}
	})
}

// TestConfigurationIsLogged: all of it, and not only what it is called.
func TestConfigurationIsLogged(t *testing.T) {
	var out strings.Builder
	cfg := &configv1alpha1.OperatorConfig{Runner: configv1alpha1.Runner{Image: "h2surge:7"}}
	logger(configv1alpha1.Logging{Level: "info"}, &out).Info("Starting", "config", document(cfg))
	if got := out.String(); !strings.Contains(got, `"image":"h2surge:7"`) || strings.Contains(got, "Error") {
		t.Errorf("logged %s", got)
	}
}

// TestLogFormat: the names and the time are those of a runner's log, which log/slog writes.
func TestLogFormat(t *testing.T) {
	var operator, runner strings.Builder
	logger(configv1alpha1.Logging{Level: "info"}, &operator).Info("Started", "note", "it runs")
	slog.New(slog.NewJSONHandler(&runner, nil)).Info("Started", "note", "it runs")
	var a, b map[string]any
	if err := errors.Join(json.Unmarshal([]byte(operator.String()), &a), json.Unmarshal([]byte(runner.String()), &b)); err != nil {
		t.Fatal(err)
	}
	for _, line := range []map[string]any{a, b} {
		text, _ := line["time"].(string)
		if _, err := time.Parse(time.RFC3339Nano, text); err != nil {
			t.Error(err)
		}
		delete(line, "time")
	}
	if diff := cmp.Diff(b, a); diff != "" {
		t.Errorf("(-runner +operator):\n%s", diff)
	}
}

func TestMemorySettings(t *testing.T) {
	for name, tc := range map[string]struct {
		env     map[string]string
		percent int
		limit   int64
	}{
		"nothing is set":          {nil, gcPercent, -1},
		"a container":             {map[string]string{"H2SURGE_MEMORY_LIMIT": "1000000000"}, gcPercent, 900_000_000},
		"no number":               {map[string]string{"H2SURGE_MEMORY_LIMIT": "1Gi"}, gcPercent, -1},
		"Go's variables are kept": {map[string]string{"H2SURGE_MEMORY_LIMIT": "1000", "GOGC": "100", "GOMEMLIMIT": "2GiB"}, -1, -1},
	} {
		if percent, limit := memorySettings(func(k string) string { return tc.env[k] }); percent != tc.percent || limit != tc.limit {
			t.Errorf("%s: %d, %d; want %d, %d", name, percent, limit, tc.percent, tc.limit)
		}
	}
}
