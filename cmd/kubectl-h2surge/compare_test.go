package main

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// ofMedian is a test of a thousand requests that has ended, and its report.
func ofMedian(t *testing.T, name string, us int64) []client.Object {
	const n = 1000
	times := rv.Times{Count: n, P50: us, P90: us, P95: us, P99: us, P999: us, Max: us}
	r := rv.Report{
		Requests: rv.Requests{Outcomes: rv.Outcomes{Sent: n, Done: n, Succeeded: n}}, StatusCodes: map[string]int64{"200": n}, ResponseTime: times,
		Stages:  []rv.StageResult{{Sent: n}},
		Steps:   []rv.StepResult{{Chain: "c", Step: "s", Outcomes: rv.Outcomes{Sent: n, Done: n, Succeeded: n}, ResponseTime: times}},
		Verdict: passedVerdict(),
	}
	lt := loadTest(ends)
	lt.Name, lt.Status.Report = name, &v1alpha1.ReportStatus{ConfigMapRef: v1alpha1.ConfigMapReference{Name: name + "-report"}}
	return []client.Object{lt, storedReport(t, name, r)}
}

func TestKubeCompare(t *testing.T) {
	objects := append(append(ofMedian(t, "a", 1000), ofMedian(t, "b", 1200)...), loadTest(begins))
	for _, tt := range []struct {
		args string
		code int
		want string // of either stream
	}{
		{"compare a a", 0, "Comparison: Passed"},
		{"compare a b", 2, "7 of 9 judged figures are worse in B than in A"},
		{"compare a b --tolerance 20%", 0, "A  a: default/a, Passed\nB  b: default/b, Passed\n"},
		{"compare b a -o html", 0, "<!doctype html>"},
		{"compare a pcf", 1, "pcf has no report: it has not ended (Running)"},
		{"compare a missing", 1, `"missing" not found`},
		{"compare a", 1, "B: the argument is missing"},
	} {
		f := &fakeCluster{t: t, objects: objects}
		code, out, errs := f.kubectl("", strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(out+errs, tt.want) {
			t.Errorf("%s: exit code %d, want %d and %q; got\n%s\n%s", tt.args, code, tt.code, tt.want, out, errs)
		}
	}
}
