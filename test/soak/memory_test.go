//go:build soak

package soak

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

// resident is the memory of a process, in bytes.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	var size, pages int64
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(b), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

func median(samples []int64) int64 {
	slices.Sort(samples)
	return samples[len(samples)/2]
}
