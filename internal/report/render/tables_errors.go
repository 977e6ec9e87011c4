package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/report/build"
)

// errorKinds are the outcomes that count against the error rate.
func errorKinds(r *runnerv1alpha1.Report) []errorKind {
	q := &r.Requests
	meanings := [...]string{"the response was not as expected", "no complete response within the timeout",
		"the stream ended without a complete response", "the connection closed with the request in flight",
		"scheduled, but never sent"}
	var out []errorKind
	var most int64
	for i, c := range q.Errors() {
		if *c.N > 0 {
			out = append(out, errorKind{Name: c.Words(" "), Class: fmt.Sprintf("c%d", i+2), Count: *c.N, Meaning: meanings[i]})
			most = max(most, *c.N)
		}
	}
	for i := range out {
		out[i].Share = build.FormatPercent(part(out[i].Count, q.Sent+q.Dropped))
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
		found = append(found, grouped(k.Count)+" "+k.Name)
	}
	if len(found) == 0 {
		return "None."
	}
	return "In total: " + strings.Join(found, ", ") + "."
}

// countTable has the shares of all counts.
func countTable(id, caption, head string, counts []build.Named) *table {
	t := &table{ID: id, Topic: topicErrors, Caption: caption, Left: 1, Head: []string{head, "responses", "share"},
		Most: 10, Detail: true}
	var sum int64
	for _, c := range counts {
		sum += c.Count
	}
	for _, c := range counts {
		t.add(printable(c.Name), c.Count, shareCell(part(c.Count, sum)))
	}
	return t
}

func statusTable(r *runnerv1alpha1.Report) *table {
	var codes []build.Named
	for _, code := range slices.Sorted(maps.Keys(r.StatusCodes)) {
		codes = append(codes, build.Named{Name: code, Count: r.StatusCodes[code]})
	}
	t := countTable("codes", "Status codes", "code", codes)
	t.Most = 0
	return t
}

func causeTable(r *runnerv1alpha1.Report) *table {
	return countTable("causes", "Causes of problem details", "cause", build.MostFrequent(r.Causes, len(r.Causes)))
}

// failureTable is empty if nothing failed but checks and requests whose timeout passed.
func failureTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "failures", Topic: topicErrors, Caption: "Failures by cause", Left: 3,
		Head: []string{"what", "why", "address", "count"}, Most: 20}
	for _, f := range r.Failures {
		t.add(failureOf(f.Of), sentence(failureWords(f.Failure)), sentence(f.Address), f.Count)
	}
	return t
}

// failureWords is why a request failed, without the address.
func failureWords(f runnerv1alpha1.Failure) string {
	f.Address = ""
	return failure.Words(f)
}

// failureOf is what failed, in the words of the table of requests.
func failureOf(of runnerv1alpha1.FailureOf) string {
	switch of {
	case runnerv1alpha1.FailureConnectionLost:
		return "connection lost"
	case runnerv1alpha1.FailureTimedOut:
		return "timed out"
	}
	return string(of)
}

// sampleTable is empty if no request failed.
func sampleTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "samples", Topic: topicErrors, Caption: "Samples of failed requests", Left: 3,
		Head: []string{"what", "header", "body"}, Most: 5, List: true, Detail: true}
	for i := range r.Samples {
		s := &r.Samples[i]
		var header []string
		for _, f := range s.Header {
			header = append(header, sentence(f.Name+": "+f.Value))
		}
		t.add(sampleTitle(s), strings.Join(header, "; "), sampleText(s.Body))
	}
	return t
}

// sampleTitle is "session/create after 1.2s: status 503, failed status, trace 4bf9..., sampled".
func sampleTitle(s *runnerv1alpha1.Sample) string {
	what := fmt.Sprintf("status %d, failed %s", s.Status, printable(s.Check))
	if s.Outcome != "" {
		what = outcomeNames[s.Outcome]
	}
	if s.TraceID != "" {
		what += ", trace " + traceText(&s.Trace)
	}
	return fmt.Sprintf("%s/%s after %s: %s", s.Chain, s.Step, build.FormatTime(s.At*1000), what)
}

// outcomeNames are the texts of Sample.Outcome.
var outcomeNames = map[string]string{
	runnerv1alpha1.AbortTimedOut: "timed out", runnerv1alpha1.AbortReset: "reset",
	runnerv1alpha1.AbortConnectionLost: "connection lost",
}

// sampleText is the beginning of a body in one line. The JSON has all of the body.
func sampleText(body string) string {
	const shown = 200
	text := sentence(strings.Join(strings.Fields(body), " "))
	if len(text) > shown {
		text = text[:shown] + "..."
	}
	return text
}
