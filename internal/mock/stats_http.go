package mock

import (
	"encoding/json"
	"net/http"
)

// StatsHandler serves GET /stats, which is Stats as JSON, and POST /reset, which sets the counts
// to zero and keeps the resources. It may be used while Serve runs and after.
func (s *Server) StatsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		_ = enc.Encode(s.Stats()) // fails only if the client has closed its connection
	})
	mux.HandleFunc("POST /reset", func(w http.ResponseWriter, _ *http.Request) {
		s.Reset()
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}
