package compile_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/test/builder"
)

// TestCapacity: streams that cannot hold 1% of unanswered requests until their timeout are warned of.
func TestCapacity(t *testing.T) {
	for _, tc := range []struct {
		name                 string
		rate                 int64
		connections, streams int32
		timeout              time.Duration
		want                 string
	}{
		{"too few", 60_000, 16, 64, 2 * time.Second, "16 connections carry 1024 requests at a time; if 1% of 60000 requests a second get no response within their timeout of 2s, 1200 are open: set connections: 19, or lower the timeout"},
		{"what the message says is enough", 60_000, 19, 64, 2 * time.Second, ""},
		{"one connection", 1000, 1, 4, time.Second, "1 connection carries 4 requests at a time; if 1% of 1000 requests a second get no response within their timeout of 1s, 10 are open: set connections: 3, or lower the timeout"},
		{"just enough", 60_000, 12, 100, 2 * time.Second, ""},
		{"a short timeout", 60_000, 16, 64, 200 * time.Millisecond, ""},
		{"a low rate", 100, 1, 100, 10 * time.Second, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lt := builder.Minimal("test").Edit(func(s *spec) {
				s.Targets[0].Connections, s.Targets[0].MaxConcurrentStreams = ptr.To(tc.connections), tc.streams
				s.Rates[0].RequestsPerSecond, s.Rates[0].ClosedLoop, s.Rates[0].RequestsPer = ptr.To(tc.rate), nil, nil
				s.Templates[0].Timeout = &v1alpha1.Duration{Duration: tc.timeout}
			}).Build()
			_, warnings, errs := compile.Compile("default/test", &lt.Spec)
			if len(errs) > 0 {
				t.Fatal(compile.ErrorLines(errs))
			}
			got := strings.Join(warnings, "\n")
			if !strings.Contains(got, tc.want) || tc.want == "" && strings.Contains(got, "get no response") {
				t.Errorf("warnings %q, want %q", got, tc.want)
			}
		})
	}
}
