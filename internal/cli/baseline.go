package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/report"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/report/baseline"
)

// baselines has what was found for the thresholds with a baseline.
type baselines map[rv.BaselineSource]baseline.Found

// readBaselines reads the reports of a manifest's baselines. A report that does not exist is a warning, because the run
// is then Inconclusive. Anything else that is not a report is an error.
func readBaselines(m *compile.Manifest) (found baselines, warnings, errs field.ErrorList) {
	found = baselines{}
	for _, b := range compile.Baselines(&m.LoadTest.Spec) {
		content, err := baselineContent(m, b.BaselineSource)
		if err == nil {
			var r *rv.Report
			if r, err = report.Read(bytes.NewReader(content)); err == nil {
				found[b.BaselineSource] = baseline.Found{Report: r}
				continue
			}
			errs = append(errs, field.Invalid(b.Field, field.OmitValueType{}, fmt.Sprintf("%s: %v", b.BaselineSource, err)))
			continue
		}
		found[b.BaselineSource] = baseline.Found{Why: err.Error()}
		warnings = append(warnings, field.Invalid(b.Field, field.OmitValueType{},
			fmt.Sprintf("%s: %v; the run will be Inconclusive", b.BaselineSource, err)))
	}
	return found, warnings, errs
}

// baselineContent returns the report, as JSON or compressed, or why it does not exist.
func baselineContent(m *compile.Manifest, s rv.BaselineSource) ([]byte, error) {
	if s.Schedule != "" {
		return nil, errors.New("only the operator knows its runs")
	}
	if s.File == "" {
		content, found := m.Data(compile.ConfigMap, s.ConfigMap)
		switch {
		case !found:
			return nil, errors.New("it is not in the manifest")
		case content[v1alpha1.KeyReport] == nil:
			return nil, errors.New("it has no key " + v1alpha1.KeyReport)
		}
		return content[v1alpha1.KeyReport], nil
	}
	content, err := os.ReadFile(s.File)
	if cause := new(fs.PathError); errors.As(err, &cause) {
		err = cause.Err
	}
	return content, err
}
