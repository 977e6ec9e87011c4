package compare

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// unanswered is a run of which n requests in 10,000 time out after 5 s.
func unanswered(n int64) *rv.Report {
	r := report(10_000)
	above := rv.Above(5_000_000)
	r.ResponseTime.P99, r.ResponseTime.P999, r.ResponseTime.Max, r.ResponseTime.Unanswered = above, above, above, n
	fail(r, n)
	r.Requests.Done, r.Requests.FailedChecks, r.Requests.TimedOut = r.Requests.Done-n, 0, n
	s := &r.Steps[0]
	s.Done, s.FailedChecks, s.FailedBy, s.TimedOut = r.Requests.Done, 0, nil, n
	return r
}

func TestUnanswered(t *testing.T) {
	const n = 500
	if got := found(compared(t, unanswered(n), unanswered(n))); len(got) > 0 {
		t.Errorf("the same: %v", got)
	}
	worse := compared(t, report(10_000), unanswered(n))
	want := []string{"error rate 0% -> 5% (+5 points)", "aborted chains 0% -> 5% (+5 points)", "response time p99 4ms -> > 5s", "response time p99.9 5ms -> > 5s"}
	if diff := cmp.Diff(want, found(worse)[Worse][:4]); diff != "" {
		t.Errorf("worse (-want +got):\n%s", diff)
	}
	better := found(compared(t, unanswered(n), report(10_000)))[Better]
	if len(better) < 4 || better[2] != "response time p99 > 5s -> 4ms" {
		t.Errorf("better: %v", better)
	}
	for i := range worse.Figures {
		f := &worse.Figures[i]
		if f.Name != "response time p99" || f.Step != "" {
			continue
		}
		text, err := json.Marshal(f)
		var got struct {
			Name   string
			A      float64
			B      string
			Result Result
		}
		if err != nil || json.Unmarshal(text, &got) != nil || got.Name != f.Name || got.A != 4000 || got.B != "> 5s" || got.Result != Worse {
			t.Errorf("%v, %s", err, text)
		}
	}
}
