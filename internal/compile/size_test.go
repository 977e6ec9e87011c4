package compile_test

import (
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/test/builder"
)

// allocated returns how many octets a function allocates.
func allocated(f func()) uint64 {
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	f()
	goruntime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestSize: the compiler does not make a plan that is much larger than its LoadTest.
func TestSize(t *testing.T) {
	const tooLarge = "spec.chains: the steps together have more than 16777216 octets, with 100 more for each placeholder and each text between them; use fewer steps, shorten texts, or put them into files"
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
	schema := func(format string, args ...any) func(*spec) {
		return send(1, func(t *v1alpha1.Template) {
			inline := &runtime.RawExtension{Raw: fmt.Appendf(nil, format, args...)}
			t.Expect = &v1alpha1.Expect{Checks: []v1alpha1.Check{{Name: "a", JSONSchema: &v1alpha1.JSONSchema{Inline: inline}}}}
		})
	}
	const largeSchema = "spec.templates[0].expect.checks[0].jsonSchema.inline: is too large to compile; allowed: at most 10000 objects, arrays and booleans, 524288 characters of all their JSON Pointers together, and regular expressions of at most 10000 characters each, and together as large as a{100000}"
	var undefined, notDefined []string
	for i := range 2500 {
		undefined = append(undefined, fmt.Sprintf("x%d", i))
		notDefined = append(notDefined, fmt.Sprintf(`spec.templates[0].body: variable "x%d" is not defined`, i))
	}
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
		{"a schema with large expressions", schema(`{"pattern":"^[a-z]{1,1000}$","patternProperties":{"(\\pL{10}){10}":{"pattern":"a*"}},"properties":{"a":{"pattern":"%s"}}}`, strings.Repeat("a{1000}", 45)), []string{}},
		{"a schema with too large expressions", schema(`{"properties":{"a":{"pattern":"%[1]s"},"b":{"pattern":"%[1]s"}}}`, strings.Repeat("a{1000}", 3300)), []string{largeSchema}},
		{"a schema with many small ones", schema(`{"allOf":[%s{}]}`, strings.Repeat(`{"patternProperties":{"a{1000}":{}}},`, 200)), []string{largeSchema}},
		{"a schema with classes", schema(`{"pattern":"%s"}`, strings.Repeat(`\\pL`, 3000)), []string{largeSchema}},
		{"a schema with many subschemas", schema(`{"allOf":[%strue]}`, strings.Repeat(`{},true,`, 4500)), []string{}},
		{"a schema with too many subschemas", schema(`{"allOf":[%strue]}`, strings.Repeat(`{},true,`, 5000)), []string{largeSchema}},
		{"a schema with many numbers", schema(`{"enum":[%snull]}`, strings.Repeat("0,", 10_001)), []string{}},
		{"a schema with a long expression", schema(`{"pattern":"%s"}`, strings.Repeat("é", 10_000)), []string{}},
		{"a schema with a too long expression", schema(`{"pattern":"%s"}`, strings.Repeat("a", 10_001)), []string{largeSchema}},
		{"a deep schema", schema(`{%s"type":"string"%s}`, strings.Repeat(`"not":{`, 300), strings.Repeat("}", 300)), []string{}},
		{"a too deep schema", schema(`{%s"type":"string"%s}`, strings.Repeat(`"not":{`, 700), strings.Repeat("}", 700)), []string{largeSchema}},
		{"a schema with a long name", schema(`{"properties":{"%s":{"allOf":[%s{}]}}}`, strings.Repeat("x", 10_000), strings.Repeat("{},", 1000)), []string{largeSchema}},
		{"captures with large expressions", send(1, func(t *v1alpha1.Template) {
			regex := v1alpha1.ValueSource{Header: "a", Regex: strings.Repeat("a{1000}", 146)}
			for i := range 16 {
				t.Capture = append(t.Capture, v1alpha1.Capture{Name: fmt.Sprintf("c%d", i), ValueSource: regex})
			}
		}), []string{}},
		{"paths with large expressions", send(1, func(t *v1alpha1.Template) {
			path := v1alpha1.ValueSource{JSONPath: "$[?match(@, '" + strings.Repeat("a{1000}", 140) + "')]"}
			for i := range 16 {
				t.Capture = append(t.Capture, v1alpha1.Capture{Name: fmt.Sprintf("c%d", i), ValueSource: path})
			}
		}), []string{}},
		{"references to a long table", func(s *spec) {
			csv := &v1alpha1.CSV{Columns: []string{"c", "d"}, Text: strings.Repeat("1,2\n", 8192)}
			s.Variables = []v1alpha1.Variable{{Name: "v", CSV: csv}}
			s.Templates[0].Path = "/" + strings.Repeat("${v.c}${v.d}", 200)
			s.Templates[0].Headers = []v1alpha1.Header{{Name: "a", Value: new(strings.Repeat("${v.c}", 1000) + "${pad(v.c,2)}${pad(v.c,3)}")}}
		}, []string{}},
		{"keys from a long table", func(s *spec) {
			csv := &v1alpha1.CSV{Columns: []string{"k"}, Text: strings.Repeat("465b5ce8b199b49faa5f0a2ee238a6bc\n", 1985)}
			s.Variables = []v1alpha1.Variable{{Name: "v", CSV: csv}, builder.List("a", "x")}
			s.Templates[0].Body = strings.Repeat("${resStar(a,v.k,v.k,a)}", 1000)
		}, []string{}},
		{"names of headers from a long list", func(s *spec) {
			s.Variables = []v1alpha1.Variable{builder.List("v", slices.Repeat([]string{"co"}, 4096)...)}
			for i := range 4 {
				s.Templates[0].Headers = append(s.Templates[0].Headers, v1alpha1.Header{Name: fmt.Sprintf("x-%d%s", i, strings.Repeat("${v}", 16)), Value: new("a")})
			}
		}, []string{}},
		{"undefined names", func(s *spec) {
			for i := range 60 {
				t := v1alpha1.Template{Name: fmt.Sprintf("t%d", i)}
				for k := range 16 {
					t.Capture = append(t.Capture, v1alpha1.Capture{Name: fmt.Sprintf("capture%d_%d", i, k), ValueSource: builder.Header("a")})
				}
				s.Templates = append(s.Templates, t)
			}
			s.Templates[0].Body = "${" + strings.Join(undefined, "}${") + "}"
		}, notDefined},
		{"too many steps", func(s *spec) {
			send(64, placeholders(100))(s)
			for i := range s.Chains[0].Steps {
				step := &s.Chains[0].Steps[i]
				for k := range 16 {
					step.Parallel = append(step.Parallel, v1alpha1.ParallelStep{Template: step.Template, Name: fmt.Sprintf("%s-%d", step.Name, k)})
				}
				step.Name, step.Template = "", ""
			}
			for i := 1; i < 8; i++ {
				chain := s.Chains[0]
				chain.Name = fmt.Sprintf("chain-%d", i)
				s.Chains = append(s.Chains, chain)
			}
		}, []string{"spec.chains: 8192 steps in all chains together, at most 256 are possible"}},
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
