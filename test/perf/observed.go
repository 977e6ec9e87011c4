package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// prometheus answers each query with the series of a small service. It runs until the program ends.
var prometheus = sync.OnceValue(func() string {
	var series []string
	for pod := range 4 {
		series = append(series, fmt.Sprintf(`{"metric":{"pod":"shop-%d"},"value":[1,"%d.25"]}`, pod, pod))
	}
	answer := `{"status":"success","data":{"resultType":"vector","result":[` + strings.Join(series, ",") + `]}}`
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(answer))
	})).URL
})

// observedManifest adds so many observations to a manifest.
func observedManifest(manifest string, n int) string {
	if n > 0 {
		manifest += "  observe:\n"
	}
	for i := range n {
		manifest += fmt.Sprintf("    - {name: o%d, unit: Cores, prometheus: {url: %q, query: up, interval: 1s}}\n", i,
			prometheus())
	}
	return manifest
}
