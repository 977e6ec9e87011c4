package cluster

import (
	"fmt"
	"strings"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/mask"
	"github.com/h2surge/h2surge/internal/report/build"
)

// Status returns a text about a test. Next returns the command line of one of the plugin's commands for this test.
func Status(lt *v1alpha1.LoadTest, now time.Time, next func(command string) string) []string {
	t := &statusText{}
	t.add("name", lt.Namespace+"/"+lt.Name)
	t.add("phase", phaseText(lt, now))
	st := &lt.Status
	if st.Shards != nil {
		n := countShards(lt)
		t.add("shards", n.String())
	}
	t.results(lt, now)
	if text := healthText(st.Generator); text != "" {
		t.add("generator", text)
	}
	for _, c := range notable(lt) {
		first, rest, _ := strings.Cut(c.Message, "\n")
		t.add("condition", fmt.Sprintf("%s %s, %s: %s", c.Type, c.Status, mask.Line(c.Reason), mask.Line(first)))
		for line := range strings.Lines(rest) {
			t.add("condition", "  "+mask.Line(line))
		}
	}
	for i := range st.Runners {
		r := &st.Runners[i]
		if text := runnerText(lt, r); text != "" {
			t.add("runner", fmt.Sprintf("%d%s: %s", r.Shard, podAndNode(r), text))
		}
	}
	if more := unlisted(lt); more > 0 {
		t.add("runner", fmt.Sprintf("%d more have a problem", more))
	}
	if st.Verdict == nil {
		t.thresholds(st.Thresholds, okSoFar)
	}
	for i, line := range ProbeLines(lt, 0) {
		t.add("probe", strings.TrimPrefix(line, fmt.Sprintf("probe %d: ", i+1)))
	}
	for i := range st.Changes {
		t.add("change", changeText(&st.Changes[i]))
	}
	t.verdict(lt)
	t.add("next", nextStep(lt, next))
	return t.lines
}

// statusText has lines of a name and a value. A name is written once if it is the name of several lines.
type statusText struct {
	lines []string
	last  string
}

func (t *statusText) add(name, value string) {
	shown := name
	if name == t.last {
		shown = ""
	}
	t.last = name
	t.lines = append(t.lines, fmt.Sprintf("%-10s %s", shown, value))
}

func (t *statusText) results(lt *v1alpha1.LoadTest, now time.Time) {
	r := lt.Status.Results
	if r == nil {
		return
	}
	t.add("rate", rateOf(lt, now))
	t.add("times", timesText(&r.ResponseTime))
	t.add("requests", fmt.Sprintf("%d sent, %d succeeded", r.Requests.Sent, r.Requests.Succeeded))
	errs := build.FormatPercent(r.ErrorRate)
	if kinds := errorKinds(r); len(kinds) > 0 {
		errs += ": " + namedText(kinds)
	}
	t.add("errors", errs)
	if r.Partial {
		t.add("partial", "a runner was lost; the results lack its last figures")
	}
}

func (t *statusText) verdict(lt *v1alpha1.LoadTest) {
	v := lt.Status.Verdict
	if v == nil {
		return
	}
	t.add("verdict", fmt.Sprintf("%s, %s: %s", mask.Line(v.Outcome), mask.Line(v.Reason), mask.Line(v.Message)))
	t.thresholds(v.Thresholds, "passed")
	if ref := lt.Status.Report; ref != nil {
		text := "ConfigMap " + mask.Line(ref.ConfigMapRef.Name)
		if len(ref.Dropped) > 0 {
			text += ", without " + mask.Line(strings.Join(ref.Dropped, ", "))
		}
		t.add("report", text)
	}
}

// thresholds adds a line for each threshold. Before the end, the word for one that has not failed is "ok".
func (t *statusText) thresholds(all []v1alpha1.ThresholdStatus, passed string) {
	for i := range all {
		t.add("threshold", thresholdText(&all[i], passed))
	}
}

// thresholdText is a threshold as a line of text, such as "FAILED fast: p99 of ResponseTime 31.2ms > 20ms".
func thresholdText(t *v1alpha1.ThresholdStatus, passed string) string {
	word := passed
	switch {
	case t.Observed == rv.ObservedNone && passed == okSoFar:
		word = "-"
	case t.NotCompared != "":
		word = "-"
	case !t.Passed:
		word = "FAILED"
	}
	name, figure, observed, limit := mask.Line(t.Name), mask.Line(t.Figure), mask.Line(t.Observed), mask.Line(t.Limit)
	text := rv.ThresholdText(name, figure, observed, limit, t.Passed)
	if t.Baseline != "" {
		text = rv.ComparedText(name, figure, observed, limit, t.Passed, mask.Line(t.Baseline), mask.Line(t.NotCompared))
	}
	return fmt.Sprintf("%-6s ", word) + text
}

// okSoFar is the word for a threshold that has not failed while the test runs.
const okSoFar = "ok"

func phaseText(lt *v1alpha1.LoadTest, now time.Time) string {
	text := phase(lt)
	switch {
	case lt.Status.CompletionTime != nil && lt.Status.StartTime != nil:
		return fmt.Sprintf("%s after %s, %s ago", text, age(lt, now), since(lt.Status.CompletionTime.Time, now))
	case lt.Status.CompletionTime != nil:
		return fmt.Sprintf("%s, %s ago", text, since(lt.Status.CompletionTime.Time, now))
	}
	text += ", " + age(lt, now).String()
	if stage := stageText(lt, now); stage != "" {
		text += ", stage " + stage
	}
	return text
}

func timesText(t *v1alpha1.Times) string {
	of := func(us *int64) string { return timeText(us, t.AboveMicroseconds) }
	return fmt.Sprintf("p50 %s  p90 %s  p95 %s  p99 %s  p99.9 %s  max %s", of(t.P50Microseconds), of(t.P90Microseconds),
		of(t.P95Microseconds), of(t.P99Microseconds), of(t.P999Microseconds), of(t.MaxMicroseconds))
}

func changeText(c *v1alpha1.Change) string {
	text := fmt.Sprintf("%s %s: %s -> %s", c.Time.UTC().Format(time.TimeOnly), mask.Line(c.Field), mask.Line(c.From),
		mask.Line(c.To))
	if c.AppliedAt == nil {
		return text + ", not active yet"
	}
	return text + ", active since " + c.AppliedAt.UTC().Format("15:04:05.000")
}

func nextStep(lt *v1alpha1.LoadTest, next func(command string) string) string {
	switch {
	case lt.Status.Report != nil:
		return next("report")
	case Invalid(lt):
		return "fix the spec and apply it again; no load was sent"
	case Finished(lt):
		return fmt.Sprintf("kubectl describe -n %s loadtest %s", lt.Namespace, lt.Name)
	case lt.Spec.Suspend:
		return next("resume")
	case lt.Status.Phase == "":
		return "if the status stays empty, check that the operator runs"
	}
	return next("watch")
}
