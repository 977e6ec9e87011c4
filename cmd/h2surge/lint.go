package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/verdict"
)

const lintLong = `Check manifests without running them, and tell all that is wrong with them at once,
one line for each mistake:

  FILE:LINE: FIELD: what is wrong

Checked is all that can be seen without a connection: the fields, the names that refer
to each other, and what the manifest's own ConfigMaps and Secrets and the files it
names hold: tables, bodies with holes, scripts, JSON Schemas, certificates.

Warnings are about what is odd but possible, and what is not here to be checked: a
ConfigMap that only the cluster has, a variable of the environment.

Exit codes:
  0  no errors
  1  errors; with --strict, errors or warnings`

func newLintCommand() *cobra.Command {
	strict := false
	cmd := &cobra.Command{
		Use:   "lint FILE...",
		Short: "Check manifests and tell every mistake",
		Long:  lintLong,
		Example: `  h2surge lint loadtest.yaml
  h2surge lint --strict tests/*.yaml
  helm template . | h2surge lint -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			bad := false
			for _, name := range args {
				found := lintFile(name, cmd.InOrStdin())
				for _, m := range found {
					bad = bad || strict || !m.warning
					fmt.Fprintln(cmd.OutOrStdout(), m.in(shownName(name)))
				}
			}
			if bad {
				return &exitError{code: verdict.ExitUsage}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "warnings are errors")
	return cmd
}

// mistake is a line of lint's.
type mistake struct {
	line    int
	warning bool
	text    string
}

func (m mistake) in(file string) string {
	kind := ""
	if m.warning {
		kind = "warning: "
	}
	return compile.Place(file, m.line) + kind + m.text
}

// linter gathers what is wrong with one manifest.
type linter struct {
	at    *compile.Positions
	found []mistake
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
		l.add(mistake{line: l.at.Line(path), warning: true, text: oneLine(w)})
	}
}

func (l *linter) add(m mistake) {
	if !slices.Contains(l.found, m) {
		l.found = append(l.found, m)
	}
}

// sorted is the order of the file.
func (l *linter) sorted() []mistake {
	slices.SortStableFunc(l.found, func(a, b mistake) int { return cmp.Compare(a.line, b.line) })
	return l.found
}

func lintFile(name string, stdin io.Reader) []mistake {
	if name == "-" {
		return lintManifest(stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		var cause *os.PathError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return []mistake{{text: err.Error()}}
	}
	defer f.Close() //nolint:errcheck // it was only read
	return lintManifest(f)
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
		return []mistake{{text: oneLine(err.Error())}}
	}
	l.at = m.Positions
	plan, warnings, errs := compile.Compile(m.Name(), &m.LoadTest.Spec)
	l.errors(errs)
	l.compiled(warnings)
	files := l.files(m)
	if plan != nil {
		if err := l.program(&m.LoadTest.Spec, plan, files); err != nil {
			l.add(mistake{text: oneLine(err.Error())})
		}
	}
	return l.sorted()
}

// files takes what the LoadTest refers to out of the manifest. What is not there may be where the test
// is to run.
func (l *linter) files(m *compile.Manifest) []compile.File {
	files, errs := compile.Files(m)
	absent := map[string]bool{}
	for _, mount := range compile.Mounts(&m.LoadTest.Spec) {
		if !hasObject(m, mount) {
			absent[mount.Items[0].Field.String()] = true
			at := mount.Items[0].Field
			l.warnings(field.ErrorList{field.Invalid(at, field.OmitValueType{}, fmt.Sprintf(
				"%s %q of namespace %q is not in the manifest, so that what it holds is not checked", mount.Kind, mount.Name, m.LoadTest.Namespace))})
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
