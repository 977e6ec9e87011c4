package compile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/test/builder"
)

// source makes the only template capture a value, which it also expects to be there.
func source(from v1alpha1.ValueSource) func(*v1alpha1.Template) {
	return func(t *v1alpha1.Template) { t.Capture = []v1alpha1.Capture{{Name: "x", ValueSource: from}} }
}

func check(c v1alpha1.Check) func(*v1alpha1.Template) {
	return func(t *v1alpha1.Template) {
		if c.Name == "" {
			c.Name = "c"
		}
		t.Expect = &v1alpha1.Expect{Checks: []v1alpha1.Check{c}}
	}
}

// compared is a check of the status.
func compared(c v1alpha1.Comparison) func(*v1alpha1.Template) {
	return check(v1alpha1.Check{ValueSource: v1alpha1.ValueSource{Status: &v1alpha1.EmptySource{}}, Comparison: c})
}

func timed(c v1alpha1.Comparison) func(*v1alpha1.Template) {
	return check(v1alpha1.Check{ResponseTime: &v1alpha1.EmptySource{}, Comparison: c})
}

func inline(schema string) func(*v1alpha1.Template) {
	return check(v1alpha1.Check{JSONSchema: &v1alpha1.JSONSchema{Inline: &runtime.RawExtension{Raw: []byte(schema)}}})
}

var there = v1alpha1.Comparison{Exists: ptr.To(true)}

func TestErrorsOfChecks(t *testing.T) {
	const capture, expected = "spec.templates[0].capture[0]", "spec.templates[0].expect.checks[0]"
	const token = ": must be a token: letters, digits and !#$%&'*+-.^_`|~ (RFC 9110 5.6.2)"
	for _, tc := range []struct {
		name string
		edit func(*v1alpha1.Template)
		want []string
	}{
		{"captures nothing", source(v1alpha1.ValueSource{}), []string{capture + ": exactly one of header, status, body, bodyHex, jsonPointer, jsonPath, xpath and request is needed"}},
		{"captures two things", source(v1alpha1.ValueSource{Header: "a", Body: &v1alpha1.EmptySource{}}),
			[]string{capture + ": exactly one of header, status, body, bodyHex, jsonPointer, jsonPath, xpath and request is needed"}},
		{"no header", source(v1alpha1.ValueSource{Header: "a b"}), []string{capture + ".header" + token}},
		{"long header", source(v1alpha1.ValueSource{Header: strings.Repeat("a", 257)}),
			[]string{capture + ".header: has 257 characters, at most 256 are possible"}},
		{"pointer without a slash", source(v1alpha1.ValueSource{JSONPointer: ptr.To("a/b")}),
			[]string{capture + ".jsonPointer: must be empty or begin with / (RFC 6901)"}},
		{"pointer with a lone tilde", source(v1alpha1.ValueSource{JSONPointer: ptr.To("/a~2")}),
			[]string{capture + ".jsonPointer: has a ~ that is not followed by 0 or 1; in a name, write ~0 for ~ and ~1 for / (RFC 6901)"}},
		{"long pointer", source(v1alpha1.ValueSource{JSONPointer: ptr.To("/" + strings.Repeat("a", 1024))}),
			[]string{capture + ".jsonPointer: has 1025 characters, at most 1024 are possible"}},
		{"no JSONPath", source(v1alpha1.ValueSource{JSONPath: "$.nfInstances[?@.nfType=='UDM]"}),
			[]string{capture + ".jsonPath: is not a JSONPath query: position 26: the closing ' is missing (RFC 9535)"}},
		{"JSONPath without its root", source(v1alpha1.ValueSource{JSONPath: "nfInstances[0]"}),
			[]string{capture + ".jsonPath: is not a JSONPath query: position 1: a path begins with $ (RFC 9535)"}},
		{"no XPath", source(v1alpha1.ValueSource{XPath: "//a["}), []string{capture + ".xpath: is not an XPath 1.0 expression, such as //item[1]/@id"}},
		{"XPath of a processing instruction", source(v1alpha1.ValueSource{XPath: "//processing-instruction()"}), []string{capture + ".xpath: must not select processing instructions"}},
		{"XPath with a variable", source(v1alpha1.ValueSource{XPath: "$a/b"}), []string{capture + ".xpath: is not an XPath 1.0 expression, such as //item[1]/@id"}},
		{"nothing of the request", source(v1alpha1.ValueSource{Request: &v1alpha1.RequestSource{}}),
			[]string{capture + ".request: exactly one of body, header, jsonPath, jsonPointer, method and path is needed"}},
		{"no header of the request", source(v1alpha1.ValueSource{Request: &v1alpha1.RequestSource{Header: ":path"}}), []string{capture + ".request.header" + token}},
		{"no pointer into the request", source(v1alpha1.ValueSource{Request: &v1alpha1.RequestSource{JSONPointer: ptr.To("a")}}),
			[]string{capture + ".request.jsonPointer: must be empty or begin with / (RFC 6901)"}},
		{"no regex", source(v1alpha1.ValueSource{Header: "a", Regex: "secret("}),
			[]string{capture + ".regex: is not a regular expression (RE2 syntax): missing closing )"}},
		{"regex of Perl", source(v1alpha1.ValueSource{Header: "a", Regex: "(?=a)"}),
			[]string{capture + ".regex: is not a regular expression (RE2 syntax): invalid or unsupported Perl syntax"}},
		{"long regex", source(v1alpha1.ValueSource{Header: "a", Regex: strings.Repeat("a", 1025)}),
			[]string{capture + ".regex: has 1025 characters, at most 1024 are possible"}},
		{"group without regex", source(v1alpha1.ValueSource{Header: "a", Group: ptr.To[int32](1)}), []string{capture + ".group: goes with regex"}},
		{"group beyond", source(v1alpha1.ValueSource{Header: "a", Regex: "(a)|(b)", Group: ptr.To[int32](3)}), []string{capture + ".group: is beyond the 2 groups of regex"}},
		{"group of a thousand", source(v1alpha1.ValueSource{Header: "a", Regex: "a", Group: ptr.To[int32](1000)}),
			[]string{capture + ".group: must be between 0 and 99"}},
		{"default and optional", func(t *v1alpha1.Template) {
			t.Capture = []v1alpha1.Capture{{Name: "x", ValueSource: builder.Header("a"), Default: ptr.To("a"), Optional: true}}
		}, []string{capture + ": at most one of default and optional is possible"}},
		{"long default", func(t *v1alpha1.Template) {
			t.Capture = []v1alpha1.Capture{{Name: "x", ValueSource: builder.Header("a"), Default: ptr.To(strings.Repeat("a", 1025))}}
		}, []string{capture + ".default: has 1025 characters, at most 1024 are possible"}},

		{"name that is taken", check(v1alpha1.Check{Name: "status", ValueSource: builder.Header("a"), Comparison: there}),
			[]string{expected + `.name: "status" is reserved; the results of what h2surge itself checks are named status, script, maxBodyBytes, maxRedirects, grpcMessage`}},
		{"name with a dot", check(v1alpha1.Check{Name: "a.b", ValueSource: builder.Header("a"), Comparison: there}),
			[]string{expected + ".name: must be letters, digits, - and _, beginning and ending with a letter or digit"}},
		{"name twice", func(t *v1alpha1.Template) {
			c := builder.Equals("c", builder.Header("a"), "b")
			t.Expect = &v1alpha1.Expect{Checks: []v1alpha1.Check{c, c}}
		}, []string{`spec.templates[0].expect.checks[1].name: "c" is the name of entry 0 too`}},
		{"looks at nothing", check(v1alpha1.Check{Comparison: there}),
			[]string{expected + ": exactly one of header, status, body, bodyHex, jsonPointer, jsonPath, xpath, request, bodySize, responseTime and jsonSchema is needed"}},
		{"looks at two things", check(v1alpha1.Check{BodySize: &v1alpha1.EmptySource{}, ResponseTime: &v1alpha1.EmptySource{}, Comparison: there}),
			[]string{expected + ": exactly one of header, status, body, bodyHex, jsonPointer, jsonPath, xpath, request, bodySize, responseTime and jsonSchema is needed"}},
		{"no comparison", compared(v1alpha1.Comparison{}),
			[]string{expected + ": exactly one of equals, startsWith, endsWith, contains, matches, exists, lessThan and greaterThan is needed, and none with jsonSchema"}},
		{"two comparisons", compared(v1alpha1.Comparison{Equals: ptr.To("200"), Matches: "2.."}),
			[]string{expected + ": exactly one of equals, startsWith, endsWith, contains, matches, exists, lessThan and greaterThan is needed, and none with jsonSchema"}},
		{"not exists", compared(v1alpha1.Comparison{Exists: ptr.To(true), Not: true}), []string{expected + ".not: does not go with exists, which may be false"}},
		{"no pattern", compared(v1alpha1.Comparison{Matches: "a**"}), []string{expected + ".matches: is not a regular expression (RE2 syntax): invalid nested repetition operator"}},
		{"no number", compared(v1alpha1.Comparison{LessThan: "20ms"}), []string{expected + ".lessThan: must be a decimal number such as 10.5"}},
		{"hexadecimal number", compared(v1alpha1.Comparison{GreaterThan: "0x1f"}), []string{expected + ".greaterThan: must be a decimal number such as 10.5"}},
		{"number without an end", compared(v1alpha1.Comparison{GreaterThan: "1e1000000000"}), []string{expected + ".greaterThan: must be a decimal number such as 10.5"}},
		{"number with a placeholder", compared(v1alpha1.Comparison{GreaterThan: "${limit}"}), []string{expected + `.greaterThan: variable "limit" is not defined`}},
		{"long number", compared(v1alpha1.Comparison{GreaterThan: strings.Repeat("1", 257)}),
			[]string{expected + ".greaterThan: has 257 characters, at most 256 are possible"}},
		{"long text", compared(v1alpha1.Comparison{Contains: ptr.To(strings.Repeat("1", 4097))}),
			[]string{expected + ".contains: has 4097 characters, at most 4096 are possible"}},
		{"a placeholder without an end", compared(v1alpha1.Comparison{EndsWith: ptr.To("${")}), []string{expected + ".endsWith: ${ without }; write $${ for a literal ${"}},
		{"its own capture", func(t *v1alpha1.Template) {
			source(builder.Header("a"))(t)
			compared(v1alpha1.Comparison{Equals: ptr.To("${x}")})(t)
		}, []string{expected + `.equals: capture "x" is made by step "get" of chain "gets" itself, from the response to this request`}},

		{"time that equals", timed(v1alpha1.Comparison{Equals: ptr.To("20ms")}), []string{expected + ": responseTime goes with exactly one of lessThan and greaterThan"}},
		{"time between", timed(v1alpha1.Comparison{LessThan: "20ms", GreaterThan: "1ms"}), []string{expected + ": responseTime goes with exactly one of lessThan and greaterThan"}},
		{"time without a unit", timed(v1alpha1.Comparison{LessThan: "20"}), []string{expected + ".lessThan: must be a duration such as 20ms, without ${}; write 20s"}},
		{"time with a placeholder", timed(v1alpha1.Comparison{GreaterThan: "${x}ms"}), []string{expected + ".greaterThan: must be a duration such as 20ms, without ${}"}},
		{"part of a time", check(v1alpha1.Check{ResponseTime: &v1alpha1.EmptySource{}, ValueSource: v1alpha1.ValueSource{Regex: "a"}, Comparison: v1alpha1.Comparison{LessThan: "1s"}}),
			[]string{expected + ".regex: does not go with responseTime"}},

		{"no schema", check(v1alpha1.Check{JSONSchema: &v1alpha1.JSONSchema{}}), []string{expected + ".jsonSchema: exactly one of configMapKeyRef, file and inline is needed"}},
		{"two schemas", check(v1alpha1.Check{JSONSchema: &v1alpha1.JSONSchema{File: "a", Inline: &runtime.RawExtension{Raw: []byte("{}")}}}),
			[]string{expected + ".jsonSchema: exactly one of configMapKeyRef, file and inline is needed"}},
		{"schema and comparison", check(v1alpha1.Check{JSONSchema: &v1alpha1.JSONSchema{File: "a"}, Comparison: there}),
			[]string{expected + ": exactly one of equals, startsWith, endsWith, contains, matches, exists, lessThan and greaterThan is needed, and none with jsonSchema"}},
		{"schema of a part", check(v1alpha1.Check{JSONSchema: &v1alpha1.JSONSchema{File: "a"}, ValueSource: v1alpha1.ValueSource{Regex: "a"}}),
			[]string{expected + ": regex, group and not do not go with jsonSchema"}},
		{"schema that is a list", inline("[]"), []string{expected + ".jsonSchema.inline: must be an object"}},
		{"schema of an unknown type", inline(`{"properties":{"a":{"type":"text"}}}`), []string{expected + ".jsonSchema.inline: is not a JSON Schema: " +
			"at '/properties/a/type': value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'; at '/properties/a/type': got string, want array"}},
		{"schema elsewhere", inline(`{"$ref":"http://a.example/schema"}`),
			[]string{expected + ".jsonSchema.inline: refers to another document, http://a.example/schema; put what it needs under $defs"}},
		{"schema in a file", inline(`{"allOf":[{"$ref":"file:///etc/passwd"}]}`),
			[]string{expected + ".jsonSchema.inline: refers to another document, file:///etc/passwd; put what it needs under $defs"}},
		{"schema of another language", inline(`{"$schema":"http://a.example/schema"}`),
			[]string{expected + ".jsonSchema.inline: refers to another document, http://a.example/schema; put what it needs under $defs"}},
		{"schema that refers to nothing", inline(`{"$ref":"#/$defs/a"}`), []string{expected + `.jsonSchema.inline: is not a JSON Schema: json-pointer in "#/$defs/a" not found`}},
		{"schema with a bad pattern", inline(`{"pattern":"("}`), []string{expected + ".jsonSchema.inline: is not a JSON Schema: at '/pattern': '(' is not valid regex: error parsing regexp: missing closing ): `(`"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lt := builder.Minimal("test").Edit(func(s *spec) { tc.edit(&s.Templates[0]) }).Build()
			_, _, errs := compile.Compile("default/test", &lt.Spec)
			if diff := cmp.Diff(tc.want, compile.ErrorLines(errs)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSources has what full.yaml and chains.yaml do not say about sources and comparisons.
func TestSources(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(*v1alpha1.Template)
		want any
	}{
		{"first group", source(v1alpha1.ValueSource{Header: "A", Regex: "(a)(b)"}), rv.Capture{Source: rv.Source{Kind: "header", Name: "a", Regex: "(a)(b)", Group: 1}}},
		{"whole match", source(v1alpha1.ValueSource{Header: "a", Regex: "(a)(b)", Group: ptr.To[int32](0)}), rv.Capture{Source: rv.Source{Kind: "header", Name: "a", Regex: "(a)(b)"}}},
		{"part of a location", source(v1alpha1.ValueSource{Header: "location", Regex: "a"}), rv.Capture{Source: rv.Source{Kind: "header", Name: "location", Regex: "a"}}},
		{"location", source(v1alpha1.ValueSource{Header: "Location"}), rv.Capture{Source: rv.Source{Kind: "header", Name: "location"}, Location: true}},
		{"location of the request", source(v1alpha1.ValueSource{Request: &v1alpha1.RequestSource{Header: "Location"}}),
			rv.Capture{Source: rv.Source{Kind: "requestHeader", Name: "location"}}},
		{"whole document", source(builder.JSON("")), rv.Capture{Source: rv.Source{Kind: "jsonPointer"}}},
		{"last element", source(builder.JSON("/a~1b/-1/~0")), rv.Capture{Source: rv.Source{Kind: "jsonPointer", Pointer: "/a~1b/-1/~0"}}},
		{"a number", compared(v1alpha1.Comparison{LessThan: "-1.5e3"}), rv.Match{Op: "lessThan", Want: rv.Text{{Literal: "-1.5e3"}}}},
		{"an empty text", compared(v1alpha1.Comparison{Equals: ptr.To("")}), rv.Match{Op: "equals"}},
		{"absent", compared(v1alpha1.Comparison{Exists: ptr.To(false)}), rv.Match{Op: "exists", Want: rv.Text{{Literal: "false"}}}},
		{"slow", timed(v1alpha1.Comparison{LessThan: "1500us", Not: true}), rv.Match{Op: "lessThan", Want: rv.Text{{Literal: "1500000"}}, Not: true}},
	} {
		lt := builder.Minimal("test").Edit(func(s *spec) { tc.edit(&s.Templates[0]) }).Build()
		p, _, errs := compile.Compile("default/test", &lt.Spec)
		if len(errs) > 0 {
			t.Fatalf("%s: %s", tc.name, compile.ErrorLines(errs))
		}
		var got any
		if s := p.Chains[0].Steps[0]; len(s.Capture) > 0 {
			got = s.Capture[0]
		} else {
			got = *s.Expect.Checks[0].Match
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestSchemaHasOneSpelling: the same schema is the same plan. Its numbers are those that the API server stores.
func TestSchemaHasOneSpelling(t *testing.T) {
	var got []string
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"maximum":9007199254740993.10}},"$schema":"http://json-schema.org/draft-07/schema#"}`,
		"{ \"$schema\": \"http://json-schema.org/draft-07/schema#\",\n\"properties\": {\"a\": {\"maximum\": 9007199254740993.10}}, \"type\": \"object\"}",
	} {
		lt := builder.Minimal("test").Edit(func(s *spec) { inline(schema)(&s.Templates[0]) }).Build()
		p, _, errs := compile.Compile("default/test", &lt.Spec)
		if len(errs) > 0 {
			t.Fatal(compile.ErrorLines(errs))
		}
		got = append(got, p.Chains[0].Steps[0].Expect.Checks[0].Schema.Text)
	}
	if want := `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"maximum":9007199254740994}},"type":"object"}`; got[0] != want || got[1] != want {
		t.Errorf("got %s and %s", got[0], got[1])
	}
}
