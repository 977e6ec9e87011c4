package export

import (
	"bytes"
	"fmt"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/result"
)

// phase is a part of the time of a connection or a request to a target.
type phase struct {
	name, label string // for people and in metrics
	times       *runnerv1alpha1.Times
}

// connectionPhases are in their order, and only those that a connection to the target has had.
func connectionPhases(t *runnerv1alpha1.TargetResult) []phase {
	return measuredPhases(
		phase{"resolve", "name_resolution", &t.NameResolution}, phase{"TCP connect", "tcp_connect", &t.TCPConnect}, phase{"TLS handshake", "tls_handshake", &t.TLSHandshake}, phase{"SETTINGS", "settings", &t.Settings},
	)
}

// requestPhases are those after a request was picked up, in their order.
func requestPhases(t *runnerv1alpha1.TargetResult) []phase {
	return measuredPhases(
		phase{"reconnecting", "reconnecting", &t.Reconnecting}, phase{"blocked", "blocked", &t.Blocked}, phase{"first byte", "first_byte", &t.TimeToFirstByte}, phase{"body", "body", &t.Body},
	)
}

func measuredPhases(all ...phase) (out []phase) {
	for _, p := range all {
		if p.times.Count > 0 {
			out = append(out, p)
		}
	}
	return out
}

// phases writes a block of rows for each target.
func phases(b *bytes.Buffer, r *runnerv1alpha1.Report) {
	for i := range r.Targets {
		t := &r.Targets[i]
		rows := append(connectionPhases(t), requestPhases(t)...)
		if len(rows) == 0 {
			continue
		}
		section(b, "Where the time goes: target "+printable(t.Name))
		line(b, "  %-15s%14s%8s%8s%8s%8s%8s", "", "count", "mean", "p50", "p90", "p99", "max")
		for _, p := range rows {
			figures := fmt.Sprintf("%14d", p.times.Count)
			for _, us := range []int64{p.times.Mean, p.times.P50, p.times.P90, p.times.P99, p.times.Max} {
				figures += fmt.Sprintf("%8s", result.FormatTime(us))
			}
			line(b, "  %-15s%s", p.name, figures)
		}
	}
}

// phaseTable returns the table of phases, or nil if no target has any.
func phaseTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "phases", Caption: "Phases of connections and requests", Left: 2, Head: []string{"target", "phase", "count", "mean", "p50", "p90", "p99", "p99.9", "max"}}
	for i := range r.Targets {
		for _, p := range append(connectionPhases(&r.Targets[i]), requestPhases(&r.Targets[i])...) {
			row := []string{printable(r.Targets[i].Name), p.name, grouped(p.times.Count)}
			for _, us := range []int64{p.times.Mean, p.times.P50, p.times.P90, p.times.P99, p.times.P999, p.times.Max} {
				row = append(row, micro(us))
			}
			t.Rows = append(t.Rows, tableRow{Cells: row})
		}
	}
	return unlessEmpty(t)
}

// phaseBar is the mean time of a request to a target, phase by phase.
type phaseBar struct {
	Target string
	Parts  []phasePart
	Sum    string
}

// phasePart is a part of a bar. Begin and Width are coordinates; the longest bar has 100.
type phasePart struct{ Name, Class, Begin, Width, Mean string }

// phaseHead names the parts of each phaseBar, in their order.
var phaseHead = []phasePart{
	{Name: "reconnecting", Class: "c6"}, {Name: "blocked", Class: "c5"}, {Name: "first byte", Class: "c2"}, {Name: "body", Class: "c4"},
}

// phaseBars has a bar for each target that got a request.
func phaseBars(r *runnerv1alpha1.Report) []phaseBar {
	var out []phaseBar
	var longest int64
	means := func(t *runnerv1alpha1.TargetResult) (all [4]int64, sum int64) {
		all = [...]int64{t.Reconnecting.Mean, t.Blocked.Mean, t.TimeToFirstByte.Mean, t.Body.Mean}
		return all, all[0] + all[1] + all[2] + all[3]
	}
	for i := range r.Targets {
		_, sum := means(&r.Targets[i])
		longest = max(longest, sum)
	}
	for i := range r.Targets {
		t := &r.Targets[i]
		if t.Blocked.Count == 0 {
			continue
		}
		all, sum := means(t)
		bar := phaseBar{Target: printable(t.Name), Sum: micro(sum)}
		begin := 0.0
		for k, us := range all {
			width := 100 * part(us, longest)
			bar.Parts = append(bar.Parts, phasePart{phaseHead[k].Name, phaseHead[k].Class, coordinate(begin), coordinate(width), micro(us)})
			begin += width
		}
		out = append(out, bar)
	}
	return out
}

// stepPhaseTable returns the table of the phases of steps, or nil if no step has any.
func stepPhaseTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "step-phases", Caption: "Service time and first byte of steps", Left: 2, Head: []string{
		"chain", "step", "service p50", "service p90", "service p99", "service max", "first byte p50", "first byte p90", "first byte p99", "first byte max",
	}}
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.ServiceTime.Count == 0 {
			continue
		}
		row := []string{s.Chain, s.Step}
		for _, of := range []*runnerv1alpha1.Times{&s.ServiceTime, &s.TimeToFirstByte} {
			for _, us := range []int64{of.P50, of.P90, of.P99, of.Max} {
				row = append(row, micro(us))
			}
		}
		t.Rows = append(t.Rows, tableRow{Cells: row})
	}
	return unlessEmpty(t)
}

// stepPhases are two rows below that of a step, if the report has several steps: else the times of the run show them.
func stepPhases(b *bytes.Buffer, r *runnerv1alpha1.Report, s *runnerv1alpha1.StepResult) {
	if s.ServiceTime.Count == 0 || len(r.Steps) < 2 {
		return
	}
	for _, of := range []phase{{name: "service time", times: &s.ServiceTime}, {name: "first byte", times: &s.TimeToFirstByte}} {
		figures := fmt.Sprintf("%19s", "")
		for _, us := range []int64{of.times.P50, of.times.P99, of.times.P999, of.times.Max} {
			figures += fmt.Sprintf("%8s", result.FormatTime(us))
		}
		named(b, stepNames, "  "+of.name, figures)
	}
}
