package render

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// windowsOf are windows of a stage that begin and end at the given milliseconds, with the rates given.
func windowsOf(ends []int64, rates ...float64) (out []runnerv1alpha1.Window) {
	from := int64(0)
	for i, to := range ends {
		out = append(out, runnerv1alpha1.Window{From: from, To: to, Stage: "hold", Asked: rates[i], Achieved: rates[i], Sent: 1})
		from = to
	}
	return out
}

// pathOf is the path of a series of a plot, or "".
func pathOf(p *plot, name string) string {
	for _, s := range p.Series {
		if s.Name == name {
			return s.Path
		}
	}
	return ""
}

func TestShortLastWindow(t *testing.T) {
	tests := []struct {
		name    string
		windows []runnerv1alpha1.Window
		want    int // points of the line
	}{
		{"the load ended in a window of 0.2 s", windowsOf([]int64{1000, 2000, 3000, 3200}, 100, 100, 100, 9), 3},
		{"just below half", windowsOf([]int64{1000, 2000, 2499}, 100, 100, 9), 2},
		{"half", windowsOf([]int64{1000, 2000, 2500}, 100, 100, 90), 3},
		{"longer windows", windowsOf([]int64{10_000, 20_000, 24_900}, 100, 100, 40), 2},
		{"only one", windowsOf([]int64{200}, 100), 1},
		{"a short one in the middle", windowsOf([]int64{1000, 1200, 2200}, 100, 100, 100), 3},
	}
	for _, tt := range tests {
		r := &runnerv1alpha1.Report{Windows: tt.windows}
		p := ratePlot(r)
		if got := strings.Count(pathOf(p, "achieved"), "L") + 1; got != tt.want {
			t.Errorf("%s: the line of the rate has %d points, want %d: %s", tt.name, got, tt.want, pathOf(p, "achieved"))
		}
		if got := strings.Count(pathOf(p, "asked"), "L") + 1; got != 2*tt.want {
			t.Errorf("%s: the line of what is asked has %d points, want %d", tt.name, got, 2*tt.want)
		}
		plots, err := comparePlots(r, r)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(pathOf(plots[len(plots)-1], "A achieved"), "L") + 1; got != tt.want {
			t.Errorf("%s: the line of the rate of a comparison has %d points, want %d", tt.name, got, tt.want)
		}
	}
}

// TestRateWhenTheLoadEnds: a ramp from 100/s by 100/s each second. The drain is in the windows after the end of the load, and does not lower the line.
func TestRateWhenTheLoadEnds(t *testing.T) {
	drain := runnerv1alpha1.Window{From: 4000, To: 5000}
	late := drain
	late.Achieved, late.Sent = 3, 3
	tests := []struct {
		name    string
		ends    []int64
		loadEnd int64 // of the last window with load
		last    float64
		after   []runnerv1alpha1.Window
		want    []float64
		to      int64
	}{
		{"at the end of a window", []int64{1000, 2000, 3000}, 0, 350, nil, []float64{150, 250, 350}, 3000},
		{"the drain takes more than half of the window", []int64{1000, 2000, 3000}, 2400, 130, nil, []float64{150, 250}, 2000},
		{"the drain takes less than half of the window", []int64{1000, 2000, 3000}, 2500, 162.5, nil, []float64{150, 250, 325}, 2500},
		{"windows of drain", []int64{1000, 2000, 4000}, 3000, 175, []runnerv1alpha1.Window{drain, drain}, []float64{150, 250, 350}, 3000},
		{"chains send in the drain", []int64{1000, 2000, 4000}, 4000, 350, []runnerv1alpha1.Window{late, drain}, []float64{150, 250, 350, 3}, 5000},
		{"nothing but drain", nil, 0, 0, []runnerv1alpha1.Window{drain, drain}, []float64{0}, 5000},
	}
	for _, tt := range tests {
		windows := windowsOf(tt.ends, []float64{150, 250, tt.last}[:len(tt.ends)]...)
		if len(windows) > 0 {
			windows[len(windows)-1].LoadEnd = tt.loadEnd
		}
		all := append(windows, tt.after...)
		before := slices.Clone(all)
		var got []float64
		lined := whileLoaded(all)
		for i := range lined {
			got = append(got, lined[i].Achieved)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || lined[len(lined)-1].To != tt.to {
			t.Errorf("%s: until %d (-want +got):\n%s", tt.name, lined[len(lined)-1].To, diff)
		}
		if diff := cmp.Diff(before, all); diff != "" {
			t.Errorf("%s: the report changed (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestAxisOfRates(t *testing.T) {
	stages := func(rates ...float64) (out []runnerv1alpha1.StageResult) {
		for _, v := range rates {
			out = append(out, runnerv1alpha1.StageResult{Name: "hold", Asked: v, Achieved: v, Pause: v == 0})
		}
		return out
	}
	linear, logarithmic := "requests per second", "requests per second, logarithmic"
	tests := []struct {
		name   string
		stages []runnerv1alpha1.StageResult
		unit   string
		labels []string
	}{
		{"one stage", stages(1000), linear, []string{"0", "200", "400", "600", "800", "1k"}},
		{"20 times", stages(50, 1000), linear, []string{"0", "200", "400", "600", "800", "1k"}},
		{"more than 20 times", stages(49, 1000), logarithmic, []string{"\u2264 10", "20", "50", "100", "200", "500", "1k"}},
		{"the lowest is a power of ten", stages(10, 1000), logarithmic, []string{"\u2264 1", "10", "100", "1k"}},
		{"below one a second", stages(0.5, 1000), logarithmic, []string{"\u2264 0.1", "1", "10", "100", "1k"}},
		{"a pause is no rate", stages(1000, 0), linear, []string{"0", "200", "400", "600", "800", "1k"}},
		{"a target that cannot keep up", []runnerv1alpha1.StageResult{{Name: "hold", Asked: 1000, Achieved: 10}, {Name: "hold", Asked: 1000, Achieved: 1000}}, linear, []string{"0", "200", "400", "600", "800", "1k"}},
		{"stages of chains are at the same time", []runnerv1alpha1.StageResult{{Name: "hold", Chain: "a", Asked: 1000}, {Name: "hold", Chain: "b", Asked: 1}}, linear, []string{"0", "200", "400", "600", "800", "1k"}},
		{"a stage that no window shows", append(stages(1000), runnerv1alpha1.StageResult{Name: "next", Asked: 1}), linear, []string{"0", "200", "400", "600", "800", "1k"}},
		{"hostile", stages(1e-320, 1000), logarithmic, []string{"\u2264 0.001", "0.01", "0.1", "1", "10", "100", "1k"}},
	}
	for _, tt := range tests {
		r := &runnerv1alpha1.Report{Stages: tt.stages, Windows: windowsOf([]int64{1000, 2000}, 1, 1000)}
		plots, err := comparePlots(r, r)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []*plot{ratePlot(r), plots[len(plots)-1]} {
			var labels []string
			for _, v := range p.YTicks {
				labels = append(labels, v.Label)
			}
			if diff := cmp.Diff(append([]string{tt.unit}, tt.labels...), append([]string{p.Unit}, labels...)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
		}
	}
}

// TestPlotsOfZeros: a plot in which all is zero is one line of text.
func TestPlotsOfZeros(t *testing.T) {
	r := &runnerv1alpha1.Report{Windows: windowsOf([]int64{1000, 2000}, 100, 100)}
	page := written(t, r)
	for _, want := range []string{
		`<p class="none" id="plot-errors"><b>Errors over time:</b> none</p>`,
		`<p class="none" id="plot-inflight"><b>Requests in flight:</b> none</p>`,
		`<p class="none" id="plot-times"><b>Response time, percentiles:</b> none</p>`,
		`<p class="none" id="plot-lag"><b>Lag of the generator, p99:</b> none</p>`,
		`<figure class="plot" id="plot-rate">`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, structure(page))
		}
	}
	r.Windows[1].TimedOut = 1
	if page := written(t, r); !strings.Contains(page, `<figure class="plot" id="plot-errors">`) {
		t.Errorf("no plot of the errors in\n%s", structure(page))
	}
}

// TestNotes: texts in a plot are within it, and not on top of each other.
func TestNotes(t *testing.T) {
	type limit struct {
		value float64
		name  string
	}
	tests := []struct {
		name   string
		limits []limit
		want   []string
	}{
		{"apart", []limit{{100, "a"}, {1000, "b"}}, []string{"a: p99", "b: p99"}},
		{"three at one value", []limit{{100, "a"}, {100, "b"}, {101, "c"}}, []string{"a: p99", "b: p99", "c: p99"}},
		{"no room", []limit{{100, "a"}, {100, "b"}, {100, "c"}, {100, "d"}, {100, "e"}}, []string{"a: p99", "b: p99", "c: p99", "d: p99"}},
		{"a long name", []limit{{100, strings.Repeat("long-", 12)}}, []string{"long-long-long-long-lon\u2026: p99"}},
		{"outside of the axis", []limit{{1e9, "a"}}, nil},
	}
	for _, tt := range tests {
		p := &plot{}
		p.setTimes(10, 5000)
		for _, l := range tt.limits {
			p.addLimit(l.value, l.name, "p99")
		}
		var got []string
		for _, n := range p.Notes {
			got = append(got, n.Text)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestNoteAtTheEdge: a change at the end of a run has its text left of the edge.
func TestNoteAtTheEdge(t *testing.T) {
	p := &plot{}
	p.note("change", "load changed", plotRight-1, 54)
	p.note("change", "load changed", plotLeft+1, 54)
	if diff := cmp.Diff([]note{{"506.8", "54", "change", "load changed"}, {"127.2", "54", "change", "load changed"}}, p.Notes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNotesOfChanges: each change of the load has a line, and a text if there is room. Six seconds are 486 units wide, and a text 98.
func TestNotesOfChanges(t *testing.T) {
	tests := []struct {
		name        string
		revisions   []int64
		lines, want int
	}{
		{"none", []int64{1, 1, 1, 1, 1, 1}, 0, 0},
		{"apart", []int64{1, 1, 2, 2, 3, 3}, 2, 2},
		{"near", []int64{0, 1, 2, 3, 4, 5}, 5, 3},
	}
	for _, tt := range tests {
		r := watchedReport()
		for i := range r.Windows {
			r.Windows[i].Revision = tt.revisions[i]
		}
		p, notes := overTime(r, "x", "x"), 0
		for _, n := range p.Notes {
			if n.Class == "change" {
				notes++
			}
		}
		if len(p.Changes) != tt.lines || notes != tt.want {
			t.Errorf("%s: %d lines and %d texts, want %d and %d", tt.name, len(p.Changes), notes, tt.lines, tt.want)
		}
	}
}
