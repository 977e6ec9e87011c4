package render

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	judge "github.com/h2surge/h2surge/internal/report/verdict"
)

// The elements of JUnit's XML that build servers read.
type (
	junitSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		Suite   junitSuite
	}
	junitSuite struct {
		XMLName   xml.Name    `xml:"testsuite"`
		Name      string      `xml:"name,attr"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Errors    int         `xml:"errors,attr"`
		Skipped   int         `xml:"skipped,attr"`
		Time      string      `xml:"time,attr"`
		Timestamp string      `xml:"timestamp,attr,omitempty"`
		Cases     []junitCase `xml:"testcase"`
		Output    junitOutput `xml:"system-out"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
		Skipped *junitProblem `xml:"skipped"`
	}
	junitOutput struct {
		Text string `xml:",cdata"`
	}
	junitProblem struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the verdict as JUnit XML: a test case for the run and one for each threshold. The output of the suite
// is the report as text.
func JUnit(w io.Writer, r *runnerv1alpha1.Report) error {
	var text bytes.Buffer
	if err := Text(&text, r); err != nil {
		return err
	}
	lasted := junitTime(r)
	s := junitSuite{Name: r.Name, Time: lasted, Timestamp: junitTimestamp(r.StartTime),
		Output: junitOutput{allowed(text.String())}}
	s.add(runCase(r, lasted))
	for i := range r.Verdict.Thresholds {
		s.add(thresholdCase(r, &r.Verdict.Thresholds[i]))
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	e := xml.NewEncoder(&b)
	e.Indent("", "  ")
	err := e.Encode(junitSuites{Suite: s})
	b.WriteByte('\n')
	return finish(w, &b, "report as JUnit XML", err)
}

// allowed replaces the control characters that XML does not allow. The encoder does this except in CDATA.
func allowed(text string) string {
	return strings.Map(func(c rune) rune {
		if c != '\n' && !unicode.IsPrint(c) {
			return unicode.ReplacementChar
		}
		return c
	}, text)
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

// runCase fails if the run failed for another reason than its thresholds, which have their own cases. It has an error
// if the exit code is that of a run which proves nothing.
func runCase(r *runnerv1alpha1.Report, lasted string) junitCase {
	v := &r.Verdict
	c := junitCase{Name: "run", Class: r.Name, Time: lasted}
	problem := &junitProblem{Type: v.Reason, Message: string(v.Outcome) + ": " + v.Message, Text: v.Message}
	switch code := judge.ExitCode(r); {
	case code == judge.ExitPassed || v.Reason == judge.ReasonThresholdsFailed:
	case code == judge.ExitFailed:
		c.Failure = problem
	default:
		c.Error = problem
	}
	return c
}

// thresholdCase is skipped if the threshold is exceeded in a run that proves nothing.
func thresholdCase(r *runnerv1alpha1.Report, t *runnerv1alpha1.ThresholdResult) junitCase {
	c := junitCase{Name: t.Name, Class: r.Name + ".thresholds", Time: "0"}
	switch {
	case t.Passed:
	case t.NotCompared() != "":
		c.Skipped = &junitProblem{Message: t.String()}
	case r.Verdict.Outcome == runnerv1alpha1.OutcomeFailed:
		c.Failure = &junitProblem{Type: string(t.Metric), Message: t.String(), Text: t.String()}
	default:
		c.Skipped = &junitProblem{Message: fmt.Sprintf("%s; this does not count, because the verdict is %s (%s)", t,
			r.Verdict.Outcome, r.Verdict.Reason)}
	}
	return c
}

// junitTime is the time from the first to the last request, in seconds.
func junitTime(r *runnerv1alpha1.Report) string {
	from, errFrom := time.Parse(time.RFC3339, r.StartTime)
	to, errTo := time.Parse(time.RFC3339, r.EndTime)
	if errFrom != nil || errTo != nil {
		return "0"
	}
	return strconv.FormatFloat(to.Sub(from).Seconds(), 'f', -1, 64)
}

// junitTimestamp has no zone, because the schema of JUnit does not allow one. It is UTC.
func junitTimestamp(start string) string {
	at, err := time.Parse(time.RFC3339, start)
	if err != nil {
		return ""
	}
	return at.UTC().Format("2006-01-02T15:04:05")
}
