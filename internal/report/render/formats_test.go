package render

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	judge "github.com/h2surge/h2surge/internal/report/verdict"
	"github.com/h2surge/h2surge/test/golden"
)

// parsedSuites is what a build server reads of JUnit XML.
type parsedSuites struct {
	Suites []struct {
		Name      string  `xml:"name,attr"`
		Tests     int     `xml:"tests,attr"`
		Failures  int     `xml:"failures,attr"`
		Errors    int     `xml:"errors,attr"`
		Skipped   int     `xml:"skipped,attr"`
		Time      float64 `xml:"time,attr"`
		Timestamp string  `xml:"timestamp,attr"`
		Cases     []struct {
			Name    string  `xml:"name,attr"`
			Time    float64 `xml:"time,attr"`
			Failure *string `xml:"failure"`
			Error   *string `xml:"error"`
			Skipped *string `xml:"skipped"`
		} `xml:"testcase"`
		Output string `xml:"system-out"`
	} `xml:"testsuite"`
}

func parsedJUnit(t *testing.T, r *runnerv1alpha1.Report) (out parsedSuites, text string) {
	t.Helper()
	var b bytes.Buffer
	if err := JUnit(&b, r); err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(b.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	if len(out.Suites) != 1 {
		t.Fatalf("%d suites", len(out.Suites))
	}
	return out, b.String()
}

func TestJUnit(t *testing.T) {
	parsed, text := parsedJUnit(t, full())
	golden.Compare(t, "full.junit.xml", []byte(text))
	s := parsed.Suites[0]
	if s.Name != "core/pcf-app-sessions" || s.Time != 70 || s.Timestamp != "2026-01-02T02:04:05" || !strings.Contains(s.Output, "Verdict: Failed") {
		t.Errorf("%+v", s)
	}
	golden.Compare(t, "bare.junit.xml", []byte(second(parsedJUnit(t, bare()))))
}

// TestScopesOfThresholds: each format says what a threshold is on, and a time of a part of the run is no limit in a plot of the run.
func TestScopesOfThresholds(t *testing.T) {
	r := full()
	r.Verdict.Thresholds = nil
	for _, stage := range []string{"before", "after"} {
		r.Verdict.Thresholds = append(r.Verdict.Thresholds, runnerv1alpha1.ThresholdResult{
			Name: "fast-" + stage, Metric: runnerv1alpha1.MetricResponseTime, Percentile: "p99", Limit: "<= 20ms", Observed: "31ms", Window: "30s",
			Of: runnerv1alpha1.Selector{Chain: "app", Step: "create", Stage: stage},
		})
	}
	for name, write := range map[string]func(io.Writer, *runnerv1alpha1.Report) error{"text": Text, "HTML": HTML, "Markdown": Markdown, "JUnit": JUnit} {
		var b bytes.Buffer
		if err := write(&b, r); err != nil {
			t.Fatal(err)
		}
		for i := range r.Verdict.Thresholds {
			if want := r.Verdict.Thresholds[i].Figure(); !strings.Contains(strings.Join(strings.Fields(b.String()), " "), want) {
				t.Errorf("%s: no %q", name, want)
			}
		}
	}
	if got := timeLimits(r, runnerv1alpha1.MetricResponseTime); len(got) > 0 {
		t.Errorf("limits of the run: %+v", got)
	}
}

// TestJUnitCases: which case fails depends on the verdict.
func TestJUnitCases(t *testing.T) {
	exceeded := []runnerv1alpha1.ThresholdResult{
		{Name: "fast", Metric: runnerv1alpha1.MetricResponseTime, Percentile: "p99", Limit: "<= 20ms", Observed: "31ms"},
		{Name: "clean", Metric: runnerv1alpha1.MetricErrorRate, Limit: "<= 1%", Observed: "0%", Passed: true},
	}
	const text = "fast: p99 of ResponseTime 31ms > 20ms"
	for _, tt := range []struct {
		name    string
		verdict runnerv1alpha1.Verdict
		search  *runnerv1alpha1.SearchResult
		want    map[string]string
	}{
		{"passed", runnerv1alpha1.Verdict{Outcome: runnerv1alpha1.OutcomePassed, Reason: judge.ReasonPassed, Thresholds: exceeded[1:]}, nil,
			map[string]string{"run": "", "clean": ""}},
		{"a threshold", runnerv1alpha1.Verdict{Outcome: runnerv1alpha1.OutcomeFailed, Reason: judge.ReasonThresholdsFailed, Message: text, Thresholds: exceeded}, nil,
			map[string]string{"run": "", "fast": "failure: " + text, "clean": ""}},
		{"the default limit", runnerv1alpha1.Verdict{Outcome: runnerv1alpha1.OutcomeFailed, Reason: judge.ReasonTooManyErrors, Message: "too many"}, nil,
			map[string]string{"run": "failure: too many"}},
		{"the generator", runnerv1alpha1.Verdict{Outcome: runnerv1alpha1.OutcomeInconclusive, Reason: judge.ReasonGeneratorBound, Message: "lag", Thresholds: exceeded}, nil,
			map[string]string{"run": "error: lag", "fast": "skipped: ", "clean": ""}},
		{"the generator, without thresholds", runnerv1alpha1.Verdict{Outcome: runnerv1alpha1.OutcomeInconclusive, Reason: judge.ReasonGeneratorBound, Message: "lag"}, nil,
			map[string]string{"run": ""}},
		{"the generator in a search, without thresholds", runnerv1alpha1.Verdict{Outcome: runnerv1alpha1.OutcomeInconclusive, Reason: judge.ReasonGeneratorBound, Message: "lag"},
			&runnerv1alpha1.SearchResult{Outcome: runnerv1alpha1.SearchGeneratorBound}, map[string]string{"run": "error: lag"}},
		{"stopped", runnerv1alpha1.Verdict{Outcome: runnerv1alpha1.OutcomeStopped, Reason: judge.ReasonStopped, Message: "a user stopped it", Thresholds: exceeded[:1]}, nil,
			map[string]string{"run": "error: a user stopped it", "fast": "skipped: "}},
		{"the target", runnerv1alpha1.Verdict{Outcome: runnerv1alpha1.OutcomeError, Reason: judge.ReasonTargetUnreachable, Message: "refused"}, nil,
			map[string]string{"run": "error: refused"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parsed, _ := parsedJUnit(t, &runnerv1alpha1.Report{Verdict: tt.verdict, Search: tt.search})
			s, got := parsed.Suites[0], map[string]string{}
			counts := map[string]int{}
			for _, c := range s.Cases {
				got[c.Name] = ""
				for kind, text := range map[string]*string{"failure": c.Failure, "error": c.Error, "skipped": c.Skipped} {
					if text != nil {
						got[c.Name] += kind + ": " + *text
						counts[kind]++
					}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if s.Tests != len(s.Cases) || s.Failures != counts["failure"] || s.Errors != counts["error"] || s.Skipped != counts["skipped"] {
				t.Errorf("%d tests, %d failures, %d errors, %d skipped; the cases have %d, %v", s.Tests, s.Failures, s.Errors, s.Skipped, len(s.Cases), counts)
			}
		})
	}
}

// TestJUnitEscapes: characters that XML does not allow do not make the file unreadable.
func TestJUnitEscapes(t *testing.T) {
	r := full()
	r.Name, r.Verdict.Reason, r.Verdict.Message = "<&\"'\x00\x1b]]>", judge.ReasonTooManyErrors, "</failure>\x01 \xff"
	parsed, _ := parsedJUnit(t, r)
	if got := parsed.Suites[0].Cases[0].Failure; got == nil || *got != "</failure>\uFFFD \uFFFD" {
		t.Errorf("%v", got)
	}
}

func TestCSV(t *testing.T) {
	r := watchedReport()
	r.Windows[0].Stage = "a, \"b\""
	var b bytes.Buffer
	if err := CSV(&b, r); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "full.csv", b.Bytes())
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1+len(r.Windows) {
		t.Fatalf("%d rows for %d windows", len(rows), len(r.Windows))
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	for i := range r.Windows {
		w := &r.Windows[i]
		for name, want := range map[string]string{
			"from": decimal(w.From), "stage": w.Stage, "warmUp": strconv.FormatBool(w.WarmUp), "suspended": strconv.FormatBool(w.Suspended), "achieved": raw(rateCell(w.Achieved)),
			"succeeded": decimal(w.Succeeded), "failedChecks": decimal(w.FailedChecks), "dropped": decimal(w.Dropped), "inFlight": decimal(w.InFlight), "shards": strconv.Itoa(w.Shards),
			"responseTime.count": decimal(w.ResponseTime.Count), "responseTime.p99": unlessZero(w.ResponseTime.P99), "lagP99": unlessZero(w.LagP99),
		} {
			if got := rows[1+i][column[name]]; got != want {
				t.Errorf("window %d: %s is %q, want %q", i, name, got, want)
			}
		}
	}
	if got := rows[2][column["time"]]; got != "2026-01-02T02:04:06.678Z" {
		t.Errorf("the second window starts at %q", got)
	}
}

func unlessZero(v int64) string {
	if v == 0 {
		return ""
	}
	return decimal(v)
}

func TestMarkdown(t *testing.T) {
	for name, r := range map[string]*runnerv1alpha1.Report{"full.md": watchedReport(), "bare.md": bare(), "lagged.md": lagged()} {
		var b bytes.Buffer
		if err := Markdown(&b, r); err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, name, b.Bytes())
	}
}

// TestMarkdownEscapes: a name does not become a link, HTML or one more column.
func TestMarkdownEscapes(t *testing.T) {
	const evil = "a|b <script> [x](y) `c` *d* @e \n## f"
	const want = "a\\|b \\<script> \\[x\\](y) \\`c\\` \\*d\\* \\@e \\#\\# f"
	if got := markdownText(evil); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r := full()
	r.Steps[0].Step = "x|y"
	var b bytes.Buffer
	if err := Markdown(&b, r); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, `x\|y`) && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 9 {
			t.Errorf("columns: %s", line)
		}
	}
}

func TestFullDisk(t *testing.T) {
	for name, write := range map[string]func(io.Writer, *runnerv1alpha1.Report) error{
		"JUnit": JUnit, "CSV": CSV, "hlog": HistogramLog, "hgrm": Percentiles, "Markdown": Markdown,
	} {
		if err := write(fullDisk{}, full()); err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCounts: the counts of an operation add up to its requests. Without operations, they are those of the steps.
func TestCounts(t *testing.T) {
	r := full()
	r.Listeners = []runnerv1alpha1.ListenerResult{{Name: "events", ListenerCounts: runnerv1alpha1.ListenerCounts{Received: 95, InTime: 90, Late: 3, Duplicate: 2, Awaited: 100, Missing: 10, Measured: runnerv1alpha1.AwaitCounts{Awaited: 100, InTime: 90, Missing: 10}}}}
	var b bytes.Buffer
	if err := Counts(&b, r); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "full.counts.csv", b.Bytes())
	for i := range r.Operations {
		o, all := &r.Operations[i], int64(0)
		for _, c := range outcomesOf(o) {
			all += c.count
		}
		if len(o.StatusCodes) > 0 && all != o.Sent {
			t.Errorf("%s: %d outcomes of %d requests", o.Operation, all, o.Sent)
		}
	}
	r.Operations = nil
	b.Reset()
	if err := Counts(&b, r); err != nil || !strings.Contains(b.String(), "request,,app-session/create,response,503,NF_CONGESTION,900\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// TestCountsWithoutWarmUp: requests and notifications are those of measured stages.
func TestCountsWithoutWarmUp(t *testing.T) {
	r := full()
	r.Listeners = []runnerv1alpha1.ListenerResult{{Name: "events", ListenerCounts: runnerv1alpha1.ListenerCounts{
		Received: 95, InTime: 90, FailedChecks: 9, Late: 3, Duplicate: 2, Awaited: 110, Missing: 15, WaitingAtEnd: 5,
		Measured: runnerv1alpha1.AwaitCounts{Awaited: 100, InTime: 86, FailedChecks: 6, Missing: 10},
	}}}
	var b bytes.Buffer
	if err := Counts(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"inTime,,,86", "failedChecks,,,6", "missing,,,10", "waitingAtEnd,,,4", "late,,,3"} {
		if !strings.Contains(b.String(), "notification,events,,"+want+"\n") {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
}

// TestCountsOfHostileCauses: a cause comes from the server, and a spreadsheet executes a cell that begins like a formula.
func TestCountsOfHostileCauses(t *testing.T) {
	for cause, want := range map[string]string{
		`=HYPERLINK("http://a","b")`: `"'=HYPERLINK(""http://a"",""b"")"`,
		"+1":                         "'+1",
		"-1":                         "'-1",
		"@SUM(A1)":                   "'@SUM(A1)",
		"\t=1":                       "'\t=1",
		"a,b":                        `"a,b"`,
		"NF_CONGESTION":              "NF_CONGESTION",
	} {
		r := &runnerv1alpha1.Report{Operations: []runnerv1alpha1.OperationResult{{
			Target: "t", Operation: "o", Outcomes: runnerv1alpha1.Outcomes{Sent: 1, Done: 1}, StatusCodes: map[string]int64{"503": 1}, Problems: []runnerv1alpha1.ProblemResult{{Status: 503, Cause: cause, Count: 1}},
		}}}
		var b bytes.Buffer
		if err := Counts(&b, r); err != nil {
			t.Fatal(err)
		}
		if _, got, _ := strings.Cut(b.String(), "response,503,"); got != want+",1\n" {
			t.Errorf("%s: %q, want %q", cause, got, want)
		}
	}
}

// TestThresholdCells: times of thresholds look like those of figures, and other figures stay as they are. A column of zeros stays.
func TestThresholdCells(t *testing.T) {
	for _, tc := range []struct {
		metric                                   runnerv1alpha1.Metric
		observed, limit, wantObserved, wantLimit string
	}{
		{runnerv1alpha1.MetricResponseTime, "355us", "<= 20ms", "355 \u00b5s", "<= 20 ms"},
		{runnerv1alpha1.MetricServiceTime, "> 5s", "<= 1.5s", "> 5 s", "<= 1.5 s"},
		{runnerv1alpha1.MetricResponseTime, "1m30s", "<= 1m", "1m30s", "<= 1m"},
		{runnerv1alpha1.MetricResponseTime, "2us", "<= 1500ns", "2 \u00b5s", "<= 1500 ns"},
		{runnerv1alpha1.MetricResponseTime, "none", ">= 3\u03bcs", "none", ">= 3 \u00b5s"},
		{runnerv1alpha1.MetricErrorRate, "0%", "<= 1%", "0%", "<= 1%"},
		{"p99 of ResponseTime", "355us", "<= 20ms", "355 \u00b5s", "<= 20 ms"}, // from the status of a LoadTest
		{"TimedOut", "0", "<= 0", "0", "<= 0"},
	} {
		r := &runnerv1alpha1.Report{Verdict: runnerv1alpha1.Verdict{Thresholds: []runnerv1alpha1.ThresholdResult{{Name: "a", Metric: tc.metric, Observed: tc.observed, Limit: tc.limit, Passed: true}}}}
		shown := tables(r, nil)[0]
		row := shown.Long(shown.Rows[0])
		if diff := cmp.Diff([]string{tc.wantObserved, tc.wantLimit}, row[3:]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.metric, diff)
		}
	}
}
