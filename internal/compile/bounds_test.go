package compile

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"github.com/h2surge/h2surge/config/crd"
	"github.com/h2surge/h2surge/test/builder"
)

// each calls f for a schema and all below it.
func (s *schema) each(path string, f func(path string, s *schema)) {
	f(path, s)
	for _, field := range s.Properties {
		field.each(path+"."+field.name, f)
	}
	if s.Items != nil {
		s.Items.each(path+"[]", f)
	}
	if s.Values != nil {
		s.Values.each(path+"{}", f)
	}
}

// TestEachPatternHasAMessage finds patterns of the CRD without a message, and messages without a pattern.
func TestEachPatternHasAMessage(t *testing.T) {
	used := map[string]bool{}
	specSchema.each("", func(_ string, s *schema) {
		if s.Pattern != "" && s.duration() == nil {
			used[s.Pattern] = true
		}
	})
	if diff := cmp.Diff(slices.Sorted(maps.Keys(used)), slices.Sorted(maps.Keys(patternMessages))); diff != "" {
		t.Errorf("patterns of the CRD and of patternMessages (-CRD +messages):\n%s", diff)
	}
}

func TestBoundsMessages(t *testing.T) {
	number := func(n float64) *float64 { return &n }
	for name, tc := range map[string]struct {
		schema schema
		value  any
		want   string
	}{
		"a text without bounds":    {schema{}, "", ""},
		"the longest text":         {schema{MinLength: 1, MaxLength: 3}, "\u00e4\u00f6\u00fc", ""},
		"a longer text":            {schema{MinLength: 1, MaxLength: 3}, "abcd", "has 4 characters, at most 3 are possible"},
		"an empty text":            {schema{MinLength: 1, MaxLength: 3}, "", "must not be empty"},
		"a shorter text":           {schema{MinLength: 3}, "ab", "has 2 characters, at least 3 are needed"},
		"an empty text of an enum": {schema{Enum: []any{"a", "b"}}, "", "must not be empty"},
		"one character":            {schema{MaxLength: 1}, "ab", "must be one character"},
		"one of two":               {schema{Enum: []any{"a", "b"}}, "c", "must be a or b"},
		"one of three":             {schema{Enum: []any{"a", "b", "c"}}, "d", "must be one of a, b, c"},
		"true only":                {schema{Enum: []any{true}}, false, "must be true"},
		"a pattern":                {schema{Pattern: dashName}, "A", patternMessages[dashName]},
		"the least number":         {schema{Minimum: number(1), Maximum: number(9)}, int64(1), ""},
		"a lesser number":          {schema{Minimum: number(1), Maximum: number(9)}, int64(0), "must be between 1 and 9"},
		"a greater number":         {schema{Minimum: number(1), Maximum: number(9)}, int64(10), "must be between 1 and 9"},
		"a negative number":        {schema{Minimum: number(0)}, int64(-1), "must not be negative"},
		"a number below a minimum": {schema{Minimum: number(5)}, int64(4), "must be at least 5"},
		"a number above a maximum": {schema{Maximum: number(5)}, 6.0, "must be at most 5"},
		"no item":                  {schema{MinItems: 2}, []any{}, "at least 2 are needed"},
		"no item of one":           {schema{MinItems: 1}, []any{}, "at least 1 is needed"},
		"one item":                 {schema{MinItems: 2}, []any{1}, "has 1 entries, at least 2 are needed"},
		"all items":                {schema{MinItems: 2, MaxItems: 3}, []any{1, 2, 3}, ""},
		"an item too many":         {schema{MaxItems: 3}, []any{1, 2, 3, 4}, "has 4 entries, at most 3 are possible"},
		"no field": {schema{MinFields: 1, MaxFields: 1, Properties: properties{{"a", nil}, {"b", nil}, {"c", nil}}}, map[string]any{},
			"exactly one of a, b and c is needed"},
	} {
		if got := tc.schema.bounds(tc.value); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// twin is a schema for the library of the API server.
type twin struct {
	spec.SchemaProps
	Properties  map[string]*twin `json:"properties"`
	Values      *twin            `json:"additionalProperties"`
	Items       *twin            `json:"items"`
	IntOrString bool             `json:"x-kubernetes-int-or-string"`
}

// problems returns how many errors the library finds in a value, without its fields and items.
func (s *twin) problems(value any) int {
	if s.IntOrString { // as the API server converts it
		s.Type, s.AnyOf = spec.StringOrArray{"integer", "string"}, nil
	}
	return len(validate.NewSchemaValidator(&spec.Schema{SchemaProps: s.SchemaProps}, nil, "", strfmt.Default).Validate(value).Errors)
}

// TestBoundsOfTheLibrary gives odd values, and values at and beyond the bounds, to each schema of a LoadTest. The library that the API
// server uses refuses the same values as this package.
func TestBoundsOfTheLibrary(t *testing.T) {
	root := &twin{}
	if err := json.Unmarshal(crd.LoadTest, root); err != nil {
		t.Fatal(err)
	}
	refused, accepted := 0, 0
	var compare func(path string, ours *schema, theirs *twin)
	compare = func(path string, ours *schema, theirs *twin) {
		for _, value := range probes(ours) {
			want, got := theirs.problems(value) > 0, len(refusals(ours, value)) > 0
			text, isText := value.(string)
			// What Go cannot read is refused, and rules about durations are not rules of the library.
			stricter := isText && (ours.malformed(text) != "" || ours.duration() != nil && ours.duration().broken(text)) ||
				ours.IntOrString && ours.unreadable(field.NewPath("a"), value) != ""
			elsewhere := isText && ours.Pattern == limitPattern // thresholds.go checks it
			switch {
			case want && !got && !elsewhere, got && !want && !stricter:
				t.Errorf("%s: %.40v: the library refuses it: %t, structure: %q", path, fmt.Sprintf("%T %v", value, value), want, refusals(ours, value))
			case want:
				refused++
			default:
				accepted++
			}
		}
		for _, property := range ours.Properties {
			compare(path+"."+property.name, property.schema, theirs.Properties[property.name])
		}
		if ours.Items != nil {
			compare(path+"[]", ours.Items, theirs.Items)
		}
		if ours.Values != nil {
			compare(path+"{}", ours.Values, theirs.Values)
		}
	}
	compare("spec", specSchema, root.Properties["spec"])
	if refused < 10_000 || accepted < 1_000 {
		t.Errorf("%d values refused, %d accepted: the probes do not meet the bounds", refused, accepted)
	}
}

// refusals are the errors about a value itself, without its fields and items.
func refusals(of *schema, value any) []string {
	if problem := of.unreadable(field.NewPath("a"), value); problem != "" {
		return []string{problem}
	}
	s := &structure{}
	if object, is := value.(map[string]any); is && len(object) == 0 {
		s.object(nil, of, object)
	}
	if problem := of.bounds(value); problem != "" {
		s.fail(field.NewPath("a"), problem)
	}
	return ErrorLines(s.errs)
}

// probes are odd values, and values at and beyond each bound of a schema.
func probes(s *schema) []any {
	out := []any{
		nil, true, false, "", "a", "-", "~ \u00e9 ~", "a b", "1", "7s", "-7s", "50%", int64(0), int64(1), int64(-1), int64(math.MaxInt32) + 1, int64(math.MinInt32) - 1,
		1.5, 2.0, 1e20, map[string]any{}, []any{}, strings.Repeat("ab", 1<<15),
	}
	for _, bound := range []*float64{s.Minimum, s.Maximum} {
		if bound != nil {
			out = append(out, int64(*bound)-1, int64(*bound), int64(*bound)+1)
		}
	}
	if s.Type == "string" {
		out = append(out, s.Enum...)
		for _, n := range []int{s.MinLength - 1, s.MinLength, s.MaxLength, s.MaxLength + 1} {
			out = append(out, strings.Repeat("a", max(n, 0)), strings.Repeat("\u00e4", max(n, 0)))
		}
	}
	for _, n := range []int{s.MinItems - 1, s.MinItems, s.MaxItems, s.MaxItems + 1} {
		if s.Type == "array" && n >= 0 {
			out = append(out, make([]any, n))
		}
	}
	names := s.Properties.names()
	for n := range min(len(names), 3) {
		object := map[string]any{}
		for _, name := range append(names[:n+1:n+1], s.Required...) {
			object[name] = "a"
		}
		out = append(out, object)
	}
	return out
}

// TestFullHasEachField: other tests change full.yaml in one place, so each field needs a place.
func TestFullHasEachField(t *testing.T) {
	seen := map[string]bool{}
	var visit func(path string, s *schema, value any)
	visit = func(path string, s *schema, value any) {
		seen[path] = true
		switch v := value.(type) {
		case map[string]any:
			for _, field := range s.Properties {
				if in, set := v[field.name]; set {
					visit(path+"."+field.name, field.schema, in)
				}
			}
		case []any:
			for _, item := range v {
				visit(path+"[]", s.Items, item)
			}
		}
	}
	spec := specSchema
	visit("spec", spec, builder.Full()["spec"])
	spec.each("spec", func(path string, _ *schema) {
		// A search excludes measured stages. Stages of a chain have the type of other stages, but must not be a closed loop.
		excluded := strings.HasPrefix(path, "spec.search") || strings.HasPrefix(path, "spec.chains[].rates[].closedLoop")
		if !seen[path] && !excluded && !strings.HasSuffix(path, "{}") {
			t.Errorf("full.yaml has no %s", path)
		}
	})
}

// TestRulesThatAreRead finds rules of the two forms that schema.go does not recognise, and durations without a rule.
func TestRulesThatAreRead(t *testing.T) {
	var document any
	if err := json.Unmarshal(crd.LoadTest, &document); err != nil {
		t.Fatal(err)
	}
	for text := range rulesIn(document) {
		raw, err := json.Marshal(map[string]string{"rule": text, "message": "m"})
		if err != nil {
			t.Fatal(err)
		}
		var r rule
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatal(err)
		}
		chooses := strings.HasPrefix(text, "[has(") && strings.HasSuffix(text, "= 1") || strings.Contains(text, ") != has(")
		if strings.HasPrefix(text, "duration(self)") != r.duration || chooses != (r.oneOf != nil) {
			t.Errorf("%q is read as %+v", text, r)
		}
	}
	specSchema.each("spec", func(path string, s *schema) {
		if strings.Contains(s.Pattern, "(ns|us|") && !s.IntOrString && s.duration() == nil {
			t.Errorf("%s: the duration has no bounds", path)
		}
	})
}

// rulesIn returns the rules in a document.
func rulesIn(document any) map[string]bool {
	out := map[string]bool{}
	switch v := document.(type) {
	case map[string]any:
		if text, is := v["rule"].(string); is {
			out[text] = true
		}
		for _, field := range v {
			maps.Copy(out, rulesIn(field))
		}
	case []any:
		for _, item := range v {
			maps.Copy(out, rulesIn(item))
		}
	}
	return out
}
