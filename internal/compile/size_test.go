package compile_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/test/builder"
)

// allocated returns how many octets a function allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestSize: the compiler does not make a plan that is much larger than its LoadTest.
func TestSize(t *testing.T) {
	const tooLarge = "spec.chains: the steps together have more than 16777216 octets, with 100 more for each placeholder; use fewer steps, shorten texts, or put them into files"
	const limit = 200 << 20
	send := func(steps int, template func(*v1alpha1.Template)) func(*spec) {
		return func(s *spec) {
			template(&s.Templates[0])
			s.Variables = []v1alpha1.Variable{builder.List("a", "x")}
			s.Chains[0].Steps = nil
			for i := range steps {
				s.Chains[0].Steps = append(s.Chains[0].Steps, v1alpha1.Step{Name: fmt.Sprintf("s%d", i), Template: s.Templates[0].Name})
			}
			s.Thresholds = []v1alpha1.Threshold{builder.ErrorRate("1%")}
			s.Thresholds[0].Step = fmt.Sprintf("%s/s%d", s.Chains[0].Name, steps-1)
		}
	}
	placeholders := func(n int) func(*v1alpha1.Template) {
		return func(t *v1alpha1.Template) { t.Body = strings.Repeat("${a}", n) }
	}
	parts := func(t *v1alpha1.Template) {
		for range 8 {
			t.Parts = append(t.Parts, v1alpha1.BodyPart{ContentType: "text/plain", Body: strings.Repeat("x", 180_000)})
		}
	}
	script := func(t *v1alpha1.Template) { t.Script = &v1alpha1.Script{Lua: "--" + strings.Repeat("x", 65_000)} }
	for _, tc := range []struct {
		name string
		edit func(*spec)
		want []string
	}{
		{"many placeholders", send(2, placeholders(65_536)), []string{}},
		{"too many placeholders", send(32, placeholders(65_536)), []string{tooLarge}},
		{"too many in small steps", send(64, placeholders(3_000)), []string{tooLarge}},
		{"long parts", send(11, parts), []string{}},
		{"too long parts", send(12, parts), []string{tooLarge}},
		{"scripts", send(64, script), []string{}},
		{"too many steps", func(s *spec) {
			send(64, placeholders(100))(s)
			for i := range s.Chains[0].Steps {
				step := &s.Chains[0].Steps[i]
				for k := range 16 {
					step.Parallel = append(step.Parallel, v1alpha1.ParallelStep{Template: step.Template, Name: fmt.Sprintf("%s-%d", step.Name, k)})
				}
				step.Name, step.Template = "", ""
			}
			for i := 1; i < 32; i++ {
				chain := s.Chains[0]
				chain.Name = fmt.Sprintf("chain-%d", i)
				s.Chains = append(s.Chains, chain)
			}
		}, []string{"spec.chains: 32768 steps in all chains together, at most 256 are possible"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lt := builder.Minimal("test").Edit(tc.edit).Build()
			n := allocated(func() {
				_, _, errs := compile.Compile("default/test", &lt.Spec)
				if diff := cmp.Diff(tc.want, compile.ErrorLines(errs)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
			if n > limit {
				t.Errorf("allocates %d octets, want at most %d", n, limit)
			}
		})
	}
}
