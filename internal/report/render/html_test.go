package render

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
	"github.com/h2surge/h2surge/test/golden"
)

// watchedReport is full, with what only the page shows.
func watchedReport() *runnerv1alpha1.Report {
	r := full()
	var h histogram.H
	for i := range int64(2000) {
		h.Record(1000 + i*i/100)
	}
	r.Histograms = &runnerv1alpha1.ReportHistograms{ResponseTime: h.Encode(), ServiceTime: h.Encode()}
	for i := range int64(6) {
		w := runnerv1alpha1.Window{
			From: i * 1000, To: i*1000 + 1000, Stage: "warm", WarmUp: true, Revision: 1, Asked: 1000, Achieved: 990,
			Sent: 990, Succeeded: 980, InFlight: 10, Shards: 2,
		}
		if i >= 2 {
			w.Stage, w.WarmUp, w.Asked, w.FailedChecks, w.Dropped = "hold", false, 0, i, 1
			w.ResponseTime = runnerv1alpha1.WindowTimes{Count: 900, P50: 1100, P90: 2200, P99: 8400, Max: 31_000}
			w.LagP99, w.Revision = 120, 1+i/4
		}
		r.Windows = append(r.Windows, w)
	}
	r.Windows[3].Suspended, r.Windows[4].Suspended = true, true
	r.Stages[1].Paused = 2.5
	r.Generator.ShardsJoined, r.Generator.ShardsLeft = 1, 1
	r.WindowsFrom = 4000
	r.Shards = []runnerv1alpha1.ShardResult{
		{Shard: 0, Pod: "p-0", Node: "n-1", Workers: 2, CPUs: []int{2, 3}, Exclusive: true, Sent: 1_800_000, Succeeded: 1_799_000, ResponseTime: r.ResponseTime},
		{Shard: 1, Left: 2000}, {Shard: 1, Joined: 4500, Lost: true},
	}
	return r
}

func written(t *testing.T, r *runnerv1alpha1.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var (
	drawn    = regexp.MustCompile(` (d|x|y|dx|dy|width|viewBox)="[^"]*"`)
	embedded = regexp.MustCompile(`(?s)<style>.*</style>|<script>.*</script>|'sha256-[^']*'|&#39;sha256-.*?&#39;`)
)

// structure is a page without what is only to be seen.
func structure(page string) string {
	return drawn.ReplaceAllString(embedded.ReplaceAllString(page, ""), "")
}

func TestHTML(t *testing.T) {
	golden.Compare(t, "full.html", []byte(structure(written(t, watchedReport()))))
	golden.Compare(t, "bare.html", []byte(structure(written(t, bare()))))
	golden.Compare(t, "lagged.html", []byte(structure(written(t, lagged()))))
}

func TestTextOfAScaledRun(t *testing.T) {
	var b bytes.Buffer
	if err := Text(&b, watchedReport()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"hold, paused for 2.5 s", "1 joined late, 1 left early, 0 lost; "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// element is one of a page: its name, and its attributes with their values.
type element struct {
	name  string
	attrs []html.Attribute
}

func elements(t *testing.T, page string) (out []element) {
	t.Helper()
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		switch z.Next() {
		case html.ErrorToken:
			if !errors.Is(z.Err(), io.EOF) {
				t.Fatal(z.Err())
			}
			return out
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			out = append(out, element{token.Data, token.Attr})
		}
	}
}

// TestHTMLEscapes puts markup into every name: it must come out as text.
func TestHTMLEscapes(t *testing.T) {
	count := func(page string) map[string]int {
		out := map[string]int{}
		for _, e := range elements(t, page) {
			out[e.name]++
			for _, a := range e.attrs {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" {
					t.Errorf("<%s> has %s", e.name, a.Key)
				}
			}
		}
		return out
	}
	const evil = `"'></title></svg></style><script>alert(1)</script><img src=x onerror=alert(2)>{{.}}`
	clean, r := watchedReport(), watchedReport()
	r.Name, r.PlanHash, r.Version, r.StartTime, r.Stopped = evil, evil, evil, evil, evil
	clean.Stopped = "x"
	r.Verdict.Message, r.Verdict.Reason, r.Verdict.Outcome = evil, evil, runnerv1alpha1.Outcome(evil+evil)
	r.Verdict.Thresholds[0].Name, r.Verdict.Thresholds[0].Observed = evil, evil
	for i := range r.Windows {
		r.Windows[i].Stage = evil
	}
	r.Stages[0].Name, r.Steps[0].Chain, r.Steps[0].Step, r.Shards[0].Pod = evil, evil, evil, evil
	r.Steps[0].FailedBy = map[string]int64{evil: 1, "x": 2}
	r.Chains.AbortedBy[evil], clean.Chains.AbortedBy["x"] = 5, 5
	r.Causes[evil], clean.Causes["x"] = 5, 5
	r.StatusCodes[evil], clean.StatusCodes["x"] = 5, 5
	page := written(t, r)
	want, got := count(written(t, clean)), count(page)
	delete(want, "text") // a stage with a long name has no label
	delete(got, "text")
	delete(want, "rect") // two stages of one name are one
	delete(got, "rect")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("elements (-clean +evil):\n%s", diff)
	}
	if !strings.Contains(page, "&lt;script&gt;alert(1)") {
		t.Error("the name is not in the page")
	}
}

// TestHTMLIsWhole: nothing in the page refers to anything outside.
func TestHTMLIsWhole(t *testing.T) {
	page := written(t, watchedReport())
	for _, e := range elements(t, page) {
		for _, a := range e.attrs {
			switch a.Key {
			case "src", "href", "srcset", "action", "data", "poster", "xlink:href":
				if a.Val != "data:," {
					t.Errorf("<%s %s=%q>", e.name, a.Key, a.Val)
				}
			}
		}
	}
	for _, word := range []string{"@import", "url(", "fetch(", "XMLHttpRequest", "import("} {
		if strings.Contains(page, word) {
			t.Errorf("the page has %q", word)
		}
	}
}

// TestHTMLDraws: no figure, however odd, makes a coordinate that is none.
func TestHTMLDraws(t *testing.T) {
	none := regexp.MustCompile(`NaN|[+-]Inf`)
	odd := watchedReport()
	odd.Windows = odd.Windows[:1]
	odd.Windows[0] = runnerv1alpha1.Window{}
	var one histogram.H
	one.Record(0)
	odd.Histograms = &runnerv1alpha1.ReportHistograms{ResponseTime: one.Encode()}
	huge := watchedReport()
	huge.Windows[3].Achieved, huge.Windows[3].ResponseTime.Max = 1e12, 1<<60
	for name, r := range map[string]*runnerv1alpha1.Report{"watched": watchedReport(), "bare": bare(), "odd": odd, "huge": huge, "empty": {}} {
		if page := structure(written(t, r)); none.MatchString(page) {
			t.Errorf("%s: %s", name, none.FindString(page))
		}
		for _, e := range elements(t, written(t, r)) {
			for _, a := range e.attrs {
				if e.name != "meta" && none.MatchString(a.Val) {
					t.Errorf("%s: <%s %s=%q>", name, e.name, a.Key, a.Val)
				}
			}
		}
	}
}

func TestHTMLErrors(t *testing.T) {
	if err := HTML(fullDisk{}, full()); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("a full disk: %v", err)
	}
	r := watchedReport()
	r.Histograms.ServiceTime.Counts = []byte("!")
	if err := HTML(&bytes.Buffer{}, r); err == nil || !strings.Contains(err.Error(), "histogram of service time") {
		t.Errorf("a histogram that cannot be read: %v", err)
	}
}

func TestScales(t *testing.T) {
	tests := []struct {
		name  string
		ticks []float64
		want  []float64
	}{
		{"linear", second(linear(7800, 5)), []float64{0, 2000, 4000, 6000, 8000}},
		{"linear, exactly", second(linear(500, 5)), []float64{0, 100, 200, 300, 400, 500}},
		{"linear, nothing", second(linear(0, 5)), []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{"span", second(span(40.4, 7)), []float64{0, 10, 20, 30, 40}},
		{"logarithmic", second(logarithmic(250, 501_000)), []float64{100, 1000, 10_000, 100_000, 1_000_000}},
		{"logarithmic, short", second(logarithmic(3, 40)), []float64{1, 2, 5, 10, 20, 50}},
		{"logarithmic, nothing", second(logarithmic(0, 0)), []float64{1, 2}},
	}
	for _, tt := range tests {
		got := make([]float64, len(tt.ticks))
		for i, v := range tt.ticks {
			got[i] = float64(int64(v*1e6+0.5)) / 1e6
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	s := scale{log: true, min: 1, max: 100, from: 0, to: 10}
	if s.at(10) != 5 || s.at(0) != 0 || s.at(1e9) != 10 {
		t.Errorf("10 is at %v, 0 at %v, 1e9 at %v", s.at(10), s.at(0), s.at(1e9))
	}
}

func second[A, B any](_ A, b B) B { return b }

func TestWords(t *testing.T) {
	tests := []struct{ got, want string }{
		{grouped(0), "0"}, {grouped(999), "999"}, {grouped(1000), "1,000"}, {grouped(-1_234_567), "-1,234,567"},
		{short(0), "0"}, {short(1500), "1.5k"}, {short(2e6), "2M"}, {short(3e9), "3G"},
		{micro(950), "950 \u00b5s"}, {micro(8420), "8.42 ms"}, {micro(2_000_000), "2 s"}, {micro(75_000_000), "1m15s"},
		{percent(0.999), "99.9"}, {percent(1 - 1e-6), "99.9999"}, {clock(7.5), "7.5 s"}, {clock(120), "2m"}, {clock(90), "1m30s"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
}

// TestLiveHTML: the page of a running test has a state instead of a verdict, and may read itself again. Requests in flight
// are not errors.
func TestLiveHTML(t *testing.T) {
	r := watchedReport()
	r.EndTime, r.Requests = "", runnerv1alpha1.Requests{Outcomes: runnerv1alpha1.Outcomes{Sent: 1000, Done: 900, Succeeded: 890, InFlightAtEnd: 100}}
	var b bytes.Buffer
	if err := LiveHTML(&b, r, &Live{Phase: "Paused", Detail: "stage <hold>", Trouble: "no answer"}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{
		"<main data-live>", "</span> Paused <small>stage &lt;hold&gt;</small>", "<p>no answer</p>", "So far: Failed, clean: ErrorRate", ", paused</title>",
		"Since <time", "<span>10 of 900</span>", "connect-src &#39;self&#39;", liveScript,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, structure(page))
		}
	}
	final := written(t, r)
	for _, not := range []string{"data-live>", "connect-src", liveScript} {
		if strings.Contains(final, not) {
			t.Errorf("the final page has %q", not)
		}
	}
}
