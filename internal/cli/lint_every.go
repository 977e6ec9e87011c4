package cli

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/mask"
	"github.com/h2surge/h2surge/internal/mock/rules"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// lintOptions are the flags of "h2surge lint".
type lintOptions struct {
	files  []string
	output string
	strict bool
}

// finding is a mistake of a file, as it is printed.
type finding struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Level   string `json:"level"`
	Message string `json:"message"`
}

// linted is the result for all files.
type linted struct {
	findings []finding
	// checked is the number of objects that were checked, by their kind.
	checked map[string]int
	seen    map[finding]bool
	failed  bool
}

// add appends a mistake. A mistake in a file that belongs to several manifests is printed once.
func (r *linted) add(f finding) {
	if !r.seen[f] {
		r.seen[f] = true
		r.findings = append(r.findings, f)
	}
}

// run checks all files, prints the findings, and fails if one of them is an error.
func (o *lintOptions) run(cmd *cobra.Command) error {
	if err := command.OneOf(o.output, slices.Sorted(maps.Keys(lintFormats))...); err != nil {
		return err
	}
	r := &linted{checked: map[string]int{}, seen: map[finding]bool{}}
	texts, unreadable := readManifests(o.files, cmd.InOrStdin())
	for _, line := range unreadable {
		name, problem, _ := strings.Cut(line, ": ")
		r.add(finding{File: name, Level: isError.String(), Message: problem})
	}
	r.failed = len(unreadable) > 0
	for _, text := range texts {
		r.text(text, o.strict)
	}
	if err := lintFormats[o.output](cmd.OutOrStdout(), r); err != nil {
		return err
	}
	if r.failed {
		return command.Exit(verdict.ExitUsage)
	}
	return nil
}

// text checks the files of a manifest.
func (r *linted) text(text *manifestText, strict bool) {
	found := r.every(text)
	r.failed = r.failed || slices.ContainsFunc(found,
		func(m mistake) bool { return m.level == isError || strict && m.level == isWarning })
	shown, more := mostImportant(found)
	for _, m := range shown {
		file, line := text.at(m.line)
		if line == 0 { // the mistake is of the manifest, whose first file is that of the LoadTest
			file = text.first()
		}
		r.add(finding{file, line, m.level.String(), m.text})
	}
	if more > 0 {
		r.add(finding{File: text.first(), Level: isNote.String(), Message: moreOf(more)})
	}
}

// every checks all objects of a text.
func (r *linted) every(text *manifestText) []mistake {
	l := &linter{}
	all, err := compile.LoadEvery(bytes.NewReader(text.content))
	if err != nil {
		return []mistake{{text: mask.Line(err.Error())}}
	}
	l.at = all.Positions
	l.errors(all.Errors)
	l.twins(all.Tests)
	for i := range all.Tests {
		t := &all.Tests[i]
		r.checked[map[bool]string{false: "LoadTest", true: "LoadTestSchedule"}[t.IsSchedule()]]++
		l.under = ""
		if t.Loaded {
			l.under = t.Under
			l.loadTest(t.Manifest)
			continue
		}
		l.at = t.Positions
		l.errors(t.Errors)
		l.compiled(t.Warnings)
	}
	for _, t := range all.Targets {
		r.checked[rules.Kind]++
		file, _ := text.at(t.Line)
		l.target(t, filepath.Dir(file))
	}
	l.others(all.Others)
	return l.sorted()
}

// twins finds LoadTests of the same name: the API server stores the last one only.
func (l *linter) twins(all []compile.Test) {
	seen := map[string]bool{}
	for i := range all {
		t := &all[i]
		if !t.Loaded || t.IsSchedule() || t.LoadTest.Name == "" {
			continue
		}
		if name := t.Name(); seen[name] {
			l.add(mistake{
				line: t.Positions.Line("metadata.name"),
				text: mask.Line("metadata.name: " + name +
					" is the name of another LoadTest of the manifest; kubectl apply stores the last one only"),
			})
		} else {
			seen[name] = true
		}
	}
}

// target checks the rules of a file of h2surge target. The files that it names are in the directory.
func (l *linter) target(t compile.Target, dir string) {
	_, err := rules.Load(t.Content, dir)
	var wrong rules.Mistakes
	if errors.As(err, &wrong) {
		for _, m := range wrong {
			l.add(mistake{line: t.Line - 1 + max(m.Line, 1), text: mask.Line(strings.TrimPrefix(m.Path+": "+m.Text, ": "))})
		}
	}
}

// mostKinds is how many kinds the note about other objects names.
const mostKinds = 10

// others notes the objects that are not checked.
func (l *linter) others(all []compile.Other) {
	if len(all) == 0 {
		return
	}
	var kinds []string
	for _, o := range all {
		if !slices.Contains(kinds, o.Kind) && len(kinds) <= mostKinds {
			kinds = append(kinds, o.Kind)
		}
	}
	slices.Sort(kinds)
	if len(kinds) > mostKinds {
		kinds = append(kinds[:mostKinds], "...")
	}
	l.add(mistake{line: all[0].Line, level: isNote, text: mask.Line(fmt.Sprintf("%s of other kinds: not checked (%s)",
		build.Plural(len(all), "object"), strings.Join(kinds, ", ")))})
}
