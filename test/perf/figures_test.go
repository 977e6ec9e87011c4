package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSpread(t *testing.T) {
	for _, tc := range []struct {
		values []float64
		want   spread
	}{
		{nil, spread{}},
		{[]float64{3}, spread{3, 3, 3}},
		{[]float64{5, 1, 2}, spread{2, 1, 5}},
		{[]float64{4, 1, 3, 2}, spread{2.5, 1, 4}},
	} {
		in := append([]float64(nil), tc.values...)
		if got := spreadOf(tc.values); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.values, got, tc.want)
		}
		if !cmp.Equal(in, tc.values) {
			t.Errorf("%v became %v", in, tc.values)
		}
	}
}

// TestRatios: the median of the rounds' ratios, not the ratio of the medians.
func TestRatios(t *testing.T) {
	if got, want := rounds(1, 10, 3).over(rounds(2, 40, 4), cpu), (spread{0.5, 0.25, 0.75}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := rounds(1, 2).over(rounds(0, 4, 5), cpu), (spread{0.5, 0.5, 0.5}); got != want {
		t.Errorf("a round without a figure: got %v, want %v", got, want)
	}
}

func TestJudge(t *testing.T) {
	ratio, rps := goal{mark: 0.6, aim: 0.45}, goal{mark: 1e6, higher: true}
	for _, tc := range []struct {
		g    goal
		v    float64
		want string
	}{
		{ratio, 0.45, "aim met"}, {ratio, 0.46, "mark met"}, {ratio, 0.6, "mark met"}, {ratio, 0.61, "mark missed"},
		{rps, 1e6, "mark met"}, {rps, 999999, "mark missed"},
	} {
		if got := tc.g.judge(tc.v); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.v, got, tc.want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name     string
		m        measured
		counts   bool
		received int64
		failing  float64
		want     string // empty: no error
	}{
		{"agree", measured{requests: 100}, true, 100, 0, ""},
		{"in flight at the end", measured{requests: 100}, true, 110, 0, ""},
		{"more than that", measured{requests: 100}, true, 111, 0, "received 111"},
		{"made up", measured{requests: 100}, true, 99, 0, "received 99"},
		{"no count", measured{requests: 100}, false, 0, 0, ""},
		{"nothing done", measured{}, true, 0, 0, "not one"},
		{"failures", measured{requests: 100, rejected: 1}, true, 100, 0, "1 of 100 requests failed, want 0%"},
		{"failures that the server makes", measured{requests: 970, unanswered: 30, rejected: 96}, true, 1000, 0.1, ""},
		{"too few of them", measured{requests: 970, unanswered: 30, rejected: 89}, true, 1000, 0.1, "89 of 1000 requests failed, want 10%"},
		{"too many of them", measured{requests: 970, unanswered: 30, rejected: 111}, true, 1000, 0.1, "111 of 1000"},
		{"the server lacks unanswered ones", measured{requests: 970, unanswered: 30, rejected: 100}, true, 970, 0.1, "received 970"},
	} {
		err := tc.m.check(tc.counts, tc.received, load{connections: 10, failing: tc.failing})
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", tc.name, err, tc.want)
		}
	}
}

// rounds builds rounds of 1000 requests whose CPU time a request is given in microseconds.
func rounds(micros ...float64) runs {
	var all runs
	for _, us := range micros {
		all = append(all, measured{requests: 1000, perSecond: 1e6 / us, cpu: time.Duration(us * 1e6), times: times{p99: time.Millisecond}})
	}
	return all
}

func TestVerdict(t *testing.T) {
	r := result{row: row{goals: cpuRatio(0.6, 0.45)}, state: stateMeasured, ours: rounds(1, 2, 3), peers: rounds(2, 4, 4)}
	if got := r.ours.over(r.peers, cpu); got != (spread{0.5, 0.5, 0.75}) {
		t.Errorf("ratio %v", got)
	}
	if got := r.verdict(); got != "mark met" {
		t.Errorf("verdict %q", got)
	}
	r.row.goals = append(r.row.goals, goal{what: "p99 in ms", mark: 0.5, of: func(r result) spread { return r.ours.of(p99ms) }})
	r.remark("odd")
	r.remark("odd")
	if got, want := r.verdict(), "mark met; p99 in ms 1.00, mark 0.50: mark missed; odd"; got != want {
		t.Errorf("verdict %q, want %q", got, want)
	}
	r.row.goals[0].cpus, r.cpus = 4, 2
	if got, want := r.verdict(), "not judged with 2 CPUs; p99 in ms 1.00, mark 0.50: mark missed; odd"; got != want {
		t.Errorf("verdict %q, want %q", got, want)
	}
	r.row.goals, r.floors, r.remarks = append(cpuRatio(0.6, 0), toFloor(1.1, 1.05)), rounds(1, 1.9, 3), nil
	if got, want := r.verdict(), "mark met; h2surge / floor 1.00, mark 1.10: aim met"; got != want {
		t.Errorf("verdict %q, want %q", got, want)
	}
	r.floors, r.noFloor = nil, "no cc"
	if got, want := r.verdict(), "mark met; h2surge / floor: no cc"; got != want {
		t.Errorf("verdict %q, want %q", got, want)
	}
	r.row.goals = r.row.goals[1:]
	if got, want := r.verdict(), "h2surge / floor: no cc"; got != want {
		t.Errorf("verdict %q, want %q", got, want)
	}
	r.state, r.why = stateSkipped, "apt-get install wrk"
	if got, want := r.verdict(), "skipped: apt-get install wrk"; got != want {
		t.Errorf("verdict %q, want %q", got, want)
	}
}
