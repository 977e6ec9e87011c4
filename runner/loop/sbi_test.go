package loop

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestBinding: an instance keeps the last binding that a response had, and sends it as a routing binding. The next instance
// begins without one.
func TestBinding(t *testing.T) {
	follows := func(s *rv.Step) {
		s.Headers = []rv.Header{{Name: lit("routing"), OmitEmpty: true, Value: rv.Text{{Capture: 1, Functions: []rv.Function{{Name: rv.FunctionRoutingBinding}}}}}}
		s.Capture = []rv.Capture{{Source: header("3gpp-sbi-binding"), Keep: true}}
	}
	p := steps(every10ms(10), step("a", follows), step("b", follows), step("c", follows), step("d", follows), step("e", follows, func(s *rv.Step) {
		s.Expect.Checks = []rv.Check{{Name: "inspected", Source: &rv.Source{Kind: rv.SourceStatus}, Match: &rv.Match{Op: rv.MatchEquals, Want: lit("200")}}}
	}))
	p.Chains[0].Captures = []string{"binding"}
	bindings := map[string]string{"/b": "bl=nf-set; nfset=b; group=1", "/c": "", "/d": "bl=nf-set; nfset=d"}
	b := newBench(t, p, func(r *simRequest) reply {
		if binding := bindings[r.Fields[":path"]]; binding != "" {
			return reply{Status: 200, Headers: []string{"3gpp-sbi-binding", binding}}
		}
		return reply{Status: 200}
	})
	got := b.run()
	var seen []string
	for _, r := range b.served {
		value, sent := r.Fields["routing"]
		seen = append(seen, fmt.Sprintf("%s %v %s", r.Fields[":path"], sent, value))
	}
	want := []string{"/a false ", "/b false ", "/c true bl=nf-set; nfset=b", "/d true bl=nf-set; nfset=b", "/e true bl=nf-set; nfset=d"}
	if diff := cmp.Diff(append(want, want...), seen); diff != "" || got.Succeeded != 10 {
		t.Errorf("%+v, requests (-want +got):\n%s", got, diff)
	}
}

// TestLoadControl: responses with overload and load control information are counted once each.
func TestLoadControl(t *testing.T) {
	for _, counts := range []bool{true, false} {
		p := steps(every10ms(6), step("a"), step("b"))
		p.Targets[0].CountLoadControl = counts
		b := newBench(t, p, func(r *simRequest) reply {
			if r.Fields[":path"] == "/b" {
				return reply{Status: 503, Headers: []string{"3gpp-sbi-oci", "x", "3gpp-sbi-oci", "y", "3gpp-sbi-lci", "z"}}
			}
			return reply{Status: 200, Headers: []string{"3gpp-sbi-lci", "z"}}
		})
		b.run()
		var got []int64
		for i := range b.w.rec.Steps {
			s := &b.w.rec.Steps[i]
			got = append(got, s.OverloadControl, s.LoadControl)
		}
		want := []int64{0, 3, 3, 3}
		if !counts {
			want = []int64{0, 0, 0, 0}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("counted %v: overload and load control of each step (-want +got):\n%s", counts, diff)
		}
	}
}
