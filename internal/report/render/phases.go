package render

import runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"

// phase is a part of the time of a connection or a request to a target.
type phase struct {
	name, label string // for people and in metrics
	times       *runnerv1alpha1.Times
}

// connectionPhases are in their order, and only those that a connection to the target has had.
func connectionPhases(t *runnerv1alpha1.TargetResult) []phase {
	return measuredPhases(
		phase{"resolve", "name_resolution", &t.NameResolution}, phase{"TCP connect", "tcp_connect", &t.TCPConnect},
		phase{"TLS handshake", "tls_handshake", &t.TLSHandshake}, phase{"SETTINGS", "settings", &t.Settings},
	)
}

// requestPhases are those after a request was picked up, in their order.
func requestPhases(t *runnerv1alpha1.TargetResult) []phase {
	return measuredPhases(
		phase{"reconnecting", "reconnecting", &t.Reconnecting}, phase{"blocked", "blocked", &t.Blocked},
		phase{"first byte", "first_byte", &t.TimeToFirstByte}, phase{"body", "body", &t.Body},
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
	{Name: "reconnecting", Class: "c6"}, {Name: "blocked", Class: "c5"}, {Name: "first byte", Class: "c2"},
	{Name: "body", Class: "c4"},
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
			bar.Parts = append(bar.Parts, phasePart{phaseHead[k].Name, phaseHead[k].Class, coordinate(begin),
				coordinate(width), micro(us)})
			begin += width
		}
		out = append(out, bar)
	}
	return out
}
