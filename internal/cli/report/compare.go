package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/report/compare"
	"github.com/h2surge/h2surge/internal/report/render"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// CompareLong is the help of the commands that compare two reports.
const CompareLong = `A figure of B is worse if it differs from A by more than the tolerance: a lower rate, a
higher error rate, or a higher response time. A percentile is judged only if at least
10 requests were slower in both runs; p99 needs 1000 requests. Of two searches, only the
highest load is judged.

Exit codes:
  0  no figure of B is worse
  1  bad command line, or a report that cannot be compared
  2  a figure of B is worse
  3  inconclusive: the verdict of a run is Inconclusive or Error, the runs have too few
     requests, only one of them is a search or the results of two searches cannot be
     compared, or the generator lagged and only times or rates are worse
  5  the comparison could not be written`

// compareFormats are the formats of a comparison.
var compareFormats = []string{command.OutputText, command.OutputJSON, command.OutputYAML, outputHTML, outputMarkdown}

// CompareFlags are the flags of the commands that compare two reports.
type CompareFlags struct {
	tolerance, errorTolerance percentage
	output, file              string
	flags                     *pflag.FlagSet
}

// percentage is the value of a flag such as 5%.
type percentage struct{ rv.ErrorRate }

// Set parses a percentage.
func (p *percentage) Set(text string) error {
	v, err := rv.ParsePercentage(text)
	if err != nil {
		return fmt.Errorf("%q is not a percentage such as 5%%", text)
	}
	p.ErrorRate = rv.ErrorRate(v)
	return nil
}

// Type is the type in the help.
func (p *percentage) Type() string { return "percentage" }

// Register adds the flags to a command.
func (f *CompareFlags) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.tolerance, f.errorTolerance, f.flags = percentage{compare.DefaultTolerance},
		percentage{compare.DefaultErrorTolerance}, flags
	flags.Var(&f.tolerance, "tolerance",
		"`percentage` of the value of A by which a rate may be lower, and a response time higher")
	flags.Var(&f.errorTolerance, "error-tolerance", "`percentage` points by which an error rate may be higher")
	flags.StringVarP(&f.output, "output", "o", command.OutputText, "`format`: text, json, yaml, html or markdown")
	command.CompleteFlag(cmd, "output", compareFormats...)
	flags.StringVar(&f.file, "output-file", "",
		"`file` to save the comparison in instead of printing it: HTML if the name ends in .html, text if .txt, YAML if .yaml, Markdown if .md, otherwise JSON, but not .xml, .csv, .hlog and .hgrm; -o overrides the ending")
}

// Check reports a mistake in the flags.
func (f *CompareFlags) Check() error {
	if f.file != "" && !f.flags.Changed("output") {
		f.output = formatOf(f.file)
		if !slices.Contains(compareFormats, f.output) {
			return command.Usagef("--output-file: %s: a comparison cannot be saved as %s; allowed: .txt, .json, .yaml, .html, .md",
				f.file, f.output)
		}
	}
	return command.OneOf(f.output, compareFormats...)
}

// Show writes the comparison, and ends as its outcome says. Standard error has the message unless standard output has
// it as text.
func (f *CompareFlags) Show(cmd *cobra.Command, a, b compare.Input) error {
	c := compare.Reports(a, b, compare.Options{Tolerance: float64(f.tolerance.ErrorRate),
		ErrorTolerance: float64(f.errorTolerance.ErrorRate)})
	write := func(w io.Writer) error { return writeComparison(w, f.output, c, a.Report, b.Report) }
	var err error
	if f.file == "" {
		err = write(cmd.OutOrStdout())
	} else {
		err = f.save(write)
	}
	if err != nil {
		return err
	}
	switch code := verdict.ExitCode(&rv.Report{Verdict: rv.Verdict{Outcome: c.Outcome}}); {
	case code == verdict.ExitPassed:
		return nil
	case f.file == "" && f.output == command.OutputText:
		return command.Exit(code)
	default:
		return command.Exit(code, c.Message)
	}
}

func (f *CompareFlags) save(write func(io.Writer) error) error {
	file, err := openFile(f.file)
	if err != nil {
		return command.Usagef("--output-file: %v", err)
	}
	defer file.discard()
	if err := file.save(write); err != nil {
		return command.Failf("%v", err)
	}
	return nil
}

func writeComparison(w io.Writer, format string, c *compare.Comparison, a, b *rv.Report) error {
	switch format {
	case command.OutputText:
		return render.CompareText(w, c)
	case outputMarkdown:
		return render.CompareMarkdown(w, c)
	case outputHTML:
		return render.CompareHTML(w, c, a, b)
	}
	return command.WriteDocument(w, format, c)
}

// NewCompareCommand returns the command compare.
func NewCompareCommand() *cobra.Command {
	show := CompareFlags{}
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Compare two saved reports",
		Long: `Compare two reports that "h2surge run --output-file" saved as JSON: A is the baseline.
- is standard input.

` + CompareLong,
		Example: `  h2surge compare before.json after.json
  h2surge compare before.json after.json --tolerance 5% --output-file compare.html
  kubectl h2surge report pcf -o json | h2surge compare before.json -`,
		Args: command.ExactArgs("A", "B"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := show.Check(); err != nil {
				return err
			}
			if args[0] == command.StdinName && args[1] == command.StdinName {
				return command.Usagef("B: only one of the two reports can be standard input")
			}
			var in [2]compare.Input
			for i, name := range args {
				r, err := readFile(name, cmd.InOrStdin())
				if err != nil {
					return command.Usagef("%v", err)
				}
				in[i] = compare.Input{Source: name, Report: r}
			}
			return show.Show(cmd, in[0], in[1])
		},
	}
	show.Register(cmd)
	return cmd
}
