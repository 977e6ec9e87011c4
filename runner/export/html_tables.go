package export

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/result"
)

// table is what the template draws as one. The first Left columns are text, the others figures.
type table struct {
	ID, Caption string
	Head        []string
	Left        int
	Rows        []tableRow
}

// tableRow belongs to a window when it is Timed, From and To milliseconds since the start.
type tableRow struct {
	Cells    []string
	From, To int64
	Timed    bool
	Bad      bool
}

// errorKinds are the outcomes that count against the error rate.
func errorKinds(r *runnerv1alpha1.Report) []errorKind {
	q := &r.Requests
	out := []errorKind{
		{Name: "failed checks", Class: "c2", Count: q.FailedChecks, Meaning: "the response was not as expected"},
		{Name: "timed out", Class: "c3", Count: q.TimedOut, Meaning: "no complete response within the timeout"},
		{Name: "reset", Class: "c4", Count: q.Reset, Meaning: "the stream ended without a complete response"},
		{Name: "connection lost", Class: "c5", Count: q.ConnectionLost, Meaning: "the connection closed with the request in flight"},
		{Name: "dropped", Class: "c6", Count: q.Dropped, Meaning: "scheduled, but never sent"},
	}
	var most int64
	for i := range out {
		most = max(most, out[i].Count)
	}
	for i := range out {
		out[i].Share = result.FormatPercent(part(out[i].Count, q.Sent+q.Dropped))
		out[i].Bar = coordinate(100 * part(out[i].Count, most))
	}
	return out
}

type errorKind struct {
	Name, Class, Share, Meaning string
	Count                       int64
	// Bar is its length, 100 for the most frequent kind.
	Bar string
}

func part(n, of int64) float64 {
	if of <= 0 {
		return 0
	}
	return float64(n) / float64(of)
}

func errorSentence(r *runnerv1alpha1.Report) string {
	var found []string
	for _, k := range errorKinds(r) {
		if k.Count > 0 {
			found = append(found, grouped(k.Count)+" "+k.Name)
		}
	}
	if len(found) == 0 {
		return "None."
	}
	return "In total: " + strings.Join(found, ", ") + "."
}

func stageTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "stages", Caption: "Rate stages, in requests per second", Left: 1, Head: []string{"stage", "asked", "achieved", "sent", "dropped"}}
	for i := range r.Stages {
		s := &r.Stages[i]
		if s.Probe > 0 {
			continue // it has a row of the search
		}
		name := s.Name
		if s.Chain != "" {
			name += " of " + s.Chain
		}
		if s.WarmUp {
			name += " (warm-up)"
		}
		if s.Paused > 0 {
			name += ", paused for " + lasting(s.Paused)
		}
		t.Rows = append(t.Rows, tableRow{Cells: []string{name, stageAsked(s, asked), result.FormatRate(s.Achieved), grouped(s.Sent), grouped(s.Dropped)}, Bad: s.Dropped > 0})
		t.addChains(s.AskedChains, s.AchievedChains)
	}
	t.Rows = append(t.Rows, tableRow{Cells: []string{"measured, " + lasting(r.Rate.WindowSeconds), asked(r.Rate.Asked, r.Rate.AskedChains), result.FormatRate(r.Rate.Achieved), grouped(r.Requests.Sent), grouped(r.Requests.Dropped)}})
	t.addChains(r.Rate.AskedChains, r.Rate.AchievedChains)
	return t
}

// addChains adds the rates of a row with chainsPerSecond, in chain instances.
func (t *table) addChains(asked, achieved float64) {
	if asked > 0 {
		t.Rows = append(t.Rows, tableRow{Cells: []string{"chain instances", result.FormatRate(asked), result.FormatRate(achieved), "", ""}})
	}
}

func stepTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "steps", Caption: "Steps", Left: 2, Head: []string{
		"chain", "step", "sent", "succeeded", "errors", "failed checks", "timed out", "reset", "connection lost", "retries", "p50", "p90", "p99", "max",
	}}
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Phase != runnerv1alpha1.PhaseLoad || s.Listener != "" {
			continue // it counts nothing
		}
		row := []string{s.Chain, s.Step, grouped(s.Sent), grouped(s.Succeeded), errorRate(float64(s.ErrorRate), s.Sent)}
		for _, n := range []int64{s.FailedChecks, s.TimedOut, s.Reset, s.ConnectionLost, s.Retries} {
			row = append(row, grouped(n))
		}
		for _, us := range []int64{s.ResponseTime.P50, s.ResponseTime.P90, s.ResponseTime.P99, s.ResponseTime.Max} {
			row = append(row, measured(s.ResponseTime.Count, us))
		}
		t.Rows = append(t.Rows, tableRow{Cells: row, Bad: s.ErrorRate > 0})
	}
	return t
}

// checkTable is nil when no check failed.
func checkTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "checks", Caption: "Failed checks", Left: 3, Head: []string{"chain", "step", "first check that failed", "responses"}}
	for i := range r.Steps {
		s := &r.Steps[i]
		for _, by := range result.MostFrequent(s.FailedBy, len(s.FailedBy)) {
			t.Rows = append(t.Rows, tableRow{Cells: []string{s.Chain, s.Step, printable(by.Name), grouped(by.Count)}})
		}
	}
	return unlessEmpty(t)
}

func chainTable(r *runnerv1alpha1.Report) *table {
	c := &r.Chains
	t := &table{ID: "chains", Caption: "Chain instances", Left: 1, Head: []string{"", "instances"}}
	row := func(name string, n int64) {
		t.Rows = append(t.Rows, tableRow{Cells: []string{name, grouped(n)}})
	}
	row("started", c.Started)
	row("completed", c.Completed)
	row("unfinished", c.Unfinished)
	row("aborted", c.Aborted)
	for _, by := range result.MostFrequent(c.AbortedBy, len(c.AbortedBy)) {
		row("aborted by "+printable(by.Name), by.Count)
	}
	return t
}

// countTable is nil when there is nothing to count; shares are of all counts.
func countTable(id, caption, head string, counts []result.Named) *table {
	t := &table{ID: id, Caption: caption, Left: 1, Head: []string{head, "responses", "share"}}
	var sum int64
	for _, c := range counts {
		sum += c.Count
	}
	for _, c := range counts {
		t.Rows = append(t.Rows, tableRow{Cells: []string{printable(c.Name), grouped(c.Count), result.FormatPercent(part(c.Count, sum))}})
	}
	return unlessEmpty(t)
}

func statusTable(r *runnerv1alpha1.Report) *table {
	var codes []result.Named
	for _, code := range slices.Sorted(maps.Keys(r.StatusCodes)) {
		codes = append(codes, result.Named{Name: code, Count: r.StatusCodes[code]})
	}
	return countTable("codes", "Status codes", "code", codes)
}

func causeTable(r *runnerv1alpha1.Report) *table {
	return countTable("causes", "Causes of problem details", "cause", result.MostFrequent(r.Causes, len(r.Causes)))
}

// failureTable is nil when nothing failed but checks and timeouts.
func failureTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "failures", Caption: "Failures by cause", Left: 3, Head: []string{"what", "why", "address", "count"}}
	for _, f := range r.Failures {
		why := failure.Words(runnerv1alpha1.Failure{Cause: f.Cause, Detail: f.Detail})
		t.Rows = append(t.Rows, tableRow{Cells: []string{failureOf(f.Of), sentence(why), sentence(f.Address), grouped(f.Count)}})
	}
	return unlessEmpty(t)
}

// sampleTable is nil when no response failed.
func sampleTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "samples", Caption: "Samples of failed requests", Left: 3, Head: []string{"what", "header", "body"}}
	for i := range r.Samples {
		s := &r.Samples[i]
		var header []string
		for _, f := range s.Header {
			header = append(header, sentence(f.Name+": "+f.Value))
		}
		t.Rows = append(t.Rows, tableRow{Cells: []string{sampleTitle(s), strings.Join(header, "; "), sampleText(s.Body)}})
	}
	return unlessEmpty(t)
}

// slowestTable returns the table of the slowest requests, or nil if no request has a traceparent.
func slowestTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "slowest", Caption: "Slowest requests with a trace", Left: 1, Head: []string{"step", "after", "response time", "status", "trace", "sampled"}}
	for i := range r.Slowest {
		s := &r.Slowest[i]
		sampled := "no"
		if s.TraceSampled {
			sampled = "yes"
		}
		t.Rows = append(t.Rows, tableRow{Cells: []string{
			s.Chain + "/" + s.Step, offset(s.At), micro(s.ResponseTime), strconv.Itoa(s.Status), s.TraceID, sampled,
		}})
	}
	return unlessEmpty(t)
}

// shardTable returns the table of shards, or nil for the report of an old version, which has no counts of shards.
func shardTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "shards", Caption: "Shards", Left: 3, Head: []string{
		"shard", "runs on", "CPUs", "sent", "succeeded", "p50", "p99", "lag p99", "throttled", "GC pauses", "CPU time", "start skew", "connects",
	}}
	for i := range r.Shards {
		s := &r.Shards[i]
		t.Rows = append(t.Rows, tableRow{Bad: s.Lost, Cells: []string{
			shardName(s), whereabouts(s), shardCPUs(s), grouped(s.Sent), grouped(s.Succeeded),
			measured(s.ResponseTime.Count, s.ResponseTime.P50), measured(s.ResponseTime.Count, s.ResponseTime.P99),
			micro(s.LagP99Microseconds), micro(s.ThrottledMicroseconds), micro(s.GCPauseMicroseconds),
			lasting(s.CPUSeconds), micro(s.StartSkewMicroseconds), grouped(s.Connects),
		}})
	}
	return unlessEmpty(t)
}

// shardName is "3 (joined at 12.00 s, lost)".
func shardName(s *runnerv1alpha1.ShardResult) string {
	var what []string
	if s.Joined > 0 {
		what = append(what, "joined at "+offset(s.Joined))
	}
	if s.Left > 0 {
		what = append(what, "left at "+offset(s.Left))
	}
	if s.Lost {
		what = append(what, "lost")
	}
	name := strconv.Itoa(s.Shard)
	if len(what) > 0 {
		name += " (" + strings.Join(what, ", ") + ")"
	}
	return name
}

func whereabouts(s *runnerv1alpha1.ShardResult) string {
	var known []string
	for _, name := range []string{s.Pod, s.Node} {
		if name != "" {
			known = append(known, name)
		}
	}
	if len(known) == 0 {
		return "-"
	}
	return strings.Join(known, " on ")
}

func shardCPUs(s *runnerv1alpha1.ShardResult) string {
	out := "not pinned"
	if len(s.CPUs) > 0 {
		out = strings.Trim(fmt.Sprint(s.CPUs), "[]")
	}
	if s.Exclusive {
		out += ", exclusive"
	}
	if s.IdleStrategy == runnerv1alpha1.IdleSpin {
		out += ", Spin"
	}
	return out
}

// healthTable is the generator as a whole.
func healthTable(r *runnerv1alpha1.Report) *table {
	g := &r.Generator
	t := &table{ID: "health", Caption: "Generator", Left: 2, Head: []string{"", "value"}}
	row := func(name, format string, args ...any) {
		t.Rows = append(t.Rows, tableRow{Cells: []string{name, fmt.Sprintf(format, args...)}})
	}
	row("shards", "%d, %s; %s", g.Shards, comings(g), exclusive(g))
	row("workers", "%d, %s", g.Workers, cpus(g.CPUs))
	row("lag, p99 of the worst shard", "%s", micro(g.LagP99Microseconds))
	if text := idleText(&g.Idle, micro); text != "" {
		row("idle strategy", "%s", text)
	}
	row("throttled", "%s", micro(g.ThrottledMicroseconds))
	row("garbage collection", "paused it for %s", micro(g.GCPauseMicroseconds))
	row("CPU time", "%s", lasting(r.CPUSeconds))
	if n := r.Requests.Sent + r.WarmUp.Sent; n > 0 {
		row("CPU time per request", "%.2f \u00b5s, warm-up included", r.CPUSeconds/float64(n)*1e6)
	}
	row("start skew", "%s", micro(g.StartSkewMicroseconds))
	row("connections", "%s opened, %s of them to reconnect", grouped(g.Connects), grouped(g.Reconnects))
	row("bytes", "%s sent, %s received", grouped(r.Bytes.Sent), grouped(r.Bytes.Received))
	return t
}

func unlessEmpty(t *table) *table {
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}
