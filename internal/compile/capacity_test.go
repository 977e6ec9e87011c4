package compile_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/test/builder"
)

// TestCapacity: streams that cannot hold 1 % of unanswered requests until their timeout are warned of.
func TestCapacity(t *testing.T) {
	for _, tc := range []struct {
		name                 string
		rate                 int64
		connections, streams int32
		timeout              time.Duration
		want                 string
	}{
		{"too few", 60_000, 16, 64, 2 * time.Second, "60000 requests a second leave no free stream as soon as 0.85 % of them are unanswered until their timeout of 2s: all connections together hold 1024 requests, and 1 % unanswered ones take 1200"},
		{"just enough", 60_000, 12, 100, 2 * time.Second, ""},
		{"a short timeout", 60_000, 16, 64, 200 * time.Millisecond, ""},
		{"a low rate", 100, 1, 100, 10 * time.Second, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lt := builder.Minimal("test").Edit(func(s *spec) {
				s.Targets[0].Connections, s.Targets[0].MaxConcurrentStreams = ptr.To(tc.connections), tc.streams
				s.Rates[0].RequestsPerSecond, s.Rates[0].ClosedLoop, s.Rates[0].RequestsPer = ptr.To(tc.rate), nil, nil
				s.Templates[0].Timeout = &metav1.Duration{Duration: tc.timeout}
			}).Build()
			_, warnings, errs := compile.Compile("default/test", &lt.Spec)
			if len(errs) > 0 {
				t.Fatal(compile.ErrorLines(errs))
			}
			got := strings.Join(warnings, "\n")
			if !strings.Contains(got, tc.want) || tc.want == "" && strings.Contains(got, "unanswered") {
				t.Errorf("warnings %q, want %q", got, tc.want)
			}
		})
	}
}
