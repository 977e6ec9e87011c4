package cli

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/verdict"
)

// refused returns the errors of a manifest whose plan the engine refuses: those that lint finds, with their lines, and else the error of the engine.
func (t *manifestText) refused(m *compile.Manifest, plan *rv.Plan, files []compile.File, err error) error {
	l := &linter{at: m.Positions}
	if problem := l.program(&m.LoadTest.Spec, plan, files); problem != nil {
		return Usagef("%v", err)
	}
	var lines []string
	for _, found := range l.sorted() {
		if found.level == isError {
			lines = append(lines, found.in(t))
		}
	}
	if len(lines) == 0 {
		return Usagef("%v", err)
	}
	return Exit(verdict.ExitUsage, bounded(lines)...)
}

// refused returns why the engine refuses the plan of a job.
func (j *job) refused(err error) error {
	if j.manifest == nil {
		return Usagef("%v", err)
	}
	return j.text.refused(j.manifest, j.plan, j.files, err)
}
