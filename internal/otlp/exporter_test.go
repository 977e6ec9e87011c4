package otlp

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/render"
)

// receiver answers requests as the present time says.
type receiver struct {
	t       *testing.T
	answer  func(second float64) (*http.Response, error)
	begin   time.Time
	starts  []uint64
	success []int64
}

func (r *receiver) RoundTrip(q *http.Request) (*http.Response, error) {
	z, err := gzip.NewReader(q.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		r.t.Fatal(err)
	}
	var data metricsv1.MetricsData
	if err := protojson.Unmarshal(text, &data); err != nil {
		r.t.Fatal(err)
	}
	for _, m := range data.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics() {
		if m.GetName() == "h2surge.requests" {
			p := m.GetSum().GetDataPoints()[0]
			r.starts, r.success = append(r.starts, p.GetStartTimeUnixNano()), append(r.success, p.GetAsInt())
		}
	}
	response, err := r.answer(time.Since(r.begin).Seconds())
	if errors.Is(err, errSilent) {
		<-q.Context().Done()
		return nil, q.Context().Err()
	}
	return response, err
}

var errSilent = errors.New("the receiver does not answer")

func answer(status int, body string) (*http.Response, error) {
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// runOf is a run with a request a second, which starts after three seconds and ends after 60.
func runOf(begin time.Time) *Run {
	plan := &rv.Plan{Name: "core/a", Shards: 2, Chains: []rv.Chain{{Name: "app", Steps: []rv.Step{{Name: "create"}}}},
		Rates: []rv.Rate{{Name: "high", Count: 1, Period: time.Second}}}
	return &Run{Plan: plan, Source: render.OTLPSource{Shard: "1"}, Snapshot: func() *rv.Snapshot {
		s := &rv.Snapshot{Boot: "a", State: rv.StateConnecting, Clock: int64(time.Since(begin))}
		if n := time.Since(begin) - 3*time.Second; n >= 0 {
			done := rv.Outcomes{Sent: int64(n / time.Second), Done: int64(n / time.Second), Succeeded: int64(n / time.Second)}
			s.State, s.StartedAt = rv.StateRunning, int64(3*time.Second)
			s.Steps, s.StatusCodes = []rv.StepCounters{{Outcomes: done, StatusCodes: map[string]int64{"200": done.Done}}}, map[string]int64{"200": done.Done}
			s.Counters.Outcomes = done
		}
		if time.Since(begin) > time.Minute {
			s.State = rv.StateDone
		}
		return s
	}}
}

// TestExporter: a receiver that is down, slow, refuses or accepts a part costs the run nothing, and each change is reported once. The figures
// are cumulative, so the last ones are complete.
func TestExporter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{t: t, begin: time.Now(), answer: func(second float64) (*http.Response, error) {
			switch {
			case second < 12:
				return answer(200, "{}")
			case second < 22:
				return nil, errors.New("connection refused")
			case second < 27:
				return answer(503, "busy")
			case second < 32:
				return answer(200, `{"partialSuccess": {"rejectedDataPoints": "3"}}`)
			case second < 37:
				return answer(200, "")
			case second < 50:
				return nil, errSilent
			}
			return answer(200, "")
		}}
		run := runOf(r.begin)
		var changes []string
		e := Start(&Receiver{URL: "http://collector/v1/metrics", Transport: r}, run, func(err error) {
			text := "accepted"
			if err != nil {
				text = err.Error()
			}
			changes = append(changes, text)
		})
		time.Sleep(61 * time.Second)
		e.Finish(t.Context())
		want := []string{"connection refused", "accepted",
			"context deadline exceeded", "accepted"}
		if diff := cmp.Diff(want, changes); diff != "" || e.Err() != nil {
			t.Errorf("%v (-want +got):\n%s", e.Err(), diff)
		}
		if !slices.IsSorted(r.success) || r.success[0] != 2 || r.success[len(r.success)-1] != 58 {
			t.Errorf("succeeded: %v", r.success)
		}
		for _, at := range r.starts {
			if start := run.from.UnixNano(); at != uint64(start) || start != r.begin.Add(3*time.Second).UnixNano() {
				t.Errorf("start %d, want %d", at, start)
			}
		}
	})
}

// TestFinishFails: a receiver that does not answer at the end has not accepted the last figures.
func TestFinishFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{t: t, begin: time.Now(), answer: func(second float64) (*http.Response, error) {
			if second < 58 {
				return answer(200, "")
			}
			return nil, errSilent
		}}
		var changes []error
		e := Start(&Receiver{URL: "http://collector/v1/metrics", Transport: r}, runOf(r.begin), func(err error) { changes = append(changes, err) })
		time.Sleep(61 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		e.Finish(ctx)
		if !errors.Is(e.Err(), context.DeadlineExceeded) || len(changes) != 1 {
			t.Errorf("%v after %v", e.Err(), changes)
		}
	})
}

// TestNotStarted: a run that has not started sends nothing, and that is not a failure.
func TestNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{t: t}
		e := Start(&Receiver{Transport: r}, runOf(time.Now().Add(time.Hour)), func(err error) { t.Error(err) })
		time.Sleep(2 * Interval)
		e.Finish(t.Context())
		if len(r.success) > 0 {
			t.Errorf("%d requests", len(r.success))
		}
	})
}

// TestRedirect: header fields, which can have a token, are sent to the receiver only.
func TestRedirect(t *testing.T) {
	sent := 0
	r := &Receiver{URL: "http://collector/v1/metrics", Transport: roundTrip(func(q *http.Request) (*http.Response, error) {
		sent++
		return &http.Response{StatusCode: http.StatusTemporaryRedirect, Header: http.Header{"Location": {"http://other/"}}, Body: http.NoBody}, nil
	})}
	err := r.Send(t.Context(), func(io.Writer) error { return nil })
	if err == nil || err.Error() != "the receiver answered with status 307: " || sent != 1 {
		t.Errorf("%v after %d requests", err, sent)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
