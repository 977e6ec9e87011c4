package loop

import (
	"testing"
	"time"
	"unsafe"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/cacheline"
)

// TestWorkersShareNoCacheLine checks all that a worker writes for each request: nothing else may be on its cache lines.
func TestWorkersShareNoCacheLine(t *testing.T) {
	w := cannedWorker(t, gets(rv.Rate{Name: "r", ClosedLoop: true, Duration: time.Hour}), &canned{clock: 1})
	for name, size := range map[string]uintptr{
		"Worker":          unsafe.Sizeof(*w),
		"Recorder":        unsafe.Sizeof(*w.rec.Recorder),
		"Recorder.Steps":  bytesOf(w.rec.Steps),
		"Recorder.Chains": bytesOf(w.rec.Chains),
		"Recorder.Stages": bytesOf(w.rec.Stages),
	} {
		if size == 0 || !cacheline.Alone(size) {
			t.Errorf("%s has %d bytes, which are not whole cache lines", name, size)
		}
	}
}

func bytesOf[T any](s []T) uintptr {
	var element T
	return uintptr(cap(s)) * unsafe.Sizeof(element)
}
