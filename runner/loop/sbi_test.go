package loop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/chain"
)

// TestBinding: an instance keeps the last binding that a response had, of all its field lines, and sends it as a routing
// binding. The next instance begins without one.
func TestBinding(t *testing.T) {
	follows := func(s *rv.Step) {
		s.Headers = []rv.Header{{Name: lit("routing"), OmitEmpty: true, Value: rv.Text{{Capture: 1, Functions: []rv.Function{{Name: rv.FunctionRoutingBinding}}}}}}
		s.Capture = []rv.Capture{{Source: rv.Source{Kind: rv.SourceHeader, Name: "3gpp-sbi-binding", Joined: true}, Keep: true}}
	}
	inspected := func(s *rv.Step) {
		s.Expect.Checks = []rv.Check{{Name: "inspected", Source: &rv.Source{Kind: rv.SourceStatus}, Match: &rv.Match{Op: rv.MatchEquals, Want: lit("200")}}}
	}
	p := steps(every10ms(12), step("a", follows), step("b", follows), step("c", follows), step("d", follows), step("e", follows, inspected), step("f", follows))
	p.Chains[0].Captures = []string{"binding"}
	const callback = "bl=nf-set; nfset=x; scope=callback"
	bindings := map[string][]string{"/b": {callback, "bl=nf-set; nfset=b; group=1"}, "/c": nil, "/d": {"bl=nf-set; nfset=d"},
		"/e": {callback, "bl=nf-set; nfset=e", "bl=nf-set; nfset=y"}}
	b := newBench(t, p, func(r *simRequest) reply {
		out := reply{Status: 200}
		for _, binding := range bindings[r.Fields[":path"]] {
			out.Headers = append(out.Headers, "3gpp-sbi-binding", binding)
		}
		return out
	})
	got := b.run()
	var seen []string
	for _, r := range b.served {
		value, sent := r.Fields["routing"]
		seen = append(seen, fmt.Sprintf("%s %v %s", r.Fields[":path"], sent, value))
	}
	want := []string{"/a false ", "/b false ", "/c true bl=nf-set; nfset=b", "/d true bl=nf-set; nfset=b", "/e true bl=nf-set; nfset=d",
		"/f true bl=nf-set; nfset=e"}
	if diff := cmp.Diff(append(want, want...), seen); diff != "" || got.Succeeded != 12 {
		t.Errorf("%+v, requests (-want +got):\n%s", got, diff)
	}
}

// TestLongBinding: an instance has no binding if a line of it does not fit, because the other lines do not say the same.
func TestLongBinding(t *testing.T) {
	const short = "bl=nf-set; nfset=b"
	long := short + "; group=" + strings.Repeat("x", chain.MaxCaptured/2)
	for name, lines := range map[string][]string{"first line": {long, short}, "second line": {short, long, short}} {
		t.Run(name, func(t *testing.T) {
			captures := func(slot int, field string) func(*rv.Step) {
				return func(s *rv.Step) {
					s.Capture = []rv.Capture{{Slot: slot, Source: rv.Source{Kind: rv.SourceHeader, Name: field, Joined: true}, Keep: true}}
				}
			}
			p := steps(every10ms(3), step("a", captures(0, "other")), step("b", captures(1, "3gpp-sbi-binding")), step("c", func(s *rv.Step) {
				s.Headers = []rv.Header{{Name: lit("routing"), OmitEmpty: true, Value: rv.Text{{Capture: 2}}}}
			}))
			p.Chains[0].Captures, p.Targets[0].Protocol = []string{"other", "binding"}, rv.ProtocolHTTP1
			b := newBench(t, p, func(r *simRequest) reply {
				out := reply{Status: 200}
				switch r.Fields[":path"] {
				case "/a":
					out.Headers = []string{"other", long}
				case "/b":
					for _, line := range lines {
						out.Headers = append(out.Headers, "3gpp-sbi-binding", line)
					}
				}
				return out
			})
			got := b.run()
			if value, sent := b.served[2].Fields["routing"]; sent || got.Succeeded != 3 {
				t.Errorf("%+v, binding %q", got, value)
			}
		})
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
