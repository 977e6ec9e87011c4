package render

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page's parts
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
)

var (
	//go:embed html/parts.html.tmpl
	partsTemplate string
	//go:embed html/page.html.tmpl
	pageTemplate string
	//go:embed html/page.css
	pageStyle string
	//go:embed html/page.js
	pageScript string
	//go:embed html/live.js
	liveScript string
)

// Live is what the page of a running test shows instead of a verdict.
type Live struct {
	// Phase is what the test does, such as "Running", and Detail how far it is.
	Phase, Detail string
	// Trouble says why the figures are old; empty: they are not.
	Trouble string
}

// parsed returns a page's template with the parts of all pages.
func parsed(page string) *template.Template {
	return template.Must(template.Must(template.New("page").Parse(partsTemplate)).Parse(page))
}

// HTML writes the report as one page that needs nothing else: no network, no other file. Names and
// messages are escaped, and the page's policy lets only its own style and script in. The error says
// that a histogram of the report cannot be read, or that w failed.
func HTML(w io.Writer, r *runnerv1alpha1.Report) error {
	p, err := newPage(r)
	return p.write(w, err)
}

// LiveHTML writes the page of a running test. It is HTML with the state of the test, and a script that reads the page
// again every second from the address "/" until it is final.
func LiveHTML(w io.Writer, r *runnerv1alpha1.Report, live *Live) error {
	p, err := newPage(r)
	if err == nil {
		p.Figures = keyFigures(r, r.Requests.InFlightAtEnd)
		p.Live, p.LiveScript = live, template.JS(liveScript)
		p.Policy = policy(pageScript, liveScript) + "; connect-src 'self'"
	}
	return p.write(w, err)
}

// write writes a page, unless there was an error.
func (p *page) write(w io.Writer, err error) error {
	var b bytes.Buffer
	if err == nil {
		err = parsed(pageTemplate).Execute(&b, p)
	}
	return finish(w, &b, "report as HTML", err)
}

// page is what the template shows.
type page struct {
	Report *runnerv1alpha1.Report
	// Live and LiveScript are of the page of a running test.
	Live       *Live
	LiveScript template.JS
	Style      template.CSS
	Script     template.JS
	Policy     string
	// Notes say what the figures do not include, and what limits them.
	Notes              []string
	Figures            []figure
	Rate, Times, Tails []*plot
	Observed           []*plot
	Errors, Health     []*plot
	Kinds              []errorKind
	PhaseHead          []phasePart
	PhaseBars          []phaseBar
	// Tables are all sections but Windows, which is long and below them.
	Tables  []*table
	Windows *table
}

// figure is a key figure of the page.
type figure struct{ Name, Value, Note string }

// Of returns the tables of a topic.
func (p *page) Of(topic string) (out []*table) {
	for _, t := range p.Tables {
		if t.Topic == topic {
			out = append(out, t)
		}
	}
	return out
}

func newPage(r *runnerv1alpha1.Report) (*page, error) {
	all, err := distributions(r)
	if err != nil {
		return nil, err
	}
	p := &page{
		Report: r, Style: template.CSS(pageStyle), Script: template.JS(pageScript), Policy: policy(pageScript),
		Notes: append(notes(r), plotNotes(r)...), Figures: keyFigures(r, 0), Kinds: errorKinds(r),
		PhaseHead: phaseHead, PhaseBars: phaseBars(r), Tables: tables(r, all),
	}
	if d := distributionPlot(r, all); d != nil {
		p.Tails = []*plot{d}
	}
	if len(r.Windows) > 0 {
		p.Rate = []*plot{ratePlot(r), inFlightPlot(r)}
		p.Times = []*plot{timesPlot(r)}
		p.Observed = observationPlots(r)
		p.Errors = []*plot{errorsPlot(r)}
		p.Health = []*plot{lagPlot(r)}
		if r.Generator.Shards > 1 {
			p.Health = append(p.Health, shardsPlot(r))
		}
		p.Windows = windowTable(r)
	}
	if by := scalabilityPlot(r.Scalability); by != nil {
		p.Rate = append(p.Rate, by)
	}
	return p, nil
}

// policy returns the Content-Security-Policy of a page (W3C CSP Level 3). The browser loads nothing, and accepts only
// the style of the page and these scripts, also if a name in the report has HTML.
func policy(scripts ...string) string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	out := "default-src 'none'; img-src data:; style-src " + hash(pageStyle) + "; script-src"
	for _, s := range scripts {
		out += " " + hash(s)
	}
	return out
}

// alwaysNote returns how many always steps were sent or skipped, or "".
func alwaysNote(c runnerv1alpha1.AlwaysCounts) string {
	if c.AlwaysSent+c.AlwaysSkipped == 0 {
		return ""
	}
	out := grouped(c.AlwaysSent) + " always steps sent after an abort"
	if c.AlwaysSkipped > 0 {
		out += ", " + grouped(c.AlwaysSkipped) + " skipped"
	}
	return out
}

func notes(r *runnerv1alpha1.Report) (out []string) {
	if r.Partial {
		out = append(out, "Partial: the result is incomplete.")
	}
	if r.Stopped != "" {
		out = append(out, "Ended early: "+r.Stopped+".")
	}
	if r.Exhausted {
		out = append(out, "All values of a variable are used; its chains started no more instances.")
	}
	if n := r.Setup; n.Sent > 0 {
		out = append(out, fmt.Sprintf("Setup sent %s requests, %s succeeded. No other figure includes them.",
			grouped(n.Sent), grouped(n.Succeeded)))
	}
	if n := r.Graceful; n.Sent+n.CutOff > 0 {
		out = append(out, fmt.Sprintf(
			"Chains sent %s requests after the load, %s succeeded. No other figure includes them. %s chains completed, %s were aborted, %s were cut off.",
			grouped(n.Sent), grouped(n.Succeeded), grouped(n.Completed), grouped(n.Aborted), grouped(n.CutOff)))
		if note := alwaysNote(n.AlwaysCounts); note != "" {
			out = append(out, "After the load, "+note+".")
		}
	}
	if n := r.Teardown; n.Sent > 0 {
		out = append(out, fmt.Sprintf("Teardown sent %s requests, %s succeeded. No other figure includes them.",
			grouped(n.Sent), grouped(n.Succeeded)))
	}
	for i := range r.Bounds {
		out = append(out, "A limit of the test was reached: "+r.Bounds[i].Message+".")
	}
	if note := unansweredNote(r); note != "" {
		out = append(out, strings.ToUpper(note[:1])+note[1:]+".")
	}
	if note := spinNote(r); note != "" {
		out = append(out, note)
	}
	for _, note := range append(protocolNotes(r), authorizationNotes(r)...) {
		out = append(out, strings.ToUpper(note[:1])+note[1:]+".")
	}
	out = append(out, stageNotes(r)...)
	if r.ExportFailure != "" {
		out = append(out, "The OTLP receiver did not accept the last figures of "+r.ExportFailure+".")
	}
	if r.TeardownFailure != "" {
		out = append(out, "Teardown failed: "+r.TeardownFailure+".")
	}
	return out
}

// plotNotes are about the plots over time.
func plotNotes(r *runnerv1alpha1.Report) (out []string) {
	if r.WindowsFrom > 0 {
		out = append(out, "The operator did not watch the first "+offset(r.WindowsFrom)+
			" of the run: totals include them, plots over time do not.")
	}
	if len(r.Windows) == 0 {
		out = append(out, "The report has no windows, so there are no plots over time.")
	}
	return out
}

// keyFigures are the most important figures. Undecided requests are not errors.
func keyFigures(r *runnerv1alpha1.Report, undecided int64) []figure {
	t := &r.ResponseTime
	return []figure{
		rateFigure(r),
		{"Median", long(measured(t.Count, t.P50)), "response time"},
		{"99th percentile", long(measured(t.Count, t.P99)), "response time"},
		{"Maximum", long(measured(t.Count, t.Max)), "response time"},
		errorFigure(r, undecided),
		requestFigure(r),
		{"Generator's lag", micro(r.Generator.LagP99Microseconds), "99th percentile, worst shard"},
	}
}

func rateFigure(r *runnerv1alpha1.Report) figure {
	goal := "of " + build.FormatRate(r.Rate.Asked) + " requests per second"
	switch {
	case r.Rate.AskedChains > 0:
		goal = fmt.Sprintf("requests per second, and %s of %s chains", build.FormatRate(r.Rate.AchievedChains),
			build.FormatRate(r.Rate.AskedChains))
	case r.Rate.Asked == 0:
		goal = "requests per second, closed loop"
	}
	return figure{"Rate", build.FormatRate(r.Rate.Achieved), goal}
}

func errorFigure(r *runnerv1alpha1.Report, undecided int64) figure {
	q := &r.Requests
	return figure{"Errors", long(errorRate(float64(r.ErrorRate), q.Sent+q.Dropped)),
		grouped(q.Sent+q.Dropped-q.Succeeded-undecided) + " of " + grouped(q.Sent+q.Dropped-undecided)}
}

func requestFigure(r *runnerv1alpha1.Report) figure {
	note := "in " + lasting(r.Rate.WindowSeconds)
	if r.WarmUp.Sent > 0 {
		note += ", and " + grouped(r.WarmUp.Sent) + " of warm-up"
	}
	return figure{"Requests", grouped(r.Requests.Sent), note}
}

// Mood is the verdict's colour.
func (p *page) Mood() string { return mood(p.Report.Verdict.Outcome) }

// Sign of the verdict, for those who do not see colours.
func (p *page) Sign() string { return signs[p.Mood()] }

var signs = map[string]string{"good": "\u2713", "bad": "\u2717", "unsure": "?"}

func mood(o runnerv1alpha1.Outcome) string {
	switch o {
	case runnerv1alpha1.OutcomePassed:
		return "good"
	case runnerv1alpha1.OutcomeFailed, runnerv1alpha1.OutcomeError:
		return "bad"
	}
	return "unsure"
}

// Reason of the verdict, unless it only repeats the outcome.
func (p *page) Reason() string {
	if v := &p.Report.Verdict; v.Reason != string(v.Outcome) {
		return v.Reason
	}
	return ""
}

// SoFar is the verdict if the test ended now, or "".
func (p *page) SoFar() string {
	v := &p.Report.Verdict
	switch v.Outcome {
	case "":
		return ""
	case runnerv1alpha1.OutcomePassed: // the message says that the run completed
		return "So far: Passed"
	}
	return "So far: " + string(v.Outcome) + ", " + v.Message
}

// Warning returns the warning about response times that the generator made longer, or "".
func (p *page) Warning() string { return lagWarning(p.Report) }

// Title returns the title of the page.
func (p *page) Title() string {
	out := "h2surge: " + p.Report.Name
	if p.Live != nil {
		return out + ", " + strings.ToLower(p.Live.Phase)
	}
	if o := p.Report.Verdict.Outcome; o != "" {
		out += ", " + strings.ToLower(string(o))
	}
	return out
}
