package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation/field"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/plan"
	"github.com/h2surge/h2surge/internal/verdict"
)

const lintLong = `Check manifests without running them. h2surge prints one line for each mistake:

  FILE:LINE: FIELD: problem

It checks everything that needs no connection: the fields, the names that refer to each
other, the size of the compiled plan, and the content of the manifest's ConfigMaps and
Secrets and of the files that it names: tables, bodies with variables, scripts, JSON
Schemas, certificates. Of a directory it checks each .yaml, .yml and .json file.

A warning is about something unusual, or about something that cannot be checked here: a
ConfigMap that only the cluster has, a variable of the environment.

Exit codes:
  0  there are no errors
  1  there are errors; with --strict, errors or warnings`

func newLintCommand() *cobra.Command {
	strict := false
	var files []string
	cmd := &cobra.Command{
		Use:   "lint {-f FILE | FILE...}",
		Short: "Check manifests and print each mistake with its line",
		Long:  lintLong,
		Example: `  h2surge lint loadtest.yaml
  h2surge lint --strict tests/*.yaml
  h2surge lint -f config/samples
  helm template . | h2surge lint -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			names := append(slices.Clone(files), args...)
			if len(names) == 0 {
				return Usagef("-f FILE: the argument is missing")
			}
			if lintAll(cmd, names, strict) {
				return &exitError{code: verdict.ExitUsage}
			}
			return nil
		},
	}
	AddFilename(cmd.Flags(), &files)
	cmd.Flags().BoolVar(&strict, "strict", false, "treat warnings as errors")
	return cmd
}

// mistake is a line of lint's.
type mistake struct {
	line    int
	warning bool
	text    string
}

func (m mistake) in(text *manifestText) string {
	kind := ""
	if m.warning {
		kind = "warning: "
	}
	return text.place(m.line) + kind + m.text
}

// LoadManifest reads the manifest of one LoadTest and checks it as lint does. Warnings go to the writer. The second result is the text of
// the manifest, all files together.
func LoadManifest(names []string, stdin io.Reader, warnings io.Writer) (*compile.Manifest, []byte, error) {
	text, err := readManifest(names, stdin)
	if err != nil {
		return nil, nil, err
	}
	found := lintManifest(bytes.NewReader(text.content))
	var lines []string
	for _, m := range found {
		if !m.warning {
			lines = append(lines, m.in(text))
		}
	}
	if len(lines) > 0 {
		return nil, nil, Exit(verdict.ExitUsage, bounded(lines)...)
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
		return nil, nil, Usagef("%s: %v", text.name(), err)
	}
	return m, text.content, nil
}

// lintAll prints the mistakes of all manifests, and reports whether one of them is an error. A mistake in a file that belongs to several
// manifests is printed once.
func lintAll(cmd *cobra.Command, names []string, strict bool) (bad bool) {
	printed := map[string]bool{}
	show := func(line string) {
		if !printed[line] {
			printed[line] = true
			fmt.Fprintln(cmd.OutOrStdout(), line)
		}
	}
	texts, unreadable := readManifests(names, cmd.InOrStdin())
	for _, line := range unreadable {
		show(line)
	}
	bad = len(unreadable) > 0
	for _, text := range texts {
		found := lintManifest(bytes.NewReader(text.content))
		bad = bad || slices.ContainsFunc(found, func(m mistake) bool { return strict || !m.warning })
		shown, more := mostImportant(found)
		for _, m := range shown {
			show(m.in(text))
		}
		if more > 0 {
			show(text.place(0) + moreOf(more))
		}
	}
	return bad
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
		if !m.warning {
			warnings--
		}
	}
	for _, m := range found {
		if m.warning {
			warnings--
		}
		if len(shown) < maxMistakes && (!m.warning || warnings >= 0) {
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
	at    *compile.Positions
	found []mistake
	seen  map[mistake]bool
}

func (l *linter) errors(errs field.ErrorList) {
	for i, text := range compile.ErrorLines(errs) {
		l.add(mistake{line: l.at.OfError(errs[i]), text: text})
	}
}

func (l *linter) warnings(errs field.ErrorList) {
	for i, text := range compile.ErrorLines(errs) {
		l.add(mistake{line: l.at.OfError(errs[i]), warning: true, text: text})
	}
}

// compiled are the warnings of the compiler, which begin with the path of the field.
func (l *linter) compiled(warnings []string) {
	for _, w := range warnings {
		path, _, _ := strings.Cut(w, ": ")
		l.add(mistake{line: l.at.Line(path), warning: true, text: OneLine(w)})
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
		return []mistake{{text: OneLine(err.Error())}}
	}
	l.at = m.Positions
	compiled, warnings, errs := compile.Compile(m.Name(), &m.LoadTest.Spec)
	l.errors(errs)
	l.compiled(warnings)
	files := l.files(m)
	if compiled != nil {
		for _, err := range []error{l.program(&m.LoadTest.Spec, compiled, files), l.size(compiled)} {
			if err != nil {
				l.add(mistake{text: OneLine(err.Error())})
			}
		}
	}
	return l.sorted()
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
	l.add(mistake{line: l.at.Line("spec"), text: fmt.Sprintf("spec: %v; shorten bodies and lists (%s)", large, v1alpha1.ReasonPlanTooLarge)})
	return nil
}

// files returns the content of the ConfigMaps and Secrets that the LoadTest refers to. An object that is missing in the manifest may
// exist in the cluster.
func (l *linter) files(m *compile.Manifest) []compile.File {
	files, errs := compile.Files(m)
	absent := map[string]bool{}
	for _, mount := range compile.Mounts(&m.LoadTest.Spec) {
		if !hasObject(m, mount) {
			absent[mount.Items[0].Field.String()] = true
			at := mount.Items[0].Field
			l.warnings(field.ErrorList{field.Invalid(at, field.OmitValueType{}, fmt.Sprintf(
				"%s %q of namespace %q is not in the manifest, so its content is not checked", mount.Kind, mount.Name, m.LoadTest.Namespace))})
		}
	}
	for _, err := range errs {
		if !absent[err.Field] {
			l.errors(field.ErrorList{err})
		}
	}
	for _, err := range missing(compile.OwnFiles(&m.LoadTest.Spec)) {
		err.Detail += "; it is not checked"
		l.warnings(field.ErrorList{err})
	}
	return slices.DeleteFunc(files, func(f compile.File) bool { return f.Content == nil })
}

func hasObject(m *compile.Manifest, mount compile.Mount) bool {
	is := func(name, namespace string) bool { return name == mount.Name && namespace == m.LoadTest.Namespace }
	for i := range m.ConfigMaps {
		if c := &m.ConfigMaps[i]; mount.Kind == compile.ConfigMap && is(c.Name, c.Namespace) {
			return true
		}
	}
	for i := range m.Secrets {
		if s := &m.Secrets[i]; mount.Kind == compile.Secret && is(s.Name, s.Namespace) {
			return true
		}
	}
	return false
}
