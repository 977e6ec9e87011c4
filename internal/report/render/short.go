package render

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
	judge "github.com/h2surge/h2surge/internal/report/verdict"
)

// The maximum numbers of thresholds and of causes of errors in a Summary.
const (
	maxThresholds = 6
	maxErrors     = 4
)

// Summary writes the report on one screen of 80 columns: the verdict, the thresholds, the figures of the run, and
// last, which says how to get the whole report. If no request got a response, it has only the reason and what to do.
// Colour adds escape sequences (ECMA-48 SGR).
func Summary(w io.Writer, r *runnerv1alpha1.Report, last string, colour bool) error {
	var b bytes.Buffer
	summaryVerdict(&b, r)
	if unreached(r) {
		wrap(&b, "  ", remedy(r))
	} else {
		summaryThresholds(&b, r.Verdict.Thresholds)
		summaryFigures(&b, r)
		b.WriteByte('\n')
		wrap(&b, "", last)
	}
	text := b.String()
	if colour {
		text = coloured(text, mood(r.Verdict.Outcome))
	}
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	return nil
}

// summaryVerdict leaves out what the lines of failed thresholds say.
func summaryVerdict(b *bytes.Buffer, r *runnerv1alpha1.Report) {
	v := &r.Verdict
	title, message := "Verdict: "+cmp.Or(string(v.Outcome), "none"), v.Message
	if v.Reason != string(v.Outcome) {
		title += " (" + v.Reason + ")"
	}
	for i := range v.Thresholds {
		if t := &v.Thresholds[i]; !t.Passed {
			message = strings.TrimPrefix(strings.TrimPrefix(message, t.String()), "; ")
		}
	}
	wrap(b, "", sentence(title))
	wrap(b, "  ", sentence(message))
}

// summaryThresholds writes the failed ones first.
func summaryThresholds(b *bytes.Buffer, all []runnerv1alpha1.ThresholdResult) {
	lines := 0
	for _, word := range []string{failedWord, notComparedWord, passedWord} {
		for i := range all {
			if t := &all[i]; resultWord(t) == word && lines < maxThresholds {
				behind(b, fmt.Sprintf("  %-6s  ", strings.TrimPrefix(word, notComparedWord)), sentence(t.String()))
				lines++
			}
		}
	}
	if more := len(all) - lines; more > 0 {
		line(b, "  and %d more thresholds", more)
	}
}

func summaryFigures(b *bytes.Buffer, r *runnerv1alpha1.Report) {
	title := ""
	if probes := probeTable(r); len(probes.Rows) > 0 {
		probes.dropZeros()
		textTable(b, probes)
		title = "All probes together\n"
	}
	b.WriteString("\n" + title)
	for _, n := range urgent(r) {
		wrapNamed(b, "Note", n)
	}
	t := &r.ResponseTime
	for _, f := range []figure{rateFigure(r), requestFigure(r)} {
		wrapNamed(b, f.Name, ascii(f.Value+" "+f.Note))
	}
	if t.Count > 0 {
		wrapNamed(b, "Response time", fmt.Sprintf("p50 %s, p95 %s, p99 %s, max %s", build.FormatTime(t.P50),
			build.FormatTime(t.P95), build.FormatTime(t.P99), build.FormatTime(t.Max)))
	}
	if note := rampNote(r); note != "" {
		wrapNamed(b, "Ramp", note)
	}
	summaryObservations(b, r)
	if r.Scalability != nil {
		wrapNamed(b, "Scalability", sentence(r.Scalability.Message))
	}
	summaryErrors(b, r)
	if s := worstStep(r); s != nil {
		wrapNamed(b, "Worst step", sentence(fmt.Sprintf("%s/%s: %s errors, p99 %s", s.Chain, s.Step,
			long(errorRate(float64(s.ErrorRate), s.Sent)),
			compact(measured(s.ResponseTime.Count, s.ResponseTime.P99)))))
	}
	summaryChains(b, &r.Chains)
	summaryListeners(b, r)
	wrapNamed(b, "Generator", generatorHealth(r))
}

// summaryChains writes one line, and none if all instances completed. It leaves out the reasons if the line has no
// space for them.
func summaryChains(b *bytes.Buffer, c *runnerv1alpha1.ChainCounters) {
	if c.Aborted+c.Unfinished == 0 {
		return
	}
	out := grouped(c.Completed) + " of " + grouped(c.Started) + " completed"
	if c.Aborted > 0 {
		out += ", " + grouped(c.Aborted) + " aborted"
	}
	end := ""
	if c.Unfinished > 0 {
		end = ", " + grouped(c.Unfinished) + " unfinished"
	}
	var reasons []string
	for _, by := range build.MostFrequent(c.AbortedBy, len(c.AbortedBy)) {
		reasons = append(reasons, grouped(by.Count)+" by "+printable(by.Name))
	}
	if why := " (" + strings.Join(reasons, ", ") + ")"; len(reasons) > 0 && len(out+why+end) <= columns-summaryNames-2 {
		out += why
	}
	wrapNamed(b, "Chains", out+end)
}

// maxObservations bounds the observations of a Summary.
const maxObservations = 3

// summaryObservations writes the first series of each observation.
func summaryObservations(b *bytes.Buffer, r *runnerv1alpha1.Report) {
	for i := range r.Observations[:min(len(r.Observations), maxObservations)] {
		o, text := &r.Observations[i], "no samples"
		if len(o.Series) > 0 {
			text = strings.TrimSpace(o.Series[0].Label + " " + observedText(&o.Series[0].Figures, o.Unit))
		}
		if more := len(o.Series) - 1; more > 0 {
			text += fmt.Sprintf(", and %d more", more)
		}
		if n := len(o.Gaps); n > 0 {
			text += ", " + build.Plural(n, "gap")
		}
		wrapNamed(b, "Observed", sentence(o.Name+": "+text))
	}
	if more := len(r.Observations) - maxObservations; more > 0 {
		line(b, "  and %d more observations", more)
	}
}

func observedText(f *runnerv1alpha1.SeriesFigures, unit string) string {
	if f.Samples == 0 {
		return "no samples"
	}
	value := func(v float64) string { return build.FormatValue(v, unit) }
	return fmt.Sprintf("mean %s, p95 %s, max %s", value(f.Mean), value(f.P95), value(f.Max))
}

func summaryListeners(b *bytes.Buffer, r *runnerv1alpha1.Report) {
	for i := range r.Listeners {
		l := &r.Listeners[i]
		text := fmt.Sprintf("%s: %s of %s in time", printable(l.Name), grouped(l.InTime), grouped(l.Awaited))
		if wrong := build.NotificationErrors(&l.ListenerCounts, grouped); wrong != "" {
			text += ", " + wrong
		}
		wrapNamed(b, "Notifications", text)
	}
}

func summaryErrors(b *bytes.Buffer, r *runnerv1alpha1.Report) {
	f := errorFigure(r, 0)
	if r.ErrorRate == 0 {
		wrapNamed(b, "Errors", "none")
		return
	}
	wrapNamed(b, "Errors", f.Value+", "+f.Note)
	causes := errorCauses(r)
	for _, c := range build.MostFrequent(causes, maxErrors) {
		behind(b, fmt.Sprintf("  %*s%s x ", summaryNames, "", grouped(c.Count)), sentence(c.Name))
	}
	if more := len(causes) - maxErrors; more > 0 {
		line(b, "  %*sand %d more causes", summaryNames, "", more)
	}
}

// summaryNames is the width of the names of the figures.
const summaryNames = 15

// wrapNamed writes text behind a name, and continues below the text.
func wrapNamed(b *bytes.Buffer, name, text string) {
	behind(b, fmt.Sprintf("  %-*s", summaryNames, name), text)
}

// urgent returns the notes without which the figures mislead, unless the verdict has them.
func urgent(r *runnerv1alpha1.Report) (out []string) {
	if r.Partial {
		out = append(out, "the result is incomplete")
	}
	for i := range r.Bounds {
		out = append(out, sentence(r.Bounds[i].Message))
	}
	return slices.DeleteFunc(out, func(n string) bool { return strings.Contains(r.Verdict.Message, n) })
}

// errorCauses counts the failed requests by cause: "status 503", "check fast", "timed out", "reset: the peer reset
// the stream".
func errorCauses(r *runnerv1alpha1.Report) map[string]int64 {
	q, out := &r.Requests, build.FailedChecks(r)
	out["in flight at the end"] = q.InFlightAtEnd
	for of, n := range map[runnerv1alpha1.FailureOf]int64{
		runnerv1alpha1.FailureReset: q.Reset, runnerv1alpha1.FailureConnectionLost: q.ConnectionLost,
		runnerv1alpha1.FailureDropped: q.Dropped, runnerv1alpha1.FailureTimedOut: q.TimedOut,
	} {
		for _, f := range r.Failures {
			if f.Of == of {
				out[failureOf(of)+": "+failureWords(f.Failure)] += f.Count
				n -= f.Count
			}
		}
		out[failureOf(of)] = n
	}
	for name, n := range out {
		if n <= 0 {
			delete(out, name)
		}
	}
	return out
}

// worstStep returns the step with the highest error rate and, among those with the same, the longest p99; nil if
// there is only one step.
func worstStep(r *runnerv1alpha1.Report) *runnerv1alpha1.StepResult {
	all := slices.Collect(stepsOf(r))
	if len(all) < 2 {
		return nil
	}
	return slices.MaxFunc(all, func(a, b *runnerv1alpha1.StepResult) int {
		return cmp.Or(cmp.Compare(a.ErrorRate, b.ErrorRate), cmp.Compare(a.ResponseTime.P99, b.ResponseTime.P99))
	})
}

// generatorHealth says whether the generator was fast enough.
func generatorHealth(r *runnerv1alpha1.Report) string {
	g := &r.Generator
	out, _ := lagText(r)
	if g.ThrottledMicroseconds > 0 {
		out += ", throttled for " + build.FormatTime(g.ThrottledMicroseconds)
	}
	if g.ShardsLost > 0 {
		return fmt.Sprintf("%d of %d shards lost; ", g.ShardsLost, g.Shards) + out
	}
	return out
}

// unreached returns whether the run proves nothing because no request got a response.
func unreached(r *runnerv1alpha1.Report) bool {
	reasons := []string{judge.ReasonTargetUnreachable, judge.ReasonNotAuthorized, judge.ReasonSetupFailed,
		judge.ReasonDeniedByPolicy, judge.ReasonNoSuccess}
	return r.Requests.Done == 0 && slices.Contains(reasons, r.Verdict.Reason)
}

// remedies say what to do about a target that cannot be reached, unless the message of the verdict does.
var remedies = map[runnerv1alpha1.Cause]string{
	runnerv1alpha1.CauseRefused:        "Start the server, or correct the host or the port of the URL.",
	runnerv1alpha1.CauseUnreachable:    "Correct the host of the URL, or the routes and firewalls on the way to it.",
	runnerv1alpha1.CauseConnectTimeout: "Correct the host of the URL, or the routes and firewalls on the way to it.",
	runnerv1alpha1.CauseDenied:         "Correct the host of the URL, or allow the address in the configuration of the operator.",
	runnerv1alpha1.CauseNotResolved:    "Correct the host of the URL, or add it to the DNS.",
}

func remedy(r *runnerv1alpha1.Report) string {
	speaksAnother := func(f runnerv1alpha1.FailureCount) bool {
		return f.Of == runnerv1alpha1.FailureConnect && f.Cause == runnerv1alpha1.CauseProtocol
	}
	if slices.ContainsFunc(r.Failures, speaksAnother) { // a server answered, so it runs
		return "Correct the scheme or the port of the URL."
	}
	for _, f := range r.Failures {
		if text := remedies[f.Cause]; text != "" && f.Of == runnerv1alpha1.FailureConnect {
			return text
		}
	}
	return "\"h2surge try\" with the same arguments shows each request and its response."
}

// SGR of ECMA-48: bold and a colour.
var colours = map[string]string{"good": "\x1b[1;32m", "bad": "\x1b[1;31m", "unsure": "\x1b[1;33m"}

// coloured colours the first line, and the results of thresholds.
func coloured(text, mood string) string {
	const reset = "\x1b[0m"
	first, rest, _ := strings.Cut(text, "\n")
	for word, mood := range map[string]string{"passed": "good", "FAILED": "bad"} {
		rest = strings.ReplaceAll("\n"+rest, "\n  "+word+"  ", "\n  "+colours[mood]+word+reset+"  ")[1:]
	}
	return colours[mood] + first + reset + "\n" + rest
}
