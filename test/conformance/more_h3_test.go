//go:build conformance && more

package conformance

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// startQuinn starts the server of quinn and h3.
func startQuinn(t *testing.T, s *site) (count func() string) {
	t.Helper()
	s.run(t, "quinn-h3", exec.Command("../../bin/rust/release/quinn-h3", fmt.Sprint(s.ports[0]), s.cert, s.key, s.dir+"/count"))
	return s.awaitHTTP3(t)
}

// TestMoreHTTP3Servers: a server in another language counts as that of TestAioquic does.
func TestMoreHTTP3Servers(t *testing.T) {
	t.Run("quinn", func(t *testing.T) { runHTTP3Server(t, startQuinn) })
}

// TestMoreEarlyData: a server that sends Retry gets early data, too.
func TestMoreEarlyData(t *testing.T) {
	s := newSite(t, time.Now().Add(time.Hour))
	count := startQuinn(t, s)
	p := s.through(door{rv.ProtocolH3, true, s.ports[0]}, 285)
	target := &p.Targets[0]
	target.Connections, target.Connecting.MaxRequests = 1, 30
	target.TLS.SessionResumption, target.TLS.EarlyData = true, rv.EarlySafe
	got := mustExecute(t, p).Counters
	if got.Sent != 285 || got.Succeeded != 285 || count() != "285" || got.Connects != 10 {
		t.Errorf("%+v; the server has %s requests", got, count())
	}
	if got.EarlyData == 0 || got.Resumed < got.EarlyData {
		t.Errorf("%d connections resumed a session, %d with early data", got.Resumed, got.EarlyData)
	}
	t.Logf("%d connections with early data, %s requests as early data", got.EarlyData, read(t, s.dir+"/count.early"))
}
