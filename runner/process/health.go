package process

import (
	"io"
	"log/slog"
	"net/http"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// newMetricsServer serves what needs no authentication: metrics, liveness and readiness.
func newMetricsServer(snapshot func() *rv.Snapshot, metrics http.Handler, log *slog.Logger) *http.Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if s := snapshot(); !ready(s) {
			http.Error(w, "not ready: "+string(s.State), http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	return &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    8 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// ready reports whether all connections are open and setup is done. A runner whose plan was rejected, whose setup
// failed, or whose target the policy denies, is done but was never ready.
func ready(s *rv.Snapshot) bool {
	switch s.State {
	case rv.StateReady, rv.StateRunning, rv.StateDraining, rv.StateDrained, rv.StateTearingDown:
		return true
	case rv.StateDone:
		return s.Problem != rv.ProblemPlan && s.Problem != rv.ProblemSetup && s.Problem != rv.ProblemPolicy
	}
	return false
}
