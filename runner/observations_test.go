package runner

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/endpoint"
	"github.com/h2surge/h2surge/internal/load/split"
)

// prometheus is a server that answers each query. It counts them.
type prometheus struct {
	*httptest.Server
	queries atomic.Int64
}

func newPrometheus(t *testing.T, status int, body string) *prometheus {
	t.Helper()
	p := &prometheus{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.queries.Add(1)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(p.Close)
	return p
}

// observed is a plan with an observation.
func observed(t *testing.T, p *prometheus, rates ...rv.Rate) *rv.Plan {
	t.Helper()
	e, err := endpoint.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	plan := lifeCycle(newPeer(t, 0).address, rates...)
	plan.Observe = []rv.Observation{{Name: "cpu", Unit: "Cores", Endpoint: &e, Query: "up", Interval: 50 * time.Millisecond}}
	return plan
}

const upIsOne = `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"pod":"a"},"value":[1,"1"]}]}}`

// TestObservations: the runner reads from the start to the end of the load, and its snapshots have what it read.
func TestObservations(t *testing.T) {
	plan := observed(t, newPrometheus(t, 200, upIsOne), rv.Rate{Name: "r", Count: 100, Period: time.Second, Duration: 300 * time.Millisecond})
	s := completeRun(t, plan, 1)
	law(t, s)
	if len(s.Observations) != 1 || len(s.Observations[0].Series) != 1 {
		t.Fatalf("observations %+v", s.Observations)
	}
	// The runner leaves out the read at the start if it is busy then.
	series, interval := s.Observations[0].Series[0], plan.Observe[0].Interval.Milliseconds()
	if series.Label != "pod=a" || len(series.Points) < 1 || series.Points[0].At%interval != 0 || series.Points[0].Mean != 1 {
		t.Errorf("series %+v", series)
	}
}

// TestObservationsOfAPause: samples of a load that is suspended say so, those after it do not.
func TestObservationsOfAPause(t *testing.T) {
	plan := observed(t, newPrometheus(t, 200, upIsOne), rv.Rate{Name: "r", Count: 100, Period: time.Second, Duration: time.Hour})
	r, err := New(plan, Options{NoPin: true, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // never fails
	share := split.Whole(plan)
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	// reads waits for a sample of a load that is suspended, or of one that is not.
	reads := func(suspended bool) {
		t.Helper()
		if !eventually(func() bool {
			got := r.Snapshot().Observations
			return len(got[0].Series) > 0 && slices.ContainsFunc(got[0].Series[0].Points, func(p rv.Point) bool { return p.Suspended == suspended })
		}) {
			t.Fatalf("no sample with suspended %t", suspended)
		}
	}
	must(r.Update(rv.Update{Revision: 1, Share: share, Suspended: true}))
	await(t, r, rv.StateReady)
	must(r.Start(rv.Start{At: rv.Clock()}))
	reads(true)
	must(r.Update(rv.Update{Revision: 2, Share: share}))
	reads(false)
}

// TestBadQuery: a query that the server cannot execute ends the run before the load, with the message of the server.
func TestBadQuery(t *testing.T) {
	p := newPrometheus(t, 400, `{"status":"error","errorType":"bad_data","error":"1:3: parse error: unexpected end"}`)
	r, err := New(observed(t, p, rv.Rate{Name: "r", Count: 1, Period: time.Second, Duration: time.Second}), Options{NoPin: true, Alone: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // never fails
	if err := r.Update(rv.Update{Revision: 1, Share: split.Whole(r.plan)}); err != nil {
		t.Fatal(err)
	}
	<-r.Done()
	s := r.Snapshot()
	if want := "spec.observe[0].prometheus.query: the server answered: 1:3: parse error"; s.Problem != rv.ProblemPlan || !strings.HasPrefix(s.Message, want) || s.Counters.Sent > 0 {
		t.Errorf("%s: %s, %d requests sent", s.Problem, s.Message, s.Counters.Sent)
	}
}

// TestNoPrometheus: the run does not need the server.
func TestNoPrometheus(t *testing.T) {
	p := newPrometheus(t, 200, "")
	plan := observed(t, p, rv.Rate{Name: "r", Count: 100, Period: time.Second, Duration: 200 * time.Millisecond})
	p.Close()
	s := completeRun(t, plan, 1)
	if s.Problem != "" || s.Counters.Succeeded == 0 || len(s.Observations[0].Gaps) == 0 {
		t.Errorf("%s %s, %d requests succeeded, %+v", s.Problem, s.Message, s.Counters.Succeeded, s.Observations)
	}
	for _, gap := range s.Observations[0].Gaps {
		if !strings.Contains(gap.Cause, "connection refused") {
			t.Errorf("cause %q", gap.Cause)
		}
	}
}

// TestOneRunnerObserves: only the runner that runs setup and teardown reads, unless the operator says otherwise.
func TestOneRunnerObserves(t *testing.T) {
	for _, tc := range []struct {
		once    bool
		ordered string
		want    bool
	}{{true, "", true}, {false, "", false}, {true, "no", false}, {false, "yes", true}} {
		t.Run(fmt.Sprint(tc), func(t *testing.T) {
			p := newPrometheus(t, 200, upIsOne)
			plan := observed(t, p, rv.Rate{Name: "r", Count: 100, Period: time.Second, Duration: 200 * time.Millisecond})
			share := split.Whole(plan)
			share.Once = tc.once
			r, err := New(plan, Options{NoPin: true})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close() //nolint:errcheck // never fails
			if tc.ordered != "" {
				r.Observe(tc.ordered == "yes")
			}
			if err := r.Update(rv.Update{Revision: 1, Share: share}); err != nil {
				t.Fatal(err)
			}
			await(t, r, rv.StateReady)
			checks := p.queries.Load()
			if err := r.Start(rv.Start{At: rv.Clock()}); err != nil {
				t.Fatal(err)
			}
			<-r.Done()
			if read := p.queries.Load() > checks; read != tc.want || tc.once != (checks > 0) {
				t.Errorf("read %v, %d queries before the start", read, checks)
			}
		})
	}
}
