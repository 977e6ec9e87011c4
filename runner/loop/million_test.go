//go:build !race

package loop

import "testing"

// TestAMillionEvents is TestRandomLifecycles with other seeds and more of them.
func TestAMillionEvents(t *testing.T) {
	atLeast := 1_000_000
	if testing.Short() {
		atLeast = 50_000
	}
	storms(t, 1_000_000, atLeast)
}
