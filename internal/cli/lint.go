package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation/field"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/mask"
	"github.com/h2surge/h2surge/internal/plan"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

const lintLong = `Check manifests without running them. h2surge prints one line for each mistake:

  FILE:LINE: FIELD: problem

h2surge checks each LoadTest, each LoadTestSchedule and each file of h2surge target.
Objects of other kinds pass with a note. It checks everything that needs no connection:
the fields, the names that refer to each other, the size of the compiled plan, and the
content of the manifest's ConfigMaps and Secrets and of the files that it names: tables,
bodies with variables, scripts, JSON Schemas, certificates. Of a directory it checks
each .yaml, .yml and .json file.

A warning is about something unusual, or about something that cannot be checked here: a
ConfigMap that only the cluster has, a variable of the environment.

Exit codes:
  0  there are no errors
  1  there are errors; with --strict, errors or warnings`

func newLintCommand() *cobra.Command {
	o := lintOptions{output: command.OutputText}
	cmd := &cobra.Command{
		Use:   "lint {-f FILE | FILE...}",
		Short: "Check manifests and print each mistake with its line",
		Long:  lintLong,
		Example: `  h2surge lint loadtest.yaml
  h2surge lint --strict tests/*.yaml
  h2surge lint -f config/samples
  helm template . | h2surge lint -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.files = append(o.files, args...)
			if len(o.files) == 0 {
				return command.Usagef("-f FILE: the argument is missing")
			}
			return o.run(cmd)
		},
	}
	AddFilename(cmd.Flags(), &o.files)
	cmd.Flags().StringVarP(&o.output, "output", "o", command.OutputText,
		"`format`: text, json, github (annotations of GitHub Actions) or sarif")
	command.CompleteFlag(cmd, "output", slices.Sorted(maps.Keys(lintFormats))...)
	cmd.Flags().BoolVar(&o.strict, "strict", false, "treat warnings as errors")
	return cmd
}

// mistake is a line of lint's.
type mistake struct {
	line  int
	level level
	text  string
}

// level is how bad a mistake is: the manifest is refused, is unusual, or has something that is not checked.
type level int

const (
	isError level = iota
	isWarning
	isNote
)

func (l level) String() string { return [...]string{"error", "warning", "note"}[l] }

func (m mistake) in(text *manifestText) string {
	kind := ""
	if m.level != isError {
		kind = m.level.String() + ": "
	}
	return text.place(m.line) + kind + m.text
}

// LoadManifest reads the manifest of one LoadTest and checks it as lint does. Warnings go to the writer. The second
// result is the text of the manifest, all files together.
func LoadManifest(names []string, stdin io.Reader, warnings io.Writer) (*compile.Manifest, []byte, error) {
	text, err := readManifest(names, stdin)
	if err != nil {
		return nil, nil, err
	}
	found := lintManifest(bytes.NewReader(text.content))
	var lines []string
	for _, m := range found {
		if m.level == isError {
			lines = append(lines, m.in(text))
		}
	}
	if len(lines) > 0 {
		return nil, nil, command.Exit(verdict.ExitUsage, bounded(lines)...)
	}
	shown, more := mostImportant(found)
	for _, m := range shown {
		fmt.Fprintln(warnings, m.in(text))
	}
	if more > 0 {
		fmt.Fprintln(warnings, text.place(0)+moreOf(more))
	}
	m, err := compile.Load(bytes.NewReader(text.content))
	if err != nil {
		return nil, nil, command.Usagef("%s: %v", text.name(), err)
	}
	return m, text.content, nil
}

// maxMistakes is how many mistakes of a manifest are printed.
const maxMistakes = 100

// mostImportant returns the mistakes to print, errors rather than warnings, in their order, and how many are left out.
func mostImportant(found []mistake) (shown []mistake, more int) {
	if len(found) <= maxMistakes {
		return found, 0
	}
	warnings := maxMistakes
	for _, m := range found {
		if m.level == isError {
			warnings--
		}
	}
	for _, m := range found {
		if m.level != isError {
			warnings--
		}
		if len(shown) < maxMistakes && (m.level == isError || warnings >= 0) {
			shown = append(shown, m)
		}
	}
	return shown, len(found) - len(shown)
}

// moreOf is the line about the mistakes that are not printed.
func moreOf(n int) string { return fmt.Sprintf("%d more are not printed; correct these first", n) }

// bounded returns the lines to print of those about the errors of a manifest.
func bounded(lines []string) []string {
	if more := len(lines) - maxMistakes; more > 0 {
		lines = append(lines[:maxMistakes:maxMistakes], moreOf(more))
	}
	return lines
}

// linter gathers what is wrong with one manifest.
type linter struct {
	at *compile.Positions
	// under is what stands before the paths of a spec that is in a template.
	under string
	found []mistake
	seen  map[mistake]bool
}

func (l *linter) errors(errs field.ErrorList) {
	errs = compile.Below(l.under, errs)
	for i, text := range compile.ErrorLines(errs) {
		l.add(mistake{line: l.at.OfError(errs[i]), text: text})
	}
}

func (l *linter) warnings(errs field.ErrorList) {
	errs = compile.Below(l.under, errs)
	for i, text := range compile.ErrorLines(errs) {
		l.add(mistake{line: l.at.OfError(errs[i]), level: isWarning, text: text})
	}
}

// compiled are the warnings of the compiler, which begin with the path of the field.
func (l *linter) compiled(warnings []string) {
	for _, w := range warnings {
		if strings.HasPrefix(w, "spec") {
			w = l.under + w
		}
		path, _, _ := strings.Cut(w, ": ")
		l.add(mistake{line: l.at.Line(path), level: isWarning, text: mask.Line(w)})
	}
}

func (l *linter) add(m mistake) {
	if l.seen[m] {
		return
	}
	if l.seen == nil {
		l.seen = map[mistake]bool{}
	}
	l.seen[m] = true
	l.found = append(l.found, m)
}

// sorted is the order of the file.
func (l *linter) sorted() []mistake {
	slices.SortStableFunc(l.found, func(a, b mistake) int { return cmp.Compare(a.line, b.line) })
	return l.found
}

// lintManifest checks the manifest of one LoadTest.
func lintManifest(r io.Reader) []mistake {
	l := &linter{}
	m, err := compile.Load(r)
	var wrong *compile.ManifestError
	switch {
	case errors.As(err, &wrong):
		l.at = wrong.Positions
		l.errors(wrong.Errors)
		l.compiled(wrong.Warnings)
		return l.sorted()
	case err != nil:
		return []mistake{{text: mask.Line(err.Error())}}
	}
	l.loadTest(m)
	return l.sorted()
}

// loadTest checks a LoadTest that could be loaded.
func (l *linter) loadTest(m *compile.Manifest) {
	l.at = m.Positions
	compiled, places, warnings, errs := compile.Placed(m.Name(), &m.LoadTest.Spec)
	l.errors(errs)
	l.compiled(warnings)
	files := l.files(m)
	l.baselines(m)
	l.paths(&m.LoadTest.Spec)
	if compiled != nil {
		l.never(compiled)
		l.uris(compiled, places)
		for _, err := range []error{l.program(compiled, places, files), l.size(compiled)} {
			if err != nil {
				l.add(mistake{text: mask.Line(err.Error())})
			}
		}
	}
}

// size checks that the plan fits into a ConfigMap, as the operator does (reason PlanTooLarge).
func (l *linter) size(compiled *runnerv1alpha1.Plan) error {
	canonical, _, err := plan.Canonical(compiled)
	if err != nil {
		return err
	}
	_, err = plan.Gzip(canonical)
	var large *plan.TooLargeError
	if !errors.As(err, &large) {
		return err
	}
	l.errors(field.ErrorList{field.Invalid(field.NewPath("spec"), field.OmitValueType{},
		fmt.Sprintf("%v; shorten bodies and lists (%s)", large, v1alpha1.ReasonPlanTooLarge))})
	return nil
}

// files returns the content of the ConfigMaps and Secrets that the LoadTest refers to. An object that is missing in the
// manifest may exist in the cluster.
func (l *linter) files(m *compile.Manifest) []compile.File {
	files, errs := compile.Files(m)
	absent := map[string]bool{}
	for _, mount := range compile.Mounts(&m.LoadTest.Spec) {
		if _, found := m.Data(mount.Kind, mount.Name); !found {
			absent[mount.Items[0].Field.String()] = true
			l.warnings(field.ErrorList{absentObject(m, &mount)})
		}
	}
	for _, err := range errs {
		if !absent[err.Field] {
			l.errors(field.ErrorList{err})
		}
	}
	l.ownFiles(&m.LoadTest.Spec)
	return slices.DeleteFunc(files, func(f compile.File) bool { return f.Content == nil })
}

// absentObject says what h2surge run needs, because it refuses what the operator finds in the cluster.
func absentObject(m *compile.Manifest, mount *compile.Mount) *field.Error {
	at, instead := mount.Items[0].Field, "file"
	if strings.HasSuffix(at.String(), ".secretRef") {
		instead = "files"
	}
	return field.Invalid(at, field.OmitValueType{}, fmt.Sprintf(
		"%s %q of namespace %q is not in the manifest, so its content is not checked; h2surge run needs the %s in the manifest, or %s in place of this field",
		mount.Kind, mount.Name, m.LoadTest.Namespace, mount.Kind, instead))
}
