package render

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestScalability: each form of the report has the coefficients and the knee, and the page draws them over the
// measured points. Without a fit they say why.
func TestScalability(t *testing.T) {
	s := &runnerv1alpha1.Scalability{Message: "the rate is highest at 96.5 requests in flight",
		Fit: &runnerv1alpha1.ScalabilityFit{
			RateOfOne: 90, Contention: 0.02773, Coherency: 0.0001044, Error: 0.0338,
			Knee: &runnerv1alpha1.ScalabilityKnee{Concurrency: 96.5, Rate: 1884}}}
	for _, p := range [][2]float64{{1, 64.9}, {18, 995.9}, {36, 1652.4}, {72, 1853.2}, {108, 1828.9}, {144, 1775},
		{216, 1702.2}} {
		s.Points = append(s.Points, runnerv1alpha1.ScalabilityPoint{Of: "probe", Concurrency: p[0], Rate: p[1]})
	}
	for _, form := range []struct {
		write      func(io.Writer, *runnerv1alpha1.Report) error
		with, none []string
	}{
		{Text, []string{"Scalability (Universal Scalability Law)", "contention             2.77%", "coherency              0.0104%",
			"7 points, error 3.38%", "96.5 requests"},
			[]string{"no fit: 2 points"}},
		{Markdown, []string{"| contention | 2.77% |", "96.5 requests"}, []string{"no fit: 2 points"}},
		{HTML, []string{`id="plot-scalability"`, `data-series="measured"`, `data-series="fitted"`, "knee 96.5", `<table id="scalability">`},
			[]string{`data-series="measured"`, "No fit: 2 points"}},
		{JSON, []string{`"coherency": 0.0001044`}, []string{`"message": "no fit: 2 points"`}},
	} {
		for _, c := range []struct {
			s       *runnerv1alpha1.Scalability
			want    []string
			without string
		}{
			{s, form.with, "no fit"},
			{&runnerv1alpha1.Scalability{Message: "no fit: 2 points", Points: s.Points[:2]}, form.none, `data-series="fitted"`},
			{nil, nil, "calability"},
		} {
			var b bytes.Buffer
			if err := form.write(&b, &runnerv1alpha1.Report{Name: "ns/find", Scalability: c.s}); err != nil {
				t.Fatal(err)
			}
			for _, w := range c.want {
				if !strings.Contains(b.String(), w) {
					t.Errorf("%q is missing in:\n%s", w, b.String())
				}
			}
			if strings.Contains(b.String(), c.without) {
				t.Errorf("%q is in:\n%s", c.without, b.String())
			}
		}
	}
	var again runnerv1alpha1.Report
	var b bytes.Buffer
	if err := JSON(&b, &runnerv1alpha1.Report{Scalability: s}); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b.Bytes(), &again); err != nil || again.Scalability.Fit.Knee.Concurrency != 96.5 {
		t.Errorf("%v: %+v", err, again.Scalability)
	}
}
