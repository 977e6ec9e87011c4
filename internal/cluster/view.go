package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/mask"
	"github.com/h2surge/h2surge/internal/report/build"
)

// Frame is the input of View.
type Frame struct {
	Look
	History History
	// Report is set after the end. It has more than status, such as the lag of each shard.
	Report *rv.Report
	Now    time.Time
}

// Size of a terminal, in characters.
type Size struct{ Width, Height int }

// View returns a test as at most Height lines of at most Width characters. The most important lines come first. Lists
// share the remaining lines, and say how many rows they do not show.
func View(m *Frame, size Size) []string {
	lt := m.Test
	lines := header(m, size)
	r := lt.Status.Results
	if r == nil {
		r = &v1alpha1.Results{}
	}
	lists := []list{errorList(r), thresholdList(lt), probeList(lt), chainList(r), stepList(r), listenerList(r),
		observationList(lt, r), shardList(m), healthList(m), changeList(lt)}
	lists = slices.DeleteFunc(lists, func(l list) bool { return len(l.rows) == 0 })
	lines = append(lines, fit(lists, size.Height-len(lines))...)
	lines = lines[:min(len(lines), max(size.Height, 0))]
	for i := range lines {
		lines[i] = cut(strings.TrimRight(lines[i], " "), size.Width)
	}
	return lines
}

func header(m *Frame, size Size) []string {
	lt := m.Test
	title := fmt.Sprintf("%s/%s  %s  %s", lt.Namespace, lt.Name, phase(lt), age(lt, m.Now))
	if stage := stageText(lt, m.Now); stage != "" {
		title += "  stage " + stage
	}
	lines := []string{title}
	if m.Trouble != nil {
		lines = append(lines, troubleText(m.Trouble))
	}
	if v := lt.Status.Verdict; v != nil {
		lines = append(lines, fmt.Sprintf("%s, %s: %s", mask.Line(v.Outcome), mask.Line(v.Reason), mask.Line(v.Message)))
	}
	for _, c := range notable(lt) {
		lines = append(lines, fmt.Sprintf("%s %s: %s", c.Type, mask.Line(c.Reason), mask.Line(c.Message)))
	}
	if n := countShards(lt); n.unsettled() {
		lines = append(lines, "shards   "+n.String())
	}
	r := lt.Status.Results
	if r == nil {
		return lines
	}
	rate := "rate     " + rateOf(lt, m.Now)
	if graph := sparkline(m.History.rates, size.Width-utf8.RuneCountInString(rate)-2); graph != "" {
		rate += "  " + graph
	}
	return append(lines, "", rate,
		"times    "+timesText(&r.ResponseTime),
		fmt.Sprintf("requests %d sent, %d succeeded, %d in flight, errors %s", r.Requests.Sent, r.Requests.Succeeded,
			r.Requests.InFlightAtEnd, build.FormatPercent(r.ErrorRate)))
}

// list is a title and rows. If there are few lines, not all rows are shown.
type list struct {
	title  string
	rows   []string
	format string
}

// table returns a list without rows. The format has the columns of its title and of its rows. Their widths do not
// depend on the values, so that they stay while a test runs.
func table(format string, names ...any) list {
	return list{title: fmt.Sprintf(format, names...), format: format}
}

func (l *list) add(cells ...any) { l.rows = append(l.rows, fmt.Sprintf(l.format, cells...)) }

// fit gives each list an empty line, its title and a row, the first lists first, and shares the remaining lines.
func fit(lists []list, height int) []string {
	const least = 3
	if n := max(0, height) / least; len(lists) > n {
		lists = lists[:n]
	}
	shown := make([]int, len(lists))
	left := height - least*len(lists)
	for i := range shown {
		shown[i] = 1
	}
	for again := true; again && left > 0; {
		again = false
		for i := range lists {
			if left > 0 && shown[i] < len(lists[i].rows) {
				shown[i]++
				left--
				again = true
			}
		}
	}
	var lines []string
	for i, l := range lists {
		lines = append(lines, "", l.title)
		rows := l.rows[:shown[i]]
		if hidden := len(l.rows) - shown[i]; hidden > 0 {
			rows = slices.Clone(rows)
			rows[len(rows)-1] = fmt.Sprintf("... %d more", hidden+1)
		}
		lines = append(lines, rows...)
	}
	return lines
}

func cut(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:max(width, 0)])
}

func errorList(r *v1alpha1.Results) list {
	out := table("%-40.40v %12v", "ERRORS", "COUNT")
	for _, k := range errorKinds(r) {
		out.add(k.Name, k.Count)
	}
	for _, f := range r.Failures {
		why := failure.Words(rv.Failure{Cause: rv.Cause(f.Cause), Detail: f.Detail, Address: f.Address})
		out.add(mask.Line(f.Of+": "+why), f.Count)
	}
	for _, c := range r.Causes {
		out.add("cause "+mask.Line(c.Name), c.Count)
	}
	return out
}

// thresholdList has the thresholds with the values so far, or those of the verdict.
func thresholdList(lt *v1alpha1.LoadTest) list {
	out, all, word := list{title: "THRESHOLDS"}, lt.Status.Thresholds, okSoFar
	if v := lt.Status.Verdict; v != nil {
		all, word = v.Thresholds, "passed"
	}
	for i := range all {
		out.rows = append(out.rows, thresholdText(&all[i], word))
	}
	slices.SortStableFunc(out.rows, func(a, b string) int { // those that failed first
		return cmp.Compare(strings.Index(b, "FAILED"), strings.Index(a, "FAILED"))
	})
	return out
}

// probeList has the probes of a search, the last ones first.
func probeList(lt *v1alpha1.LoadTest) list {
	rows := ProbeLines(lt, 0)
	slices.Reverse(rows)
	return list{title: "PROBES", rows: rows}
}

// chainList has the chains of a running test, whose status has no steps.
func chainList(r *v1alpha1.Results) list {
	out := table("%-26.26v %11v %11v %9v  %v", "CHAIN", "STARTED", "COMPLETED", "ABORTED", "ABORTED BY")
	for i := range r.Chains {
		if c := &r.Chains[i]; len(c.Steps) == 0 {
			out.add(mask.Line(c.Name), c.Started, c.Completed, c.Aborted, first(c.AbortedBy))
		}
	}
	return out
}

// first returns the most frequent count; "": there is none.
func first(counts []v1alpha1.NamedCount) string {
	if len(counts) == 0 {
		return ""
	}
	return namedText([]build.Named{build.Named(counts[0])})
}

// listenerList has the notifications of each listener.
func listenerList(r *v1alpha1.Results) list {
	out := table("%-26.26v %11v %9v %9v %8v %8v %8v", "NOTIFICATIONS", "IN TIME", "MISSING", "OTHERS", "ERRORS",
		"P50", "P99")
	for i := range r.Listeners {
		l := &r.Listeners[i]
		p50, p99 := "-", "-"
		if l.Awaited > 0 {
			p50, p99 = timeText(l.Time.P50Microseconds, l.Time.AboveMicroseconds),
				timeText(l.Time.P99Microseconds, l.Time.AboveMicroseconds)
		}
		out.add(mask.Line(l.Name), l.InTime, l.Missing, noStep(l), build.FormatPercent(l.ErrorRate), p50, p99)
	}
	return out
}

// observationList has the observations, in the units of the spec.
func observationList(lt *v1alpha1.LoadTest, r *v1alpha1.Results) list {
	out := table("%-26.26v %11v %11v %11v", "OBSERVATION", "MEAN", "P95", "MAX")
	for _, o := range r.Observations {
		unit := ""
		for i := range lt.Spec.Observe {
			if of := &lt.Spec.Observe[i]; of.Name == o.Name {
				unit = string(of.Unit)
			}
		}
		out.add(mask.Line(o.Name), build.FormatValue(o.Mean, unit), build.FormatValue(o.P95, unit),
			build.FormatValue(o.Max, unit))
	}
	return out
}

// noStep counts the notifications that reached no step.
func noStep(l *v1alpha1.ListenerResult) int64 {
	return l.Late + l.Duplicate + l.Unexpected + l.RefusedToken + l.RefusedCertificate
}

// stepList returns the steps with the most failures first, else in the order of the spec.
func stepList(r *v1alpha1.Results) list {
	out := table("%-26.26v %11v %9v %8v %8v %8v  %v", "STEP", "SENT", "FAILED", "ERRORS", "P50", "P99", "FAILED BY")
	type step struct {
		chain string
		*v1alpha1.StepResult
	}
	var steps []step
	for i := range r.Chains {
		c := &r.Chains[i]
		for k := range c.Steps {
			steps = append(steps, step{c.Name, &c.Steps[k]})
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(b.Failed, a.Failed) })
	for _, s := range steps {
		t := &s.ResponseTime
		out.add(mask.Line(s.chain+"/"+s.Name), s.Sent, s.Failed, build.FormatPercent(s.ErrorRate),
			timeText(t.P50Microseconds, t.AboveMicroseconds), timeText(t.P99Microseconds, t.AboveMicroseconds),
			first(s.FailedBy))
	}
	return out
}

// healthList returns the lag and throttling of the runners.
func healthList(m *Frame) list {
	st := &m.Test.Status
	out := list{title: "GENERATOR"}
	if st.Generator == nil || st.Shards == nil {
		return out
	}
	n := st.Shards
	text := fmt.Sprintf("shards with exclusive CPUs %d of %d, ready %d of %d, lost %d", st.Generator.ExclusiveShards,
		n.Desired, n.Ready, n.Desired, n.Lost)
	if st.StartSkewMicroseconds != nil {
		text += ", start skew " + build.FormatTime(*st.StartSkewMicroseconds)
	}
	out.rows = []string{text}
	if st.Results != nil {
		out.rows[0] += ", dropped " + strconv.FormatInt(st.Results.Requests.Dropped, 10)
	}
	if m.Report != nil {
		g := &m.Report.Generator
		out.rows = append(out.rows, fmt.Sprintf("lag p99 %s, throttled %s, collecting garbage %s, reconnects %d",
			build.FormatTime(g.LagP99Microseconds), build.FormatTime(g.ThrottledMicroseconds),
			build.FormatTime(g.GCPauseMicroseconds), g.Reconnects))
	} else if health := healthText(st.Generator); health != "" {
		out.rows = append(out.rows, health)
	}
	return out
}

// changeList returns the changes, the newest first.
func changeList(lt *v1alpha1.LoadTest) list {
	out := list{title: "CHANGES"}
	for i := range lt.Status.Changes {
		out.rows = append(out.rows, changeText(&lt.Status.Changes[i]))
	}
	slices.Reverse(out.rows)
	return out
}
