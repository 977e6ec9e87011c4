package compile_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
)

// template is a template of which the chain sends the one called get.
func template(what string) parts { return parts{templates: "{name: get, " + what + "}"} }

// named is a header whose name has a placeholder for a variable v.
func named(variable, name string) parts {
	return parts{variables: "{name: v, " + variable + "}", templates: `{name: get, headers: [{name: '` + name + `', value: trailers}]}`}
}

const inName = "the name of a header (a token: letters, digits and !#$%&'*+-.^_`|~, RFC 9110 5.6.2)"

func TestMistakesInTemplates(t *testing.T) {
	const at, noProtos = "spec.templates[0]", `spec.templates[0].grpc: needs protoFrom of target "target", which has the proto files; h2surge convert proto asks a server for them`
	const noName = at + `.headers[0].name: "v" is not possible in the name of a header, where only range, list, counter, random, uuid, perShard and env are`
	checkMistakes(t, []mistake{
		{"unknown base", template("extends: other"), []string{at + `.extends: there is no template "other"`}},
		{"its own base", template("extends: get"), []string{at + `.extends: template "get" extends itself; one template of the cycle must not extend another`}},
		{"a circle", parts{templates: "{name: get, extends: b}, {name: b, extends: c}, {name: c, extends: get}"},
			[]string{`spec.templates[2].extends: template "get" extends itself; one template of the cycle must not extend another`}},
		{"a mistake in a base is reported once", parts{templates: "{name: get, extends: b}, {name: c, extends: b}, {name: b, path: a}"},
			[]string{"spec.templates[2].path: must begin with / or with a capture"}},
		{"* inherited for GET", parts{templates: "{name: get, extends: b}, {name: b, path: '*'}"},
			[]string{"spec.templates[1].path: * goes with the method OPTIONS only"}},
		{"many headers with those of the base", parts{templates: "{name: get, extends: b, headers: [" + many("a", 40) + "]}, {name: b, headers: [" + many("b", 40) + "]}"},
			[]string{at + ".headers: has 80 entries, at most 64 are possible"}},
		{"no media type", template("parts: [{contentType: json}]"), []string{at + ".parts[0].contentType: must be a media type such as application/json (RFC 2045 5.1)"}},
		{"a line end in a media type", template(`parts: [{contentType: "a/b\r\nc: d"}]`), []string{at + ".parts[0].contentType: must be a media type such as application/json (RFC 2045 5.1)"}},
		{"a multipart part", template("parts: [{contentType: multipart/mixed}]"), []string{at + ".parts[0].contentType: must not be multipart: a part in a part is not supported"}},
		{"the same contentID", template("parts: [{contentType: a/b, contentID: x}, {contentType: a/b}, {contentType: a/b}, {contentType: a/b, contentID: x}]"),
			[]string{at + `.parts[3].contentID: "x" is the contentID of another part, too`}},
		{"no digits", template("parts: [{contentType: a/b, bodyHex: 7g}]"), []string{at + ".parts[0].bodyHex: has a character that is not possible in bodyHex (hexadecimal digits, and white space between them)"}},
		{"an odd number of digits", template(`parts: [{contentType: a/b, bodyHex: "7e 0"}]`), []string{at + ".parts[0].bodyHex: must have an even number of hexadecimal digits before, between and after placeholders"}},
		{"values without digits", parts{variables: "{name: v, list: {values: [aa, zz]}}", templates: `{name: get, parts: [{contentType: a/b, bodyHex: "7e${v}"}]}`},
			[]string{at + `.parts[0].bodyHex: variable "v": its value number 1 has a character that is not possible in bodyHex (hexadecimal digits, and white space between them)`}},
		{"digits without quotes", template("parts: [{contentType: a/b, bodyHex: 7e00}]"), []string{at + ".parts[0].bodyHex: must be a string; put the hexadecimal digits in quotes"}},
		{"no base64 in a part", template("parts: [{contentType: a/b, bodyBase64: '*'}]"), []string{at + ".parts[0].bodyBase64: must be base64 with padding (RFC 4648 4)"}},
		{"no variable in a part", template("parts: [{contentType: a/b, body: '${x}'}]"), []string{at + `.parts[0].body: variable "x" is not defined`}},
		{"a content-type beside parts", template("headers: [{name: a, value: b}, {name: Content-Type, value: b}], parts: [{contentType: a/b}]"),
			[]string{at + ".headers[1].name: content-type is not possible with parts: the runner sets it; remove it, or set contentType of the parts"}},
		{"an inherited content-type beside parts", parts{templates: "{name: get, extends: b, parts: [{contentType: a/b}]}, {name: b, headers: [{name: content-type, value: b}]}"},
			[]string{"spec.templates[1].headers[0].name: content-type is not possible with parts: the runner sets it; remove it, or set contentType of the parts"}},
		{"a call and a body", template("body: a, grpc: {service: a.B, method: C}"), []string{at + ".grpc: sets method, path and body; remove what else sets them", noProtos}},
		{"a call and an inherited path", parts{templates: "{name: get, extends: b, grpc: {service: a.B, method: C}}, {name: b, path: /a}"},
			[]string{at + ".grpc: sets method, path and body; remove what else sets them", noProtos}},
		{"a call without proto files", template("grpc: {service: a.B, method: C}"), []string{noProtos}},
		{"a call over what the server chooses", parts{
			targets:   "{name: target, url: 'https://a.example', connections: 2, tls: {alpn: [h2, http/1.1]}, protoFrom: [{file: a.proto}]}",
			templates: "{name: get, grpc: {service: a.B, method: C}}",
		}, []string{at + `.grpc: needs HTTP/2, and tls.alpn of target "target" offers http/1.1, too`}},
		{"a deadline after the timeout", template("timeout: 1s, grpc: {service: a.B, method: C, deadline: 1001ms}"), []string{at + ".grpc.deadline: must be at most timeout, which is 1s", noProtos}},
		{"a deadline after the default", template("grpc: {service: a.B, method: C, deadline: 6s}"), []string{at + ".grpc.deadline: must be at most timeout, which is 5s", noProtos}},
		{"no deadline", template("grpc: {service: a.B, method: C, deadline: 0s}"), []string{at + ".grpc.deadline: must be greater than 0 and at most 1h", noProtos}},
		{"another compression", template("grpc: {service: a.B, method: C, compression: Zstd}"), []string{at + ".grpc.compression: must be one of Gzip", noProtos}},
		{"a wait with a message", template("grpc: {service: a.B, method: C, messages: [{'@wait': 1s, id: a}]}"), []string{at + ".grpc.messages[0]: has @wait and other fields; a wait is an item of its own", noProtos}},
		{"a wait for nothing", template("grpc: {service: a.B, method: C, messages: [{}, {'@wait': {answer: 1}}]}"), []string{at + ".grpc.messages[1].@wait: must be a duration such as 100ms, or {answers: N} with at least 1", noProtos}},
		{"a wait of no time", template("grpc: {service: a.B, method: C, messages: [{}, {'@wait': 0s}]}"), []string{at + ".grpc.messages[1].@wait: must be a duration such as 100ms, or {answers: N} with at least 1", noProtos}},
		{"waits above the timeout", template("timeout: 1s, grpc: {service: a.B, method: C, messages: [{}, {'@wait': 999ms}, {}, {'@wait': 1ms}]}"), []string{at + ".grpc.messages: wait for 1s, and timeout is 1s", noProtos}},
		{"waits above the deadline", template("grpc: {service: a.B, method: C, deadline: 1s, messages: [{}, {'@wait': 1s}]}"), []string{at + ".grpc.messages: wait for 1s, and deadline is 1s", noProtos}},
		{"no variable in a message", template("grpc: {service: a.B, method: C, message: {id: '${x}'}}"), []string{at + `.grpc.message: variable "x" is not defined`, noProtos}},
		{"a message that is no object", template("grpc: {service: a.B, method: C, message: x}"), []string{at + ".grpc.message: must be an object"}},
		{"body size", template("maxBodyBytes: 67108865"), []string{at + ".maxBodyBytes: must be between 1 and 67108864"}},
		{"redirects", template("maxRedirects: 17"), []string{at + ".maxRedirects: must be between 0 and 16"}},
		{"urgency", template("priority: {urgency: 8}"), []string{at + ".priority.urgency: must be between 0 and 7"}},
		{"priority twice", template("priority: {}, headers: [{name: Priority, value: u=1}]"),
			[]string{at + ".priority: is not allowed with the field priority in headers; remove one of them"}},
		{"no body size", template("maxBodyBytes: 0"), []string{at + ".maxBodyBytes: must be between 1 and 67108864"}},

		{"two bodies", template("body: a, bodyFrom: {file: a}"), []string{at + ": at most one of body, bodyBase64, bodyFrom and parts is possible"}},
		{"base64", template("bodyBase64: a"), []string{at + ".bodyBase64: must be base64 with padding (RFC 4648 4)"}},
		{"body from nowhere", template("bodyFrom: {}"), []string{at + ".bodyFrom: exactly one of configMapKeyRef, secretKeyRef and file is needed"}},
		{"encoding", template("bodyFrom: {file: a, encoding: hex}"), []string{at + ".bodyFrom.encoding: must be one of Text, Binary, Base64"}},
		{"file among those of Secrets", template("bodyFrom: {file: /etc/h2surge/files/a}"), []string{at + ".bodyFrom.file: must not be below /etc/h2surge/files, which is for what ConfigMaps and Secrets hold"}},
		{"functions", template("body: '${upper(x, 3)}'"), []string{at + ".body: upper takes one value: upper(x)"}},
		{"column of a capture", parts{templates: "{name: get, capture: [{name: c, header: a}]}, {name: b, body: '${c.d}'}", steps: "{template: get}, {template: b}"},
			[]string{`spec.templates[1].body: capture "c" has no columns; write ${c}`}},
		{"a path of a digest", parts{templates: "{name: get, capture: [{name: c, header: a}]}, {name: b, path: '${sha256(c)}'}", steps: "{template: get}, {template: b}"},
			[]string{`spec.templates[1].path: must begin with / or with a capture`}},

		{"no script", template("script: {}"), []string{at + ".script: exactly one of lua and luaFrom is needed"}},
		{"two scripts", template("script: {lua: 'x = 1', luaFrom: {file: a}}"), []string{at + ".script: exactly one of lua and luaFrom is needed"}},
		{"Lua", template(`script: {lua: "x = 1\nend\n"}`), []string{at + ".script.lua: is not valid Lua 5.1: line 2: syntax error"}},
		{"Lua without an end", template(`script: {lua: "function f()\n"}`), []string{at + ".script.lua: is not valid Lua 5.1: it ends too early"}},

		{"value of two", template("headers: [{name: a, value: b, valueFrom: {file: c}}]"), []string{at + ".headers[0]: exactly one of value and valueFrom is needed"}},
		{"no value", template("headers: [{name: a}]"), []string{at + ".headers[0]: exactly one of value and valueFrom is needed"}},
		{"value of a key without a name", template("headers: [{name: a, valueFrom: {secretKeyRef: {key: k}}}]"), []string{at + ".headers[0].valueFrom.secretKeyRef.name: is needed"}},
		{"te from a file", template("headers: [{name: te, valueFrom: {file: c}}]"), []string{at + ".headers[0].name: may only have the value trailers (RFC 9113 8.2.2)"}},

		{"name of a table", named(`csv: {text: "a\n1\n"}`, "x-${v.a}"), []string{noName}},
		{"name of a constant", named("constant: {value: a}", "x-${v}"), []string{noName}},
		{"name of a timestamp", named("timestamp: {}", "x-${v}"), []string{noName}},
		{"name of a capture", parts{templates: "{name: get, capture: [{name: v, header: a}], headers: [{name: '${v}', value: a}]}"}, []string{noName}},
		{"name of nothing", template("headers: [{name: 'x-${v}', value: a}]"), []string{at + `.headers[0].name: variable "v" is not defined`}},
		{"name with a space", named("list: {values: [a, 'b c']}", "x-${v}"), []string{at + `.headers[0].name: variable "v": its value number 1 has a character that is not possible in ` + inName}},
		{"name that is empty", named("list: {values: ['']}", "x-${v}"), []string{at + `.headers[0].name: variable "v": its value number 0 has a character that is not possible in ` + inName}},
		{"name with slashes of base64", named("uuid: {}", "x-${base64(v)}"), []string{at + `.headers[0].name: variable "v": its value has a character that is not possible in ` + inName}},
		{"name with literal space", named("uuid: {}", "x ${v}"), []string{at + ".headers[0].name: has a character that is not possible in " + inName}},
		{"name that becomes Host", named("list: {values: [a, ST]}", "ho${v}"), []string{at + ".headers[0].name: can become host, which is set from the target's url; to dial another address than the url's, use connectTo"}},
		{"name that becomes Content-Length", named("perShard: {values: [content-length]}", "${v}"), []string{at + ".headers[0].name: can become content-length, which is set from the body"}},
		{"name that a function may make Upgrade", named("list: {values: [u]}", "${pad(v, 7, x)}"), []string{
			at + ".headers[0].name: can become connection, which is specific to a connection and is not possible in HTTP/2 (RFC 9113 8.2.2)",
			at + ".headers[0].name: can become proxy-connection, which is specific to a connection and is not possible in HTTP/2 (RFC 9113 8.2.2)",
			at + ".headers[0].name: can become keep-alive, which is specific to a connection and is not possible in HTTP/2 (RFC 9113 8.2.2)",
			at + ".headers[0].name: can become transfer-encoding, which is specific to a connection and is not possible in HTTP/2 (RFC 9113 8.2.2)",
			at + ".headers[0].name: can become upgrade, which is specific to a connection and is not possible in HTTP/2 (RFC 9113 8.2.2)",
			at + ".headers[0].name: can become content-length, which is set from the body",
			at + ".headers[0].name: can become host, which is set from the target's url; to dial another address than the url's, use connectTo",
		}},
	})
}

// many are n headers.
func many(name string, n int) string {
	var out []string
	for i := range n {
		out = append(out, "{name: "+name+strings.Repeat("x", i)+", value: a}")
	}
	return strings.Join(out, ", ")
}

// TestInheritance: an heir has what it says itself, else what its base has, else the defaults.
func TestInheritance(t *testing.T) {
	p, warnings := parts{
		templates: `
    {name: get, extends: middle, path: /own, headers: [{name: B, value: own}, {name: c, value: own}], capture: [{name: two, status: {}}]},
    {name: middle, extends: root, timeout: 1s, headers: [{name: b, value: middle}], expect: {status: [200]}, bodyBase64: AA==},
    {name: root, method: PUT, path: /root, timeout: 2s, body: root, maxBodyBytes: 7, headers: [{name: a, value: root}, {name: B, value: root}],
     capture: [{name: one, header: one}, {name: two, header: two}], script: {lua: "x = 1"}},
    {name: last, path: "/${one}/${two}"}`,
		steps: "{template: get}, {template: last}, {template: root}",
	}.plan(t)
	if len(warnings) > 0 {
		t.Errorf("warnings: %q", warnings)
	}
	text := func(s string) rv.Text { return rv.Text{{Literal: s}} }
	own, root := p.Chains[0].Steps[0], p.Chains[0].Steps[2]
	want := rv.Step{
		Name: "get", Method: "PUT", Path: text("/own"), Timeout: time.Second, MaxBody: 7,
		Headers:  []rv.Header{{Name: text("a"), Value: text("root")}, {Name: text("b"), Value: text("own")}, {Name: text("c"), Value: text("own")}},
		BodyFrom: &rv.BodyFrom{Content: rv.Content{Bytes: []byte{0}}, Raw: true},
		Expect:   rv.Expect{Status: []rv.StatusRange{{From: 200, To: 200}}},
		Capture: []rv.Capture{
			{Slot: 0, Source: rv.Source{Kind: rv.SourceHeader, Name: "one"}}, {Slot: 1, Source: rv.Source{Kind: rv.SourceStatus}},
		},
		Script: &rv.Script{Name: "spec.templates[2].script.lua", Content: rv.Content{Text: "x = 1"}},
	}
	if diff := cmp.Diff(want, own); diff != "" {
		t.Errorf("heir (-want +got):\n%s", diff)
	}
	if root.Method != http.MethodPut || root.Timeout != 2*time.Second || len(root.Headers) != 2 || len(root.Body) != 1 || root.Capture[1].Source.Name != "two" {
		t.Errorf("base: %+v", root)
	}
}

// TestPriority: the field is inherited and replaced as any other.
func TestPriority(t *testing.T) {
	p, _ := parts{
		templates: `
    {name: get, priority: {}, headers: [{name: a, value: b}]},
    {name: same, extends: get},
    {name: last, extends: get, priority: {urgency: 7, incremental: true}},
    {name: written, extends: get, headers: [{name: Priority, value: u=1}]}`,
		steps: "{template: get}, {template: same}, {template: last}, {template: written}",
	}.plan(t)
	for i, want := range []string{"u=3", "u=3", "u=7, i", "u=1"} {
		text := func(s string) rv.Text { return rv.Text{{Literal: s}} }
		fields := []rv.Header{{Name: text("a"), Value: text("b")}, {Name: text("priority"), Value: text(want)}}
		if diff := cmp.Diff(fields, p.Chains[0].Steps[i].Headers); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
}

// TestPartsOfARequest: a template that sets another content has no parts of its base.
func TestPartsOfARequest(t *testing.T) {
	p, _ := parts{
		variables: "{name: v, range: {end: 9, width: 2}}",
		templates: `
    {name: get, parts: [{contentType: application/json, body: '{"v": "${v}"}'}, {contentType: a/b, contentID: n1, bodyHex: "7e 00${v}ff"},
     {contentType: a/b, bodyBase64: AA==}, {contentType: a/b, bodyFrom: {file: x}}, {contentType: a/b}], capture: [{name: c, part: n1, bodyHex: {}}],
     expect: {checks: [{name: c, part: a/b, body: {}, exists: true}, {name: s, part: n1, bodySize: {}, lessThan: "9"}, {name: j, part: n1, jsonSchema: {inline: {}}}]}},
    {name: heir, extends: get, body: "${c}"}`,
		steps: "{template: get}, {template: heir}",
	}.plan(t)
	hex := []rv.Function{{Name: rv.FunctionHexDecode}}
	want := []rv.BodyPart{
		{ContentType: "application/json", Body: rv.Text{{Literal: `{"v": "`}, {Variable: 1}, {Literal: `"}`}}},
		{ContentType: "a/b", ContentID: "n1", Body: rv.Text{{Literal: "7e 00", Functions: hex}, {Variable: 1, Functions: hex}, {Literal: "ff", Functions: hex}}},
		{ContentType: "a/b", BodyFrom: &rv.BodyFrom{Content: rv.Content{Bytes: []byte{0}}, Raw: true}},
		{ContentType: "a/b", BodyFrom: &rv.BodyFrom{Content: rv.Content{File: "x"}}},
		{ContentType: "a/b"},
	}
	s, heir := p.Chains[0].Steps[0], p.Chains[0].Steps[1]
	if diff := cmp.Diff(want, s.Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if c := s.Expect.Checks; c[0].Source.Part != "a/b" || c[1].Source.Part != "n1" || c[2].SchemaPart != "n1" || s.Capture[0].Source.Part != "n1" {
		t.Errorf("%+v, %+v", c, s.Capture)
	}
	if len(heir.Parts) != 0 || len(heir.Body) != 1 {
		t.Errorf("%+v", heir)
	}
}

// TestBasesNeedNotBeWhole: a template that is only a base is not sent, and not unused.
func TestBasesNeedNotBeWhole(t *testing.T) {
	p, warnings := parts{templates: "{name: get, extends: b, method: OPTIONS}, {name: b, path: '*'}"}.plan(t)
	if s := p.Chains[0].Steps[0]; s.Path[0].Literal != "*" || len(warnings) > 0 {
		t.Errorf("%+v, warnings %q", s, warnings)
	}
}

// TestHeaderNames: their placeholders end in lower case, because HTTP/2 has no upper case in names.
func TestHeaderNames(t *testing.T) {
	lower := rv.Function{Name: rv.FunctionLower}
	for _, tc := range []struct {
		variable, name string
		want           rv.Text
	}{
		{"list: {values: [A]}", "X-${v}", rv.Text{{Literal: "x-"}, {Variable: 1, Functions: []rv.Function{lower}}}},
		{"env: {name: A}", "${v}", rv.Text{{Variable: 1, Functions: []rv.Function{lower}}}},
		{"counter: {}", "${v}", rv.Text{{Variable: 1}}},
		{"uuid: {}", "x-${upper(v)}", rv.Text{{Literal: "x-"}, {Variable: 1, Functions: []rv.Function{{Name: rv.FunctionUpper}, lower}}}},
		{"uuid: {}", "x-${base64url(v)}", rv.Text{{Literal: "x-"}, {Variable: 1, Functions: []rv.Function{{Name: rv.FunctionBase64URL}, lower}}}},
		{"list: {values: [Host]}", "x-${v}", rv.Text{{Literal: "x-"}, {Variable: 1, Functions: []rv.Function{lower}}}},
		{"list: {values: [E]}", "t${v}", rv.Text{{Literal: "t"}, {Variable: 1, Functions: []rv.Function{lower}}}}, // te: trailers
	} {
		p, _ := named(tc.variable, tc.name).plan(t)
		if diff := cmp.Diff(tc.want, p.Chains[0].Steps[0].Headers[0].Name); diff != "" {
			t.Errorf("%s, %s (-want +got):\n%s", tc.variable, tc.name, diff)
		}
	}
}

// TestHiddenReaders: a file or a script may read what nothing else does.
func TestHiddenReaders(t *testing.T) {
	for what, want := range map[string]int{
		"path: /":                               1,
		"bodyFrom: {file: a}":                   0,
		"bodyFrom: {file: a, encoding: Binary}": 1,
		"parts: [{contentType: a/b, bodyFrom: {file: a}}]":                   0,
		"parts: [{contentType: a/b, bodyFrom: {file: a, encoding: Binary}}]": 1,
		"script: {lua: 'x = 1'}":                                             0,
		"headers: [{name: a, valueFrom: {file: b}}]":                         1,
	} {
		p := template(what)
		p.variables = "{name: v, uuid: {}}"
		if _, got := p.plan(t); len(got) != want {
			t.Errorf("%s: %q, want %d", what, got, want)
		}
	}
}

// TestScriptsAreNotQuoted: they may hold what is secret.
func TestScriptsAreNotQuoted(t *testing.T) {
	for _, script := range []string{`hunter2 hunter2`, `x = 'hunter2`, `x = [[hunter2`, `x = 1 hunter2 =`, `hunter2 = = 1`, `x = "hunter2\300"`} {
		for _, line := range linesOf(t, template("script: {lua: '"+strings.ReplaceAll(script, "'", "''")+"'}").manifest()) {
			if strings.Contains(line, "hunter2") || !strings.HasPrefix(line, "spec.templates[0].script.lua: is not valid Lua 5.1") {
				t.Error(line)
			}
		}
	}
}

func TestOwnFiles(t *testing.T) {
	m, err := compile.Load(strings.NewReader(parts{
		targets:   "{name: target, url: https://t.example, connections: 2, tls: {caFrom: {file: ca}, certificate: {files: {certificate: c, key: k}}}, auth: {basic: {files: {username: u, password: p}}}}",
		variables: "{name: v, csv: {file: v}}, {name: w, constant: {valueFrom: {file: w}}}",
		templates: "{name: get, headers: [{name: a, valueFrom: {file: h}}], bodyFrom: {file: b}, expect: {checks: [{name: s, jsonSchema: {file: s}}]}, script: {luaFrom: {file: l}}}",
	}.manifest()))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range compile.OwnFiles(&m.LoadTest.Spec) {
		got = append(got, f.Path+" "+f.Field.String())
	}
	want := []string{
		"ca spec.targets[0].tls.caFrom.file", "c spec.targets[0].tls.certificate.files.certificate", "k spec.targets[0].tls.certificate.files.key",
		"u spec.targets[0].auth.basic.files.username", "p spec.targets[0].auth.basic.files.password",
		"v spec.variables[0].csv.file", "w spec.variables[1].constant.valueFrom.file",
		"h spec.templates[0].headers[0].valueFrom.file", "s spec.templates[0].expect.checks[0].jsonSchema.file",
		"b spec.templates[0].bodyFrom.file", "l spec.templates[0].script.luaFrom.file",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
