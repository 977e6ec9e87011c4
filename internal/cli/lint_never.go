package cli

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/lazy"
)

// warnf is a warning about a field.
func (l *linter) warnf(at *field.Path, format string, args ...any) {
	l.warnings(field.ErrorList{field.Invalid(at, field.OmitValueType{}, fmt.Sprintf(format, args...))})
}

// unlikely returns the warnings about a manifest that is valid, and in which something cannot happen or is not what
// other tools make of it.
func unlikely(m *compile.Manifest, plan *rv.Plan) (out []string) {
	l := &linter{at: m.Positions}
	l.paths(&m.LoadTest.Spec)
	l.never(plan)
	for _, found := range l.sorted() {
		out = append(out, found.text)
	}
	return out
}

// never warns of what cannot happen: a threshold that has no effect, because the test is too short or sends too few
// requests.
func (l *linter) never(plan *rv.Plan) {
	if plan.Search != nil {
		return // the probes are the measured stages
	}
	for i := range plan.Thresholds {
		t := &plan.Thresholds[i]
		at := field.NewPath("spec", "thresholds").Index(i)
		size := measured(plan, t.Of.Stage)
		if size.time > 0 && t.AbortOnFail && t.AbortAfter >= size.time {
			l.warnf(at.Child("abortAfter"),
				"is %v, and the measured stages end after %v: the threshold never ends the test; set abortAfter to less than %v",
				t.AbortAfter, size.time, size.time)
		}
		if size.time > 0 && t.Window > size.time {
			l.warnf(at.Child("window"), "is %v, and the measured stages end after %v: there is no whole window", t.Window,
				size.time)
		}
		if need := needed(t); size.requests > 0 && float64(need) > size.requests {
			l.warnf(at.Child("percentile"),
				"%s needs at least %d requests, and the test sends at most %.0f: it is the greatest time", t.Percentile, need,
				size.requests)
		}
	}
}

// size is how much is measured at most.
type size struct {
	time     time.Duration // 0: not known
	requests float64       // 0: not known
}

// measured returns the size of a stage, or of all measured stages if stage is empty.
func measured(plan *rv.Plan, stage string) size {
	times := map[int]time.Duration{} // by the chain that has the stages
	out := size{}
	open, unknown := false, false
	for i := range plan.Rates {
		r := &plan.Rates[i]
		if r.WarmUp || stage != "" && r.Name != stage {
			continue
		}
		if _, begun := times[r.Chain]; !begun && r.Chain > 0 && stage == "" {
			times[r.Chain] = plan.Chains[r.Chain-1].StartAfter
		}
		times[r.Chain] += r.Duration
		out.time = max(out.time, times[r.Chain])
		open = open || r.Duration == 0
		n, known := slots(r)
		out.requests += n
		unknown = unknown || !known
	}
	if open {
		out.time = 0
	}
	if unknown {
		out.requests = 0
	}
	return out
}

// slots returns how many requests a stage sends at most, if that is known.
func slots(r *rv.Rate) (n float64, known bool) {
	switch {
	case r.Requests > 0:
		return float64(r.Requests), true
	case r.ClosedLoop || r.ChainsPerSecond || r.Period == 0:
		return 0, false
	}
	mean := float64(r.Count)
	if r.RampFrom != nil {
		mean = (mean + float64(*r.RampFrom)) / 2
	}
	return mean * r.Duration.Seconds() / r.Period.Seconds(), true
}

// needed returns how many requests must be above the percentile of a threshold and below it; 0: it is not known.
func needed(t *rv.Threshold) int64 {
	p, err := strconv.ParseFloat(strings.TrimPrefix(t.Percentile, "p"), 64)
	ofRequests := slices.Contains([]rv.Metric{rv.MetricResponseTime, rv.MetricServiceTime, rv.MetricTimeToFirstByte,
		rv.MetricLag}, t.Metric)
	if err != nil || p >= 100 || !ofRequests || t.Window > 0 {
		return 0
	}
	return int64(math.Ceil(100/(100-p) - 1e-6))
}

// variableSyntax matches what other tools take for a variable, and what h2surge does: $$ and ${name}.
var variableSyntax = lazy.Regexp(
	`\$\$|\$\{[^}]*\}|\{\{ ?([A-Za-z_][A-Za-z0-9_.-]*) ?\}\}|\{([A-Za-z_][A-Za-z0-9_.-]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)(=?)`)

// paths warns of variables of other tools in paths. They are sent as they are.
func (l *linter) paths(spec *v1alpha1.LoadTestSpec) {
	for i := range spec.Templates {
		l.path(field.NewPath("spec", "templates").Index(i).Child("path"), spec.Templates[i].Path)
	}
	for i := range spec.Chains {
		for j := range spec.Chains[i].Steps {
			if r := spec.Chains[i].Steps[j].Request; r != nil {
				l.path(field.NewPath("spec", "chains").Index(i).Child("steps").Index(j).Child("request", "path"), r.Path)
			}
		}
	}
}

func (l *linter) path(at *field.Path, path string) {
	for _, m := range variableSyntax().FindAllStringSubmatch(path, -1) {
		if name := m[1] + m[2] + m[3]; name != "" && m[4] == "" { // ?$filter= is OData
			l.warnf(at, "%s is sent as it is; for the value of a variable or a capture, write ${%s}", m[0], name)
		}
	}
}

// ownFiles checks that the files of a spec exist. A file that is missing here is an error, because run refuses it,
// unless only the pod of a runner may have it: its path is absolute, or the pod has a template.
func (l *linter) ownFiles(spec *v1alpha1.LoadTestSpec) {
	files := compile.OwnFiles(spec)
	for _, err := range missing(files) {
		i := slices.IndexFunc(files, func(f compile.OwnFile) bool { return f.Field.String() == err.Field })
		if filepath.IsAbs(files[i].Path) || spec.Runner.PodTemplate != nil {
			err.Detail += "; it is not checked"
			l.warnings(field.ErrorList{err})
		} else {
			l.errors(field.ErrorList{err})
		}
	}
}

// baselines checks the reports that thresholds compare with.
func (l *linter) baselines(m *compile.Manifest) {
	_, warnings, errs := readBaselines(m)
	l.errors(errs)
	l.warnings(slices.DeleteFunc(warnings,
		func(err *field.Error) bool { return strings.HasPrefix(err.Detail, "schedule ") }))
}
