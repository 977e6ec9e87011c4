package compile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/test/builder"
)

// step edits a step of the chain that creates (0), updates (1) and deletes (2) a session.
func step(i int, edit func(*v1alpha1.Step)) func(*spec) {
	return func(s *spec) { edit(&s.Chains[0].Steps[i]) }
}

func think(t v1alpha1.ThinkTime) func(*spec) {
	return step(1, func(s *v1alpha1.Step) { s.ThinkTime = &t })
}

func retry(r v1alpha1.Retry) func(*spec) {
	return step(1, func(s *v1alpha1.Step) { s.Retry = &r })
}

func duration(d time.Duration) *v1alpha1.Duration { return &v1alpha1.Duration{Duration: d} }

// parallel makes one group of the chain's second and third step.
func parallel(edit func(*v1alpha1.Step)) func(*spec) {
	return func(s *spec) {
		group := v1alpha1.Step{Parallel: []v1alpha1.ParallelStep{{Template: "update"}, {Template: "delete"}}}
		edit(&group)
		s.Chains[0].Steps = []v1alpha1.Step{{Template: "create"}, group}
	}
}

// setup adds a chain of a phase that sends a template of the same name.
func setup(s *spec, phase v1alpha1.ChainPhase, t v1alpha1.Template) {
	s.Templates = append(s.Templates, t)
	s.Chains = append(s.Chains, v1alpha1.Chain{Name: t.Name, Target: "target", Phase: phase, Steps: []v1alpha1.Step{{Template: t.Name}}})
}

func captures(names ...string) (out []v1alpha1.Capture) {
	for _, name := range names {
		out = append(out, v1alpha1.Capture{Name: name, ValueSource: v1alpha1.ValueSource{Header: "etag"}})
	}
	return out
}

func TestErrorsOfChains(t *testing.T) {
	const pause = ": must be at most 1h, and not negative"
	const chain, steps = "spec.chains[0]", "spec.chains[0].steps[1]"
	for _, tc := range []struct {
		name string
		edit func(*spec)
		want []string
	}{
		{"unknown phase", func(s *spec) { s.Chains[0].Phase = "later" },
			[]string{chain + ".phase: must be one of Load, Setup, Teardown"}},
		{"no load", func(s *spec) { s.Chains[0].Phase = "Setup" },
			[]string{"spec.chains: all chains are Setup or Teardown; at least one must be Load"}},
		{"all later", func(s *spec) { s.Chains[0].StartDelay = duration(1) },
			[]string{"spec.chains: all chains have a startDelay; at least one must start with the test"}},
		{"late", func(s *spec) {
			s.Chains = append(s.Chains, v1alpha1.Chain{Name: "late", Target: "target", StartDelay: duration(24*time.Hour + 1), Steps: []v1alpha1.Step{{Template: "create"}}})
		}, []string{"spec.chains[1].startDelay: must be at most 24h, and not negative"}},
		{"bounds of what runs once", func(s *spec) {
			setup(s, "Teardown", v1alpha1.Template{Name: "end"})
			s.Chains[1].MaxInFlight = ptr.To[int32](3)
		}, []string{"spec.chains[1]: maxInFlight and startDelay go with phase Load"}},
		{"none in flight", func(s *spec) { s.Chains[0].MaxInFlight = ptr.To[int32](0) },
			[]string{chain + ".maxInFlight: must be between 1 and 10000000"}},
		{"fewer in flight than shards", func(s *spec) { s.Chains[0].MaxInFlight, s.Runner.Shards = ptr.To[int32](3), 4 },
			[]string{chain + ".maxInFlight: must be at least runner.shards, one for each shard"}},
		{"unknown weightBy", func(s *spec) { s.WeightBy = "bytes" }, []string{"spec.weightBy: must be Chains or Requests"}},
		{"unknown target of a step", step(1, func(s *v1alpha1.Step) { s.Target = "elsewhere" }),
			[]string{steps + `.target: there is no target "elsewhere"`}},
		{"template and parallel", step(1, func(s *v1alpha1.Step) {
			s.Parallel = []v1alpha1.ParallelStep{{Template: "update"}, {Template: "delete"}}
		}),
			[]string{steps + ": exactly one of request, template, parallel and await is needed"}},
		{"a group of one", parallel(func(s *v1alpha1.Step) { s.Parallel = s.Parallel[:1] }),
			[]string{steps + ".parallel: has 1 entries, at least 2 are needed"}},
		{"a group of seventeen", parallel(func(s *v1alpha1.Step) {
			for i := len(s.Parallel); i < 17; i++ {
				s.Parallel = append(s.Parallel, v1alpha1.ParallelStep{Template: "update", Name: fmt.Sprintf("update-%d", i)})
			}
		}), []string{steps + ".parallel: has 17 entries, at most 16 are possible"}},
		{"a repeated group", parallel(func(s *v1alpha1.Step) { s.Repeat = &v1alpha1.Repeat{Count: 2} }),
			[]string{steps + ": cannot be used with parallel; allowed: thinkTime, when, always"}},
		{"unknown template in a group", parallel(func(s *v1alpha1.Step) { s.Parallel[1].Template = "x" }),
			[]string{steps + `.parallel[1].template: there is no template "x"`}},
		{"unknown target in a group", parallel(func(s *v1alpha1.Step) { s.Parallel[1].Target = "x" }),
			[]string{steps + `.parallel[1].target: there is no target "x"`}},
		{"a name that a group has", parallel(func(s *v1alpha1.Step) { s.Parallel[1].Template = "create" }),
			[]string{steps + `.parallel[1].name: "create" is the name of step 0 too; give one of them another name`}},
		{"a group that reads itself", func(s *spec) {
			s.Templates[1].Capture, s.Templates[2].Body = captures("version"), "${version}"
			parallel(func(*v1alpha1.Step) {})(s)
		}, []string{`spec.templates[2].body: capture "version" is read by step "delete" of chain "session" before step "update" makes it`}},
		{"a group that captures twice", func(s *spec) {
			s.Templates[1].Capture, s.Templates[2].Capture = captures("version"), captures("version")
			parallel(func(*v1alpha1.Step) {})(s)
		}, []string{`spec.templates[2].capture[0].name: "version" is captured by steps "update" and "delete" of chain "session", which are sent at the same time`}},

		{"no kind of thinkTime", think(v1alpha1.ThinkTime{}), []string{steps + ".thinkTime: exactly one of exponential, fixed and uniform is needed"}},
		{"long thinkTime", think(v1alpha1.ThinkTime{Fixed: duration(time.Hour + 1)}), []string{steps + ".thinkTime.fixed" + pause}},
		{"negative thinkTime", think(v1alpha1.ThinkTime{Uniform: &v1alpha1.UniformTime{Min: *duration(-1), Max: *duration(1)}}),
			[]string{steps + ".thinkTime.uniform.min" + pause}},
		{"thinkTime the wrong way round", think(v1alpha1.ThinkTime{Uniform: &v1alpha1.UniformTime{Min: *duration(2), Max: *duration(1)}}),
			[]string{steps + ".thinkTime.uniform: max must not be below min"}},
		{"mean of zero", think(v1alpha1.ThinkTime{Exponential: &v1alpha1.ExponentialTime{Max: duration(1)}}),
			[]string{steps + ".thinkTime.exponential.mean: must be greater than 0 and at most 1h"}},
		{"mean of days", think(v1alpha1.ThinkTime{Exponential: &v1alpha1.ExponentialTime{Mean: *duration(1 << 62)}}),
			[]string{steps + ".thinkTime.exponential.mean: must be greater than 0 and at most 1h"}},

		{"repeated not at all", step(1, func(s *v1alpha1.Step) { s.Repeat = &v1alpha1.Repeat{} }),
			[]string{steps + ".repeat.count: must be between 1 and 100000"}},
		{"until nine conditions", step(1, func(s *v1alpha1.Step) {
			s.Repeat = &v1alpha1.Repeat{Count: 2}
			for range 9 {
				s.Repeat.Until = append(s.Repeat.Until, builder.When("${session}", "a"))
			}
		}), []string{steps + ".repeat.until: has 9 entries, at most 8 are possible"}},
		{"no attempts", retry(v1alpha1.Retry{}), []string{steps + ".retry.attempts: must be between 1 and 100"}},
		{"long backoff", retry(v1alpha1.Retry{Attempts: 1, Backoff: duration(time.Second), MaxBackoff: duration(2 * time.Hour)}),
			[]string{steps + ".retry.maxBackoff" + pause}},
		{"backoff above its default bound", retry(v1alpha1.Retry{Attempts: 1, Backoff: duration(time.Minute)}),
			[]string{steps + ".retry.maxBackoff: 10s is below the backoff of 1m0s"}},
		{"unknown onFailure", step(1, func(s *v1alpha1.Step) { s.OnFailure = "retry" }),
			[]string{steps + ".onFailure: must be Abort or Continue"}},

		{"condition without a value", step(1, func(s *v1alpha1.Step) { s.When = []v1alpha1.Condition{builder.When("", "a")} }),
			[]string{steps + ".when[0].value: must not be empty"}},
		{"condition on an undefined variable", step(1, func(s *v1alpha1.Step) { s.When = []v1alpha1.Condition{builder.When("${x}", "${y}")} }),
			[]string{steps + `.when[0].equals: variable "y" is not defined`, steps + `.when[0].value: variable "x" is not defined`}},
		{"condition on its own capture", step(0, func(s *v1alpha1.Step) { s.When = []v1alpha1.Condition{builder.When("${session}", "a")} }),
			[]string{`spec.chains[0].steps[0].when[0].value: capture "session" is made by step "create" of chain "session" itself, from the response to this request`}},
		{"condition without a comparison", step(1, func(s *v1alpha1.Step) { s.When = []v1alpha1.Condition{{Value: "a"}} }),
			[]string{steps + ".when[0]: exactly one of equals, startsWith, endsWith, contains, matches, exists, lessThan and greaterThan is needed"}},

		{"a global captured again", func(s *spec) {
			setup(s, "Setup", v1alpha1.Template{Name: "begin", Request: v1alpha1.Request{Capture: captures("session")}})
		},
			[]string{`spec.templates[0].capture[0].name: "session" is what setup chain "begin" captures for all chains, so that chain "session" must not capture it too`}},
		{"a global of a later setup chain", func(s *spec) {
			setup(s, "Setup", v1alpha1.Template{Name: "first", Request: v1alpha1.Request{Body: "${token}"}})
			setup(s, "Setup", v1alpha1.Template{Name: "second", Request: v1alpha1.Request{Capture: captures("token")}})
		}, []string{`spec.templates[3].body: capture "token" is read by step "first" of setup chain "first" before setup chain "second" makes it`}},
		{"what only teardown captures", func(s *spec) {
			setup(s, "Teardown", v1alpha1.Template{Name: "end", Request: v1alpha1.Request{Capture: captures("last")}})
			s.Templates[1].Body = "${last}"
		}, []string{`spec.templates[1].body: capture "last" is made by no step of chain "session", where step "update" reads it`}},
		{"too many requests at the same time", func(s *spec) {
			s.Chains[0].Steps = s.Chains[0].Steps[:1]
			for i := range 51 {
				var group []v1alpha1.ParallelStep
				for k := range 5 {
					group = append(group, v1alpha1.ParallelStep{Template: "update", Name: fmt.Sprintf("u-%d-%d", i, k)})
				}
				s.Chains[0].Steps = append(s.Chains[0].Steps, v1alpha1.Step{Parallel: group})
			}
			s.Chains[0].Steps = append(s.Chains[0].Steps, v1alpha1.Step{Template: "delete"})
		}, []string{"spec.chains: 257 steps in all chains together, at most 256 are possible"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lt := builder.Sessions("test", "http://target.example").Edit(tc.edit).Build()
			_, _, errs := compile.Compile("default/test", &lt.Spec)
			if diff := cmp.Diff(tc.want, compile.ErrorLines(errs)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWarningsOfChains(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(*spec)
		want []string
	}{
		{"weight of what runs once", func(s *spec) {
			setup(s, "Setup", v1alpha1.Template{Name: "begin"})
			s.Chains[1].Weight = 2
		}, []string{"spec.chains[1].weight: has no effect on a Setup chain, which runs once"}},
		{"fewer connections than workers", func(s *spec) { s.Runner.CPUsPerShard = ptr.To[int32](4) },
			[]string{"spec.targets[0].connections: 1 is below the 4 workers of all shards, of which no more than that can work: each needs a connection"}},
		{"fewer instances than workers", func(s *spec) {
			s.Chains[0].MaxInFlight, s.Runner.CPUsPerShard, s.Targets[0].Connections = ptr.To[int32](3), ptr.To[int32](4), ptr.To[int32](4)
		},
			[]string{"spec.chains[0].maxInFlight: 3 is below the 4 workers of all shards, of which no more than that can work: each needs an instance"}},
		{"a delay beyond the end", func(s *spec) {
			s.Chains = append(s.Chains, v1alpha1.Chain{Name: "late", Target: "target", StartDelay: duration(time.Second), Steps: []v1alpha1.Step{{Template: "create"}}})
		}, []string{"spec.chains[1].startDelay: the chain never starts, because the stages end after 1s"}},
		{"an always step without time", step(2, func(s *v1alpha1.Step) { s.Always = true }),
			[]string{"spec.chains[0].steps[2].always: instances under way at the end of the load do not send it; spec.gracefulStop gives it time"}},
		{"an always step with time", func(s *spec) {
			s.GracefulStop = duration(time.Second)
			s.Chains[0].Steps[0].OnFailure, s.Chains[0].Steps[1].Always, s.Chains[0].Steps[2].Always = "Continue", true, true
		}, nil},
		{"no cookies to clear", step(1, func(s *v1alpha1.Step) { s.ClearCookies = true }),
			[]string{`spec.chains[0].steps[1].clearCookies: chain "session" keeps no cookies; cookies: true makes it`}},
		{"a condition that never holds", step(1, func(s *v1alpha1.Step) { s.When = []v1alpha1.Condition{builder.When("${session}", "")} }),
			[]string{"spec.chains[0].steps[1].when[0].equals: never holds, because an empty text counts as no value; exists: false holds then"}},
		{"a value that is not empty", step(1, func(s *v1alpha1.Step) {
			s.When = []v1alpha1.Condition{builder.When("${session}", "")}
			s.When[0].Not = true
		}), nil},
		{"a capture that may be missing", step(0, func(s *v1alpha1.Step) { s.OnFailure = "Continue" }), []string{
			`spec.templates[1].path: capture "session" is empty in step "update" of chain "session" when step "create", which makes it, was skipped or has failed; a condition (when) can say what to do then`,
			`spec.templates[2].path: capture "session" is empty in step "delete" of chain "session" when step "create", which makes it, was skipped or has failed; a condition (when) can say what to do then`,
		}},
		{"a capture that may be missing, and a condition", func(s *spec) {
			s.Chains[0].Steps[0].OnFailure = "Continue"
			for i := range 2 {
				s.Chains[0].Steps[i+1].When = []v1alpha1.Condition{{Value: "${session}", Comparison: v1alpha1.Comparison{Exists: ptr.To(true)}}}
			}
		}, nil},
		{"a capture that may not be made again", func(s *spec) {
			s.Templates[1].Capture = captures("session")
			s.Chains[0].Steps[1].When = []v1alpha1.Condition{builder.When("${ue}", "1")}
		}, nil},
		{"read by conditions, expected values and the next round only", func(s *spec) {
			s.Templates[0].Capture = append(s.Templates[0].Capture, captures("version", "state", "count")...)
			s.Templates[1].Capture = captures("round", "version")
			s.Templates[1].Expect = &v1alpha1.Expect{Checks: []v1alpha1.Check{{
				Name: "same", ValueSource: v1alpha1.ValueSource{Header: "etag"}, Comparison: v1alpha1.Comparison{Equals: ptr.To("${version}")},
			}}}
			s.Chains[0].Steps[1].When = []v1alpha1.Condition{builder.When("${state}", "${count}")}
			s.Chains[0].Steps[1].Repeat = &v1alpha1.Repeat{Count: 2, Until: []v1alpha1.Condition{builder.When("${round}", "2")}}
		}, nil},
		{"reported once", func(s *spec) {
			s.Chains[0].Steps[0].OnFailure = "Continue"
			s.Templates[1].Path, s.Templates[1].Body = "/", "${session} ${session}"
			s.Chains[0].Steps = s.Chains[0].Steps[:2]
			s.Templates = s.Templates[:2]
		}, []string{`spec.templates[1].body: capture "session" is empty in step "update" of chain "session" when step "create", which makes it, was skipped or has failed; a condition (when) can say what to do then`}},
		{"an unused global", func(s *spec) {
			setup(s, "Setup", v1alpha1.Template{Name: "begin", Request: v1alpha1.Request{Capture: captures("token")}})
		},
			[]string{`spec.templates[3].capture[0]: capture "token" is never read`}},
		{"a global that teardown reads", func(s *spec) {
			setup(s, "Setup", v1alpha1.Template{Name: "begin", Request: v1alpha1.Request{Capture: captures("token")}})
			setup(s, "Teardown", v1alpha1.Template{Name: "end", Request: v1alpha1.Request{Body: "${token}"}})
		}, nil},
		{"a target of a step", func(s *spec) {
			s.Targets = append(s.Targets, v1alpha1.Target{Name: "other", URL: "http://other.example"})
			s.Chains[0].Steps[1].Target = "other"
		}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lt := builder.Sessions("test", "http://target.example").Edit(tc.edit).Build()
			_, got, errs := compile.Compile("default/test", &lt.Spec)
			if len(errs) > 0 {
				t.Fatal(compile.ErrorLines(errs))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWeightByRequests: what is sent has the ratio of the weights, also where that needs large numbers.
func TestWeightByRequests(t *testing.T) {
	for _, tc := range []struct {
		name    string
		weights []int32
		// repeats of the only step of each chain
		repeats []int32
		want    []int
	}{
		{"one and four steps", []int32{1, 1}, []int32{1, 4}, []int{4, 1}},
		{"no common factor", []int32{4, 2}, []int32{2, 1}, []int{1, 1}},
		{"weights and steps", []int32{3, 1, 5}, []int32{10, 6, 15}, []int{9, 5, 10}},
		{"large", []int32{10_000, 1}, []int32{1, 100_000}, []int{1_000_000_000, 1}},
	} {
		lt := builder.Minimal("test").WeightBy(v1alpha1.WeightByRequests).Edit(func(s *spec) {
			s.Chains = nil
			for i := range tc.weights {
				s.Chains = append(s.Chains, v1alpha1.Chain{
					Name: fmt.Sprintf("c-%d", i), Target: "target", Weight: tc.weights[i],
					Steps: []v1alpha1.Step{{Template: "get", Repeat: &v1alpha1.Repeat{Count: tc.repeats[i]}}},
				})
			}
		}).Build()
		p, _, errs := compile.Compile("default/test", &lt.Spec)
		if len(errs) > 0 {
			t.Fatal(compile.ErrorLines(errs))
		}
		var got []int
		for i := range p.Chains {
			got = append(got, p.Chains[i].Weight)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestDeadlineOfOnce checks that the deadline has a limited time for chains that run once.
func TestDeadlineOfOnce(t *testing.T) {
	base := time.Second + 2*(5*time.Second+100*time.Millisecond) + time.Minute // stage, drain with slack twice, slack
	for _, tc := range []struct {
		name string
		edit func(*v1alpha1.Step)
		want time.Duration
	}{
		{"one request", func(*v1alpha1.Step) {}, 5 * time.Second},
		{"thinks", func(s *v1alpha1.Step) {
			s.ThinkTime = &v1alpha1.ThinkTime{Exponential: &v1alpha1.ExponentialTime{Mean: *duration(time.Second)}}
		}, 15 * time.Second},
		{"repeats", func(s *v1alpha1.Step) { s.Repeat = &v1alpha1.Repeat{Count: 3} }, 15 * time.Second},
		{"retries", func(s *v1alpha1.Step) {
			s.Retry = &v1alpha1.Retry{Attempts: 3, Backoff: duration(time.Second), MaxBackoff: duration(3 * time.Second)}
		}, (4*5 + 1 + 2 + 3) * time.Second},
		{"without end", func(s *v1alpha1.Step) {
			s.Repeat = &v1alpha1.Repeat{Count: 100_000}
			s.ThinkTime = &v1alpha1.ThinkTime{Fixed: duration(time.Hour)}
			s.Retry = &v1alpha1.Retry{Attempts: 100, MaxBackoff: duration(time.Hour)}
		}, time.Hour},
	} {
		lt := builder.Minimal("test").Edit(func(s *spec) {
			setup(s, "Setup", v1alpha1.Template{Name: "begin"})
			tc.edit(&s.Chains[1].Steps[0])
		}).Build()
		p, _, errs := compile.Compile("default/test", &lt.Spec)
		if len(errs) > 0 {
			t.Fatal(compile.ErrorLines(errs))
		}
		if got := p.Deadline - base; got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
		if p.Drain != 5*time.Second+100*time.Millisecond {
			t.Errorf("%s: drain of %v", tc.name, p.Drain)
		}
	}
}

// TestRetries: a bound below the default backoff bounds that too.
func TestRetries(t *testing.T) {
	for _, tc := range []struct {
		in   v1alpha1.Retry
		want rv.OnFailure
	}{
		{v1alpha1.Retry{Attempts: 2}, rv.OnFailure{Retries: 2, Backoff: 100 * time.Millisecond, MaxBackoff: 10 * time.Second}},
		{v1alpha1.Retry{Attempts: 2, MaxBackoff: duration(7)}, rv.OnFailure{Retries: 2, Backoff: 7, MaxBackoff: 7}},
		{v1alpha1.Retry{Attempts: 2, Backoff: duration(0)}, rv.OnFailure{Retries: 2, MaxBackoff: 10 * time.Second}},
	} {
		lt := builder.Sessions("test", "http://target.example").Edit(retry(tc.in)).Build()
		p, _, errs := compile.Compile("default/test", &lt.Spec)
		if len(errs) > 0 {
			t.Fatal(compile.ErrorLines(errs))
		}
		if diff := cmp.Diff(tc.want, p.Chains[0].Steps[1].OnFailure); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestThinkTimes: what a plan says of each kind.
func TestThinkTimes(t *testing.T) {
	for _, tc := range []struct {
		in   v1alpha1.ThinkTime
		want *rv.Think
	}{
		{v1alpha1.ThinkTime{Fixed: duration(0)}, nil},
		{v1alpha1.ThinkTime{Fixed: duration(7)}, &rv.Think{Fixed: 7}},
		{v1alpha1.ThinkTime{Uniform: &v1alpha1.UniformTime{Max: *duration(7)}}, &rv.Think{Max: 7}},
		{v1alpha1.ThinkTime{Exponential: &v1alpha1.ExponentialTime{Mean: *duration(7)}}, &rv.Think{Mean: 7, Max: 70}},
		{v1alpha1.ThinkTime{Exponential: &v1alpha1.ExponentialTime{Mean: *duration(time.Hour)}}, &rv.Think{Mean: time.Hour, Max: time.Hour}},
	} {
		lt := builder.Sessions("test", "http://target.example").Edit(think(tc.in)).Build()
		p, _, errs := compile.Compile("default/test", &lt.Spec)
		if len(errs) > 0 {
			t.Fatal(compile.ErrorLines(errs))
		}
		if diff := cmp.Diff(tc.want, p.Chains[0].Steps[1].Think); diff != "" {
			t.Errorf("%s", strings.TrimSpace(diff))
		}
	}
}
