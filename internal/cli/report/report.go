// Package report has the commands that read reports, report and compare, and what commands that make a report share
// with them: its formats, its files and its transfer to an OTLP endpoint.
package report

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/internal/report/compare"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// Flags are the flags of the commands that show a report.
type Flags struct {
	output   string
	files    []string
	push     Push
	full     Full
	exitCode bool
	flags    *pflag.FlagSet
}

// Register adds the flags to a command.
func (f *Flags) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.flags = flags
	flags.StringVarP(&f.output, "output", "o", command.OutputText, OutputUsage)
	CompleteOutput(cmd)
	f.full.Register(flags)
	flags.StringArrayVar(&f.files, "output-file", nil, strings.Replace(OutputFileUsage, "in, too",
		"in instead of printing it", 1)+"; -o overrides the ending")
	f.push.Register(flags, SendsReport)
	flags.BoolVar(&f.exitCode, "exit-code", false, "exit with the code of \"h2surge run\" for this verdict")
}

// Check reports a mistake in the flags.
func (f *Flags) Check() error {
	if len(f.files) > 1 && f.flags.Changed("output") {
		return command.Usagef("-o: not allowed with several --output-file")
	}
	if err := f.push.Check(); err != nil {
		return err
	}
	return f.full.Check(f.output)
}

// Show writes the report, and ends as its verdict says if --exit-code was given.
func (f *Flags) Show(cmd *cobra.Command, r *rv.Report) error {
	var err error
	if len(f.files) == 0 {
		err = f.full.Print(cmd.OutOrStdout(), f.output, r, nil)
	} else {
		err = f.save(r)
	}
	if err == nil {
		err = f.push.Send(cmd.Context(), r)
	}
	if err != nil || !f.exitCode {
		return err
	}
	return AsVerdict(r, len(f.files) == 0 && Reported(cmd.OutOrStdout(), f.output))
}

// save writes the report in the format of -o, or else in the format of the file's name.
func (f *Flags) save(r *rv.Report) error {
	files, err := OpenFiles(f.files)
	if err != nil {
		return err
	}
	defer files.Discard()
	if f.flags.Changed("output") {
		files[0].format = f.output
	}
	return files.Save(r)
}

// NewCommand returns the command report.
func NewCommand() *cobra.Command {
	show := Flags{}
	cmd := &cobra.Command{
		Use:   "report FILE",
		Short: "Show a saved report",
		Long: `Show a report that "h2surge run --output-file" saved, or that the operator keeps in a
ConfigMap. h2surge reads JSON, compressed by gzip or not; - is standard input. The exit
code is 0 whatever the verdict is, unless --exit-code is given. It is 1 if the file has
no report.`,
		Example: `  h2surge report result.json
  h2surge report result.json.gz -o json
  h2surge report result.json --output-file result.html --output-file junit.xml
  h2surge report result.json -o markdown >> "$GITHUB_STEP_SUMMARY"
  kubectl get configmap NAME-report -o jsonpath='{.binaryData.report\.json\.gz}' |
    base64 -d | h2surge report - --exit-code`,
		Args: command.ExactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := show.Check(); err != nil {
				return err
			}
			r, err := readFile(args[0], cmd.InOrStdin())
			if err != nil {
				return command.Usagef("%v", err)
			}
			return show.Show(cmd, r)
		},
	}
	show.Register(cmd)
	return cmd
}

// AsVerdict is nil for a run that passed. Reported is true if the user has seen the verdict.
func AsVerdict(r *rv.Report, reported bool) error {
	code := verdict.ExitCode(r)
	if code == verdict.ExitPassed {
		return nil
	}
	if reported {
		return command.Exit(code)
	}
	return command.Exit(code, fmt.Sprintf("%s (%s): %s", r.Verdict.Outcome, r.Verdict.Reason, r.Verdict.Message))
}

// maxReport bounds a report, in bytes, before and after decompression. The largest there can be,
// of 256 steps and six histograms, has some hundred kilobytes.
const maxReport = 64 << 20

func readFile(name string, stdin io.Reader) (*rv.Report, error) {
	if name == "-" {
		return Read(stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, command.CannotRead(name, err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	r, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// Read reads a report and checks its figures. It accepts fields that it does not know: a newer h2surge may have
// added some.
func Read(in io.Reader) (*rv.Report, error) {
	buffered := bufio.NewReader(in)
	var plain io.Reader = buffered
	if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) { // RFC 1952 2.3.1
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, err
		}
		plain = z
	}
	b, err := io.ReadAll(io.LimitReader(plain, maxReport+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxReport {
		return nil, fmt.Errorf("the file has more than %d bytes, which is too much for a report", maxReport)
	}
	r := &rv.Report{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("not a report: %w", err)
	}
	if r.APIVersion != rv.APIVersion || r.Kind != rv.ReportKind {
		return nil, fmt.Errorf("not a report: the file has kind %q and apiVersion %q; allowed: %q and %q", r.Kind,
			r.APIVersion, rv.ReportKind, rv.APIVersion)
	}
	if err := build.Check(r); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, fmt.Errorf("its figures contradict each other: %s; the file is damaged, or has the format of an earlier version: %s wrote it", first, compare.Writer(r))
	}
	return r, nil
}
