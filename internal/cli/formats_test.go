package cli

import (
	"regexp"
	"strings"
	"testing"
)

// TestFormatsForScripts: run has the format of h2load and the histogram.
func TestFormatsForScripts(t *testing.T) {
	if got := h2surge(t, newFakeEngine(answered(100, 0, 1000)), nil, "run", "-f", "-", "-o", "h2load"); !strings.Contains(got.out, "\nrequests: 100 total, 100 started, 100 done, 100 succeeded, 0 failed, 0 errored, 0 timeout\n") {
		t.Errorf("%s%s", got.out, got.errors)
	}
	got := h2surge(t, newFakeEngine(answered(100, 0, 1000)), nil, "run", "-f", "-", "--histogram")
	if !regexp.MustCompile(`(?m)^ +1\.00ms +100 +100\.00% +100\.00% \|#{40}$`).MatchString(got.out) {
		t.Errorf("%s%s", got.out, got.errors)
	}
	got = h2surge(t, newFakeEngine(nil), nil, "run", "-f", "-", "--histogram")
	if !strings.Contains(got.out, "nothing was measured") {
		t.Errorf("%s%s", got.out, got.errors)
	}
}
