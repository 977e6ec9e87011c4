package export

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/result"
)

// columns is the width of Text.
const columns = 80

// Text writes the report for people.
func Text(w io.Writer, r *runnerv1alpha1.Report) error {
	var b bytes.Buffer
	for _, section := range []func(*bytes.Buffer, *runnerv1alpha1.Report){
		head, verdict, search, requests, rates, times, phases, steps, operations, notifications, statusCodes, causes, failures, samples, slowest, generator,
	} {
		section(&b, r)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing the report as text: %w", err)
	}
	return nil
}

func head(b *bytes.Buffer, r *runnerv1alpha1.Report) {
	title := []string{r.Name}
	if r.Version != "" {
		title = append(title, "h2surge "+r.Version)
	}
	if r.PlanHash != "" {
		title = append(title, "plan "+r.PlanHash[:min(12, len(r.PlanHash))])
	}
	wrap(b, "", strings.Join(title, ", "))
	if r.StartTime != "" {
		wrap(b, "", "from "+r.StartTime+" to "+r.EndTime)
	}
	if r.Partial {
		wrap(b, "", "PARTIAL: the result is incomplete.")
	}
}

func verdict(b *bytes.Buffer, r *runnerv1alpha1.Report) {
	v := &r.Verdict
	if v.Outcome == "" {
		return
	}
	section(b, "Verdict: "+string(v.Outcome))
	wrap(b, "  ", fmt.Sprintf("%s: %s", v.Reason, v.Message))
	if w := lagWarning(r); w != "" {
		wrap(b, "  ", "warning: "+w)
	}
	for i := range v.Thresholds {
		t := &v.Thresholds[i]
		word := "passed"
		if !t.Passed {
			word = "FAILED"
		}
		wrap(b, "  ", word+"  "+t.String())
	}
}

func requests(b *bytes.Buffer, r *runnerv1alpha1.Report) {
	section(b, "Requests")
	q := &r.Requests
	row := func(name string, n int64, note string) {
		line(b, "  %-20s %14d  %s", name, n, note)
	}
	row("sent", q.Sent, "")
	row("  done", q.Done, "")
	row("    succeeded", q.Succeeded, "")
	row("    failed checks", q.FailedChecks, "")
	row("  timed out", q.TimedOut, "")
	row("  reset", q.Reset, "")
	row("  connection lost", q.ConnectionLost, "")
	row("  in flight at end", q.InFlightAtEnd, "")
	row("dropped", q.Dropped, "scheduled, but never sent")
	row("retried", q.Retried, "given back by the peer and sent again")
	if q.Abandoned > 0 {
		row("abandoned", q.Abandoned, "timed out, stream left open")
	}
	row("warm-up", r.WarmUp.Sent, "not in any other figure")
	if n := r.Setup; n.Sent > 0 {
		row("setup", n.Sent, fmt.Sprintf("not in any other figure; %d succeeded", n.Succeeded))
	}
	if n := r.Graceful; n.Sent+n.CutOff > 0 {
		row("after the load", n.Sent, fmt.Sprintf("not in any other figure; %d succeeded; %d chains completed, %d were aborted, %d were cut off", n.Succeeded, n.Completed, n.Aborted, n.CutOff))
	}
	if n := r.Teardown; n.Sent > 0 {
		row("teardown", n.Sent, fmt.Sprintf("not in any other figure; %d succeeded", n.Succeeded))
	}
	if r.TeardownFailure != "" {
		wrap(b, "  ", "teardown failed: "+sentence(r.TeardownFailure))
	}
	for _, note := range append(protocolNotes(r), authorizationNotes(r)...) {
		wrap(b, "  ", note)
	}
	line(b, "  %-20s %14s  %s", "error rate", errorRate(float64(r.ErrorRate), r.Requests.Sent+r.Requests.Dropped), "1 - succeeded / (sent + dropped)")
	chains(b, r)
}

func chains(b *bytes.Buffer, r *runnerv1alpha1.Report) {
	c := &r.Chains
	wrap(b, "  ", fmt.Sprintf("chains: %d started = %d completed + %d aborted + %d unfinished",
		c.Started, c.Completed, c.Aborted, c.Unfinished))
	var reasons []string
	for _, by := range result.MostFrequent(c.AbortedBy, len(c.AbortedBy)) {
		reasons = append(reasons, fmt.Sprintf("%d %s", by.Count, printable(by.Name)))
	}
	if len(reasons) > 0 {
		wrap(b, "  ", "aborted by: "+strings.Join(reasons, ", "))
	}
	if r.Exhausted {
		wrap(b, "  ", "exhausted: all values of a variable are used; its chains started no more instances")
	}
}

func rates(b *bytes.Buffer, r *runnerv1alpha1.Report) {
	section(b, "Rate (requests per second)")
	row := func(name, asked, achieved, sent, dropped string) {
		named(b, 28, name, fmt.Sprintf("%11s %11s %11s %11s", asked, achieved, sent, dropped))
	}
	row("", "asked", "achieved", "sent", "dropped")
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
			name += ", paused " + seconds(s.Paused)
		}
		row(name, stageAsked(s, askedRate), result.FormatRate(s.Achieved), decimal(s.Sent), decimal(s.Dropped))
		if s.AskedChains > 0 {
			row("  chain instances", result.FormatRate(s.AskedChains), result.FormatRate(s.AchievedChains), "", "")
		}
	}
	row("measured, "+seconds(r.Rate.WindowSeconds), askedRate(r.Rate.Asked, r.Rate.AskedChains), result.FormatRate(r.Rate.Achieved),
		decimal(r.Requests.Sent), decimal(r.Requests.Dropped))
	if r.Rate.AskedChains > 0 {
		row("  chain instances", result.FormatRate(r.Rate.AskedChains), result.FormatRate(r.Rate.AchievedChains), "", "")
	}
	for i := range r.Bounds {
		wrap(b, "  ", "LIMIT REACHED: "+sentence(r.Bounds[i].Message))
	}
}

func times(b *bytes.Buffer, r *runnerv1alpha1.Report) {
	section(b, "Times")
	line(b, "  %-13s%8s%8s%8s%8s%8s%8s%8s%8s", "", "min", "mean", "p50", "p90", "p95", "p99", "p99.9", "max")
	for _, row := range timesOf(r) {
		f := [8]string{"-", "-", "-", "-", "-", "-", "-", "-"}
		if t := row.times; t.Count > 0 {
			for i, us := range [8]int64{t.Min, t.Mean, t.P50, t.P90, t.P95, t.P99, t.P999, t.Max} {
				f[i] = narrow(us)
			}
			f[1] = mean(t, narrow)
		}
		line(b, "  %-13s%8s%8s%8s%8s%8s%8s%8s%8s", row.name, f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7])
	}
	if note := unansweredNote(r); note != "" {
		wrap(b, "  ", note)
	}
}

// unansweredNote says which requests the two rows of response times have.
func unansweredNote(r *runnerv1alpha1.Report) string {
	if r.ResponseTime.Unanswered == 0 {
		return ""
	}
	return fmt.Sprintf("response time includes %s requests without a response, as longer than all measured times, but the mean does not; successful has only requests that succeeded",
		grouped(r.ResponseTime.Unanswered))
}

// mean writes the mean of the measured times; "-": no request got a response.
func mean(t *runnerv1alpha1.Times, format func(us int64) string) string {
	if t.Count == t.Unanswered {
		return "-"
	}
	return format(t.Mean)
}

// narrow is a time in at most 7 columns: "> 12.3ms" becomes ">12.3ms".
func narrow(us int64) string {
	out := result.FormatTime(us)
	if len(out) > 7 {
		out = strings.ReplaceAll(out, " ", "")
	}
	return out
}

// stepNames is the width of the names in the table of steps.
const stepNames = 26

func steps(b *bytes.Buffer, r *runnerv1alpha1.Report) {
	section(b, "Steps (response time)")
	row := func(name, sent, errors string, times ...string) {
		figures := fmt.Sprintf("%11s%8s", sent, errors)
		for _, t := range times {
			figures += fmt.Sprintf("%8s", t)
		}
		named(b, stepNames, name, figures)
	}
	row("", "sent", "errors", "p50", "p99", "p99.9", "max")
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Phase != runnerv1alpha1.PhaseLoad || s.Listener != "" {
			continue // it counts nothing
		}
		f := []string{"-", "-", "-", "-"}
		if t := &s.ResponseTime; t.Count > 0 {
			f = []string{narrow(t.P50), narrow(t.P99), narrow(t.P999), narrow(t.Max)}
		}
		row(s.Chain+"/"+s.Step, decimal(s.Sent), errorRate(float64(s.ErrorRate), s.Sent), f...)
		stepPhases(b, r, s)
		stepDetails(b, s)
	}
}

// stepDetails are below the row of a step, their numbers below its own.
func stepDetails(b *bytes.Buffer, s *runnerv1alpha1.StepResult) {
	row := func(name string, n int64) { named(b, stepNames, "  "+name, fmt.Sprintf("%11d", n)) }
	if s.Retries > 0 {
		row("of them retries", s.Retries)
	}
	if s.Redirects > 0 {
		row("of them redirects", s.Redirects)
	}
	if s.OverloadControl > 0 {
		row("responses with 3gpp-Sbi-Oci", s.OverloadControl)
	}
	if s.LoadControl > 0 {
		row("responses with 3gpp-Sbi-Lci", s.LoadControl)
	}
	for _, by := range result.MostFrequent(s.FailedBy, len(s.FailedBy)) {
		row("failed "+printable(by.Name), by.Count)
	}
	for _, p := range s.Problems {
		row(strings.TrimSpace(statusOf(p)+" "+printable(p.Cause)), p.Count)
	}
}

func statusCodes(b *bytes.Buffer, r *runnerv1alpha1.Report) {
	if len(r.StatusCodes) == 0 {
		return
	}
	section(b, "Status codes")
	for _, code := range slices.Sorted(maps.Keys(r.StatusCodes)) {
		line(b, "  %-20s %14d", code, r.StatusCodes[code])
	}
}

// maxCauses is how many causes are listed.
const maxCauses = 10

func causes(b *bytes.Buffer, r *runnerv1alpha1.Report) {
	if len(r.Causes) == 0 {
		return
	}
	section(b, "Problem causes")
	for _, c := range result.MostFrequent(r.Causes, maxCauses) {
		named(b, 40, printable(c.Name), fmt.Sprintf("%11d", c.Count))
	}
	if more := len(r.Causes) - maxCauses; more > 0 {
		line(b, "  and %d more", more)
	}
}

// maxFailures is how many failures are listed.
const maxFailures = 20

func failures(b *bytes.Buffer, r *runnerv1alpha1.Report) {
	if len(r.Failures) == 0 {
		return
	}
	section(b, "Failures by cause")
	for _, f := range r.Failures[:min(maxFailures, len(r.Failures))] {
		behind(b, fmt.Sprintf("  %-15s %14d  ", failureOf(f.Of), f.Count), sentence(failure.Words(f.Failure)))
	}
	if more := len(r.Failures) - maxFailures; more > 0 {
		line(b, "  and %d more", more)
	}
}

// failureOf is what failed, in the words of the table of requests.
func failureOf(of runnerv1alpha1.FailureOf) string {
	if of == runnerv1alpha1.FailureConnectionLost {
		return "connection lost"
	}
	return string(of)
}

// maxSamples is how many samples are shown, and sampleShown how much of the body of each; the JSON has all.
const (
	maxSamples  = 5
	sampleShown = 200
)

func samples(b *bytes.Buffer, r *runnerv1alpha1.Report) {
	if len(r.Samples) == 0 {
		return
	}
	section(b, "Samples of failed requests")
	for i := range r.Samples[:min(maxSamples, len(r.Samples))] {
		s := &r.Samples[i]
		wrap(b, "  ", sampleTitle(s))
		for _, f := range s.Header {
			wrap(b, "      ", sentence(f.Name+": "+f.Value))
		}
		if body := sampleText(s.Body); body != "" {
			wrap(b, "      ", body)
		}
	}
	if more := len(r.Samples) - maxSamples; more > 0 {
		line(b, "  and %d more in the report as JSON", more)
	}
}

// sampleTitle is "session/create after 1.2s: status 503, failed status, trace 4bf9..., sampled".
func sampleTitle(s *runnerv1alpha1.Sample) string {
	what := fmt.Sprintf("status %d, failed %s", s.Status, printable(s.Check))
	if s.Outcome != "" {
		what = outcomeNames[s.Outcome]
	}
	return fmt.Sprintf("%s/%s after %s: %s%s", s.Chain, s.Step, result.FormatTime(s.At*1000), what, traceText(&s.Trace))
}

// outcomeNames are the texts of Sample.Outcome.
var outcomeNames = map[string]string{
	runnerv1alpha1.AbortTimedOut: "timed out", runnerv1alpha1.AbortReset: "reset", runnerv1alpha1.AbortConnectionLost: "connection lost",
}

// traceText is ", trace 4bf9..., sampled", or "" for a request without a traceparent.
func traceText(t *runnerv1alpha1.Trace) string {
	switch {
	case t.TraceID == "":
		return ""
	case t.TraceSampled:
		return ", trace " + t.TraceID + ", sampled"
	}
	return ", trace " + t.TraceID
}

func slowest(b *bytes.Buffer, r *runnerv1alpha1.Report) {
	if len(r.Slowest) == 0 {
		return
	}
	section(b, "Slowest requests with a trace")
	for i := range r.Slowest {
		s := &r.Slowest[i]
		wrap(b, "  ", fmt.Sprintf("%s/%s after %s: %s, status %d%s",
			s.Chain, s.Step, result.FormatTime(s.At*1000), result.FormatTime(s.ResponseTime), s.Status, traceText(&s.Trace)))
	}
}

// sampleText is the beginning of a body in one line.
func sampleText(body string) string {
	text := sentence(strings.Join(strings.Fields(body), " "))
	if len(text) > sampleShown {
		text = text[:sampleShown] + "..."
	}
	return text
}

func generator(b *bytes.Buffer, r *runnerv1alpha1.Report) {
	section(b, "Generator")
	g := &r.Generator
	row := func(name, format string, args ...any) {
		wrapNamed(b, name, fmt.Sprintf(format, args...))
	}
	row("shards", "%d, %s; %s", g.Shards, comings(g), exclusive(g))
	row("workers", "%d, %s", g.Workers, cpus(g.CPUs))
	row("CPU time", "%s", cpuTime(r))
	row("throttled", "%s; garbage collection paused it for %s",
		result.FormatTime(g.ThrottledMicroseconds), result.FormatTime(g.GCPauseMicroseconds))
	row("lag", "p99 of the worst shard %s", result.FormatTime(g.LagP99Microseconds))
	if text := idleText(&g.Idle, result.FormatTime); text != "" {
		row("idle", "%s", text)
	}
	if note := spinNote(r); note != "" {
		wrap(b, "  ", note)
	}
	row("start skew", "%s", result.FormatTime(g.StartSkewMicroseconds))
	row("connections", "%d opened, %d of them to reconnect", g.Connects, g.Reconnects)
	row("bytes", "%d sent, %d received", r.Bytes.Sent, r.Bytes.Received)
}

// comings is "1 joined late, 2 left early, 0 lost".
func comings(g *runnerv1alpha1.GeneratorResult) string {
	var out string
	if g.ShardsJoined > 0 {
		out += fmt.Sprintf("%d joined late, ", g.ShardsJoined)
	}
	if g.ShardsLeft > 0 {
		out += fmt.Sprintf("%d left early, ", g.ShardsLeft)
	}
	return out + fmt.Sprintf("%d lost", g.ShardsLost)
}

func exclusive(g *runnerv1alpha1.GeneratorResult) string {
	if !g.ExclusiveWanted && g.ExclusiveShards == 0 {
		return "exclusive CPUs not requested"
	}
	return fmt.Sprintf("%d had exclusive CPUs", g.ExclusiveShards)
}

func cpus(list []int) string {
	if len(list) == 0 {
		return "not pinned"
	}
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = strconv.Itoa(c)
	}
	return "on CPUs " + strings.Join(out, " ")
}

// cpuTime returns the CPU time of the runners, and the CPU time of one request, with warm-up requests.
func cpuTime(r *runnerv1alpha1.Report) string {
	out := seconds(r.CPUSeconds)
	if n := r.Requests.Sent + r.WarmUp.Sent; n > 0 {
		out += fmt.Sprintf(", %sus per request", strconv.FormatFloat(r.CPUSeconds/float64(n)*1e6, 'f', 2, 64))
	}
	return out
}

// askedRate formats a desired rate of requests. If the rate is one of chain instances, requests have none.
func askedRate(perSecond, chains float64) string {
	switch {
	case chains > 0:
		return "-"
	case perSecond == 0:
		return "max"
	}
	return result.FormatRate(perSecond)
}

// stageAsked formats the desired rate of a stage.
func stageAsked(s *runnerv1alpha1.StageResult, format func(perSecond, chains float64) string) string {
	if s.Pause {
		return "0"
	}
	return format(s.Asked, s.AskedChains)
}

func seconds(s float64) string { return result.FormatTime(int64(s * 1e6)) }

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
