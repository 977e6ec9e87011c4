package runner

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/endpoint"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/test/peer"
)

// exported is a plan whose second target receives the figures of runners, with a token.
func exported(t *testing.T, url string) *rv.Plan {
	t.Helper()
	e, err := endpoint.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := lifeCycle(newPeer(t, 0).address, rv.Rate{Name: "r", Count: 1000, Period: time.Second, Requests: 30})
	plan.Targets = append(plan.Targets, rv.Target{Name: "collector", Protocol: rv.ProtocolHTTP1, Connections: 1, MaxConcurrentStreams: 1,
		ConnectTimeout: time.Second, Connecting: rv.Connecting{OnDemand: true}, Endpoints: []rv.Endpoint{e}, Auth: &rv.Auth{Bearer: &rv.BearerAuth{TokenFile: token}}})
	plan.OTLP = 2
	return plan
}

// exporting makes a runner of a plan.
func exporting(t *testing.T, plan *rv.Plan) *Runner {
	t.Helper()
	r, err := New(plan, Options{NoPin: true, Alone: true, Pod: "life-0"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// exportOf runs a runner to its end, and returns the final snapshot.
func exportOf(t *testing.T, r *Runner) *rv.Snapshot {
	t.Helper()
	if err := r.Update(rv.Update{Revision: 1, Share: split.Whole(r.plan)}); err != nil {
		t.Fatal(err)
	}
	await(t, r, rv.StateReady)
	if err := r.Start(rv.Start{At: rv.Clock()}); err != nil {
		t.Fatal(err)
	}
	<-r.Done()
	final := r.Snapshot()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return final
}

// TestExport: when a snapshot is final, the receiver has its figures, but not before.
func TestExport(t *testing.T) {
	var succeeded int64
	var r *Runner
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path != "/collect/v1/metrics" || q.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%s with %q", q.URL.Path, q.Header.Get("Authorization"))
		}
		z, err := gzip.NewReader(q.Body)
		if err != nil {
			t.Error(err)
			return
		}
		text, err := io.ReadAll(z)
		if err != nil || !strings.Contains(string(text), `"k8s.pod.name","value":{"stringValue":"life-0"}`) || !strings.Contains(string(text), `"default/life/0"`) {
			t.Errorf("%v in %s", err, text)
		}
		succeeded = succeededOf(t, text)
		if got := r.Snapshot().State; got == rv.StateDone {
			t.Errorf("state %s before the receiver has answered", got)
		}
	}))
	defer s.Close()
	r = exporting(t, exported(t, s.URL+"/collect"))
	got := exportOf(t, r)
	if law(t, got); got.State != rv.StateDone || got.Problem != "" || succeeded != 30 || got.Counters.Succeeded != 30 || got.ExportFailure != "" {
		t.Errorf("%s %s, %d of %d exported, %s", got.Problem, got.Message, succeeded, got.Counters.Succeeded, got.ExportFailure)
	}
}

// succeededOf adds up the requests that succeeded in a request of OTLP.
func succeededOf(t *testing.T, text []byte) (sum int64) {
	t.Helper()
	type attribute struct {
		Key   string
		Value struct{ StringValue string }
	}
	var request struct {
		ResourceMetrics []struct {
			ScopeMetrics []struct {
				Metrics []struct {
					Name string
					Sum  struct {
						DataPoints []struct {
							Attributes []attribute
							AsInt      string
						}
					}
				}
			}
		}
	}
	if err := json.Unmarshal(text, &request); err != nil {
		t.Fatal(err)
	}
	for _, m := range request.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		for _, p := range m.Sum.DataPoints {
			if m.Name == "h2surge.requests" && p.Attributes[len(p.Attributes)-1].Value.StringValue == "succeeded" {
				n, err := strconv.ParseInt(p.AsInt, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				sum += n
			}
		}
	}
	return sum
}

// TestExportFails: the run does not need the receiver, and its snapshot says why it did not accept the figures.
func TestExportFails(t *testing.T) {
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer refusing.Close()
	denying := exported(t, "http://localhost:1")
	denying.Policy = &rv.AddressPolicy{Allowed: []rv.AddressRule{{Name: "target", Hosts: []string{"127.0.0.1"}}}}
	for name, tc := range map[string]struct {
		plan *rv.Plan
		want string
	}{
		"refused": {exported(t, refusing.URL), "the receiver answered with status 503"},
		"down":    {exported(t, "http://127.0.0.1:"+peer.Refused(t)), "connection refused"},
		"denied":  {denying, "denies the address by rule: allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			got := exportOf(t, exporting(t, tc.plan))
			if got.Problem != "" || got.Counters.Succeeded != 30 || !strings.Contains(got.ExportFailure, tc.want) {
				t.Errorf("%s %s, %d succeeded, %q", got.Problem, got.Message, got.Counters.Succeeded, got.ExportFailure)
			}
		})
	}
}
