//go:build pprof

package main

import (
	"net/http"
	_ "net/http/pprof"
	"os"
)

// A manager that is built with the tag pprof serves profiles at the address H2SURGE_PPROF.
func init() {
	if address := os.Getenv("H2SURGE_PPROF"); address != "" {
		go func() { _ = http.ListenAndServe(address, nil) }()
	}
}
