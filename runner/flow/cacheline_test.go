package flow

import (
	"testing"
	"unsafe"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/cacheline"
)

// TestFlowsShareNoCacheLine checks all that a worker writes for each instance: nothing else may be on its cache lines.
func TestFlowsShareNoCacheLine(t *testing.T) {
	f := newFlow(t, &rv.Plan{Chains: []rv.Chain{{Name: "c", Weight: 1, Steps: []rv.Step{step("a")}}}}, &host{})
	f.Longest(0, true)
	for name, size := range map[string]uintptr{
		"Flow":     unsafe.Sizeof(*f),
		"Instance": unsafe.Sizeof(Instance{}),
		"live":     bytesOf(f.live),
		"queues":   bytesOf(f.waiting[0].all),
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
