package render

import (
	"bytes"
	"strings"
	"testing"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestObservationPlots: each observation has a plot on the axis of the windows, whose lines have a gap where no sample could be read.
func TestObservationPlots(t *testing.T) {
	r := watchedReport()
	r.Observations = observations()
	plots := observationPlots(r)
	if len(plots) != 3 || plots[0].Over != ratePlot(r).Over || plots[0].XTicks[1] != ratePlot(r).XTicks[1] {
		t.Fatalf("%d plots, %+v", len(plots), plots[0].XTicks)
	}
	cpu := plots[0]
	// The samples are at 0, 1, 4 and 5 s, and nothing could be read from 2 to 3 s.
	if lines := strings.Split(cpu.Series[0].Path, "M")[1:]; len(lines) != 2 || strings.Count(lines[0], "L") != 1 || strings.Count(lines[1], "L") != 1 {
		t.Errorf("the line of cpu is %s", cpu.Series[0].Path)
	}
	if gap := cpu.Pauses[len(cpu.Pauses)-1]; gap.X != coordinate(cpu.x.at(2)) || gap.Width != coordinate(cpu.x.at(3)-cpu.x.at(2)) {
		t.Errorf("the gap of cpu is %+v", gap)
	}
	if len(plots[1].Series) != 3 || plots[1].YTicks[1].Label != "500MB" || !plots[2].IsNone {
		t.Errorf("%d series of memory, ticks %+v; queue: %v", len(plots[1].Series), plots[1].YTicks, plots[2].IsNone)
	}
}

// TestManySeries: the table of the windows does not have the values of so many series, and CSV does.
func TestManySeries(t *testing.T) {
	r := watchedReport()
	o := runnerv1alpha1.ObservationResult{Name: "cpu", Unit: "Cores"}
	for range maxSeriesColumns + 1 {
		o.Series = append(o.Series, runnerv1alpha1.SeriesResult{Label: "pod=a"})
	}
	r.Observations = nil
	columns := len(windowTable(r).Head)
	r.Observations = []runnerv1alpha1.ObservationResult{o}
	if n := len(windowTable(r).Head); n != columns {
		t.Errorf("%d columns, want %d", n, columns)
	}
	var b bytes.Buffer
	if err := CSV(&b, r); err != nil || strings.Count(b.String(), ",observe.cpu pod=a") != len(o.Series) {
		t.Errorf("%v in %s", err, b.String())
	}
}

// TestStagesOfObservations: the table of the stages has the figures of each series.
func TestStagesOfObservations(t *testing.T) {
	r := full()
	var b bytes.Buffer
	if err := Stages(&b, r); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	for i, want := range []string{
		",noFigures,observe.cpu.mean,observe.cpu.p95,observe.cpu.max,observe.memory pod=a.mean,observe.memory pod=a.p95,observe.memory pod=a.max,observe.memory pod=<b>.mean,",
		",0.5,0.5,0.5,,,", ",1.75,2,2,,,", ",3.5,3.5,3.5,,,",
	} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("no %q in %s", want, lines[i])
		}
	}
}
