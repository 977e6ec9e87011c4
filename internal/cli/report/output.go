package report

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/mask"
	"github.com/h2surge/h2surge/internal/report/render"
)

// Formats of the flag -o for reports; the other formats of it are OutputText, OutputJSON and OutputYAML.
const (
	H2load     = "h2load"
	outputHTML = "html"
	// outputMarkdown is for the page of a pipeline, outputJUnit for its list of tests.
	outputMarkdown = "markdown"
	outputJUnit    = "junit"
	outputCSV      = "csv"
	// outputCounts is CSV, too: the requests by operation, status and cause.
	outputCounts = "counts"
	// outputStages is CSV, too: the stages with their figures.
	outputStages = "stages"
	// outputHistogramLog and outputPercentiles are the formats of HdrHistogram.
	outputHistogramLog = "hlog"
	outputPercentiles  = "hgrm"
	outputOTLP         = "otlp"
)

// Formats are the formats of a report.
var Formats = []string{
	command.OutputText, command.OutputJSON, command.OutputYAML, outputHTML, outputMarkdown, outputJUnit, outputCSV,
	outputStages, outputCounts,
	outputHistogramLog, outputPercentiles, outputOTLP, H2load,
}

// OutputUsage is the usage of -o of the commands that show a report.
const OutputUsage = "`format` of the report: text, json, yaml, html, markdown, junit, csv, stages, counts, hlog, hgrm, otlp or h2load"

// writers are the formats of package render.
var writers = map[string]func(io.Writer, *rv.Report) error{
	command.OutputText: render.Text, command.OutputJSON: render.JSON, outputHTML: render.HTML,
	outputMarkdown: render.Markdown,
	outputJUnit:    render.JUnit,
	outputCSV:      render.CSV, outputStages: render.Stages, outputCounts: render.Counts,
	outputHistogramLog: render.HistogramLog, outputPercentiles: render.Percentiles, outputOTLP: render.OTLP,
	H2load: render.H2load,
}

// CompleteOutput makes shell completion offer Formats for -o.
func CompleteOutput(cmd *cobra.Command) { command.CompleteFlag(cmd, "output", Formats...) }

// Write writes a report in one of Formats.
func Write(w io.Writer, format string, r *rv.Report) error {
	if format != command.OutputYAML {
		return writers[format](w, r)
	}
	var b bytes.Buffer
	if err := render.JSON(&b, r); err != nil {
		return err
	}
	return command.JSONAsYAML(w, b.Bytes())
}

// Full is the flag of the commands that print a report.
type Full bool

// Register adds the flag.
func (f *Full) Register(flags *pflag.FlagSet) {
	flags.BoolVar((*bool)(f), "full", false, "print the whole report instead of its summary; files always have it")
}

// Check reports a format of -o that is not one of Formats, and a flag without effect.
func (f Full) Check(format string) error {
	if err := command.OneOf(format, Formats...); err != nil {
		return err
	}
	if f && format != command.OutputText {
		return command.Usagef("--full: allowed only with -o text; the other formats have the whole report")
	}
	return nil
}

// Print writes a report to standard output. As text, it is the summary unless f is true. Files are those that have the
// whole report.
func (f Full) Print(w io.Writer, format string, r *rv.Report, files []string) error {
	if f || format != command.OutputText {
		return standardOutput(Write(w, format, r))
	}
	last := "Full report: --full, or --output-file report.html"
	if len(files) > 0 {
		last = "Full report: " + mask.Line(strings.Join(files, ", "))
	}
	return standardOutput(render.Summary(w, r, last, command.HasColours(w)))
}

// Histogram prints the distribution of response times.
func Histogram(w io.Writer, r *rv.Report) error { return standardOutput(render.Histogram(w, r)) }

// standardOutput returns a failure that names standard output; nil: its reader has ended, which command.Execute notes.
func standardOutput(err error) error {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return command.Failf("standard output: %v", err)
}

// Reported returns whether a user sees the verdict in the report on w.
func Reported(w io.Writer, format string) bool {
	return format == command.OutputText && command.IsTerminal(w)
}
