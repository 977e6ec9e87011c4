package mock

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"

	"github.com/h2surge/h2surge/runner/cpu"
)

// StatsHandler serves GET /stats, which is Stats as JSON, GET /metrics in the text format of Prometheus, and POST
// /reset, which sets the counts to zero and keeps the resources. It may be used while Serve runs and after.
func (s *Server) StatsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		_ = enc.Encode(s.Stats()) // fails only if the client has closed its connection
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		n := s.Stats()
		for _, m := range []struct {
			name, kind string
			value      any
		}{
			{"process_cpu_seconds_total", "counter", cpu.SelfSeconds()},
			{"go_goroutines", "gauge", runtime.NumGoroutine()},
			{"h2surge_target_requests_total", "counter", n.Requests},
			{"h2surge_target_open_connections", "gauge", n.OpenConnections},
		} {
			_, _ = fmt.Fprintf(w, "# TYPE %s %s\n%[1]s %[3]v\n", m.name, m.kind, m.value)
		}
	})
	mux.HandleFunc("POST /reset", func(w http.ResponseWriter, _ *http.Request) {
		s.Reset()
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}
