package script

import (
	"sync"
	"testing"
)

// TestShared: one compiled script in the Hosts of several workers at a time, for the race detector.
func TestShared(t *testing.T) {
	var scripts []*Script
	for _, source := range []string{compatSource, nativeSource} {
		sc, err := Compile("shared.lua", source)
		if err != nil {
			t.Fatal(err)
		}
		scripts = append(scripts, sc)
	}
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			h, err := NewHost(scripts, Limits{})
			if err != nil {
				t.Error(err)
				return
			}
			defer h.Close()
			for i := range 200 {
				req, res := benchRequest(), benchResponse()
				if err := h.Request(i%2, benchRequest(), res, req, nil); err != nil {
					t.Error(err)
				}
				if ok, err := h.Response(i%2, req, res, nil); !ok || err != nil {
					t.Error(ok, err)
				}
			}
		})
	}
	workers.Wait()
}
