//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/h2surge/h2surge/internal/mock"
)

// recording makes a target write each request into its log: for tests of some thousand requests,
// since the kubelet rotates logs.
var recording = []string{"--record", "/dev/stdout"}

// record is all that a recording target has received.
func (s *story) record() []mock.Recorded {
	s.Helper()
	var out []mock.Recorded
	s.eventually(short, func() string {
		out = s.recorded()
		if want := s.stats().Requests; uint64(len(out)) != want {
			return fmt.Sprintf("the target's log has %d requests, it has received %d", len(out), want)
		}
		return ""
	})
	return out
}

func (s *story) recorded() (out []mock.Recorded) {
	s.Helper()
	for line := range strings.Lines(s.mustKubectl("", "logs", "deployment/target", "--tail=-1")) {
		if !strings.HasPrefix(line, "{") {
			continue // where it listens
		}
		var r mock.Recorded
		if json.Unmarshal([]byte(line), &r) == nil { // the last line may be there in part only
			out = append(out, r)
		}
	}
	return out
}

// field is the first header field of that name; "" when there is none.
func field(r mock.Recorded, name string) string {
	for _, h := range r.Headers {
		if h[0] == name {
			return h[1]
		}
	}
	return ""
}
