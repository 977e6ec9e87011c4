package rules

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2/hpack"
)

// head is what every file begins with.
const head = "apiVersion: h2surge.io/v1alpha1\nkind: Target\n"

// clock is the time that texts show.
var clock = time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.FixedZone("", 3600))

func engine(t testing.TB, rules string) *Engine {
	t.Helper()
	set, err := Load([]byte(head+rules), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return started(t, set)
}

func started(t testing.TB, set *Set) *Engine {
	t.Helper()
	e, err := NewEngine(set, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// request is "METHOD PATH", fields as "name: value", an empty line, and the body.
func request(text string) *Call {
	header, body, _ := strings.Cut(text, "\n\n")
	first, fields, _ := strings.Cut(header, "\n")
	method, path, _ := strings.Cut(first, " ")
	c := &Call{}
	c.Begin([]byte(method), []byte(path))
	for line := range strings.SplitSeq(fields, "\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			c.AddField([]byte(name), []byte(value))
		}
	}
	c.AddBody([]byte(body))
	return c
}

// answer is the header but for content-length, which it checks, and the body.
func answer(t testing.TB, c *Call) string {
	t.Helper()
	fields, err := hpack.NewDecoder(4096, nil).DecodeFull(c.Block)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for i, f := range fields {
		switch {
		case i == 0 && f.Name == ":status":
			out.WriteString(f.Value)
		case f.Name == "content-length":
			if want := fmt.Sprint(len(c.Body)); f.Value != want && string(c.Method()) != "HEAD" {
				t.Errorf("content-length %s, want %s", f.Value, want)
			}
		default:
			fmt.Fprintf(&out, "\n%s: %s", f.Name, f.Value)
		}
	}
	if len(c.Body) > 0 {
		out.WriteString("\n\n" + string(c.Body))
	}
	return out.String()
}

// ask answers a request with e.
func ask(t testing.TB, e *Engine, text string) string {
	t.Helper()
	c := request(text)
	e.Answer(c, clock)
	if c.Fate != Answered {
		return fmt.Sprintf("fate %d", c.Fate)
	}
	return answer(t, c)
}

func TestSpecificity(t *testing.T) {
	// Each case has the rules in the order of the file, each as "NAME MATCH", and the rule that
	// the request is for.
	for _, c := range []struct {
		name, rules, request, want string
	}{
		{"exact before parameter", "p {path: '/a/{x}'}; e {path: /a/b}", "GET /a/b", "e"},
		{"parameter before subtree", "s {path: '/a/**'}; p {path: '/{y}/{x}'}", "GET /a/b", "p"},
		{"subtree before no path", "n {}; s {path: '/a/**'}", "GET /a/b", "s"},
		{"the class of the path before the method", "m {path: '/a/{x}', method: GET}; e {path: /a/b}", "GET /a/b", "e"},
		{"the path before conditions", "c {headers: [{name: h, exists: true}]}; s {path: '/a/**'}", "GET /a/b\nh: 1", "s"},
		{"a literal before a parameter, from the left", "r {path: '/a/{x}/c'}; l {path: '/a/b/{y}'}", "GET /a/b/c", "l"},
		{"a longer subtree", "short {path: '/a/**'}; long {path: '/a/b/**'}", "GET /a/b/c", "long"},
		{"a literal subtree before one with a parameter", "p {path: '/{x}/**'}; l {path: '/a/**'}", "GET /a/b", "l"},
		{"method given", "any {path: /a}; get {path: /a, method: GET}", "GET /a", "get"},
		{"method before conditions", "c {path: /a, headers: [{name: h, exists: true}]}; get {path: /a, method: GET}", "GET /a\nh: 1", "get"},
		{
			"more conditions, of whatever kind",
			"one {path: /a, headers: [{name: h, exists: true}]}; two {path: /a, query: [{name: q, equals: x}], body: [{contains: y}]}",
			"GET /a?q=x\nh: 1\n\ny", "two",
		},
		{"else the order of the file", "first {path: /a}; second {path: /a}", "GET /a", "first"},
		{"the next one when conditions do not hold", "two {path: /a, headers: [{name: h, equals: x}]}; one {path: /a}", "GET /a\nh: 1", "one"},
		{"a less specific path when those of a better one do not hold", "e {path: /a/b, method: POST}; p {path: '/a/{x}'}", "GET /a/b", "p"},
		{"a subtree has its root", "s {path: '/a/**'}", "GET /a", "s"},
		{"a subtree is not a prefix", "s {path: '/a/**'}", "GET /ab", ""},
		{"a parameter is not empty", "p {path: '/a/{x}'}", "GET /a/", ""},
		{"a parameter is one segment", "p {path: '/a/{x}'}", "GET /a/b/c", ""},
		{"the query is not of the path", "e {path: /a}", "GET /a?b", "e"},
		{"methods are case sensitive", "get {method: GET}", "get /a", ""},
	} {
		text := "rules:\n"
		for rule := range strings.SplitSeq(c.rules, "; ") {
			name, match, _ := strings.Cut(rule, " ")
			text += fmt.Sprintf("- {name: %s, match: %s, responses: [{status: 200}]}\n", name, match)
		}
		e := engine(t, text)
		call := request(c.request)
		e.Answer(call, clock)
		got := ""
		if call.Rule >= 0 {
			got = e.set.Names()[call.Rule]
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestConditions(t *testing.T) {
	const doc = `{"a":{"b":["x","yz"]},"n":12.50,"s":"q\"\n","z":null}`
	for _, c := range []struct {
		match, request string
		want           bool
	}{
		{"headers: [{name: h, equals: a}]", "GET /\nh: a", true},
		{"headers: [{name: h, equals: a}]", "GET /\nh: ab", false},
		{"headers: [{name: h, equals: b}]", "GET /\nh: a\nh: b", true},
		{"headers: [{name: h, startsWith: a}]", "GET /\nh: ab", true},
		{"headers: [{name: h, startsWith: abc}]", "GET /\nh: ab", false},
		{"headers: [{name: h, endsWith: b}]", "GET /\nh: ab", true},
		{"headers: [{name: h, endsWith: cab}]", "GET /\nh: ab", false},
		{"headers: [{name: h, contains: b}]", "GET /\nh: abc", true},
		{"headers: [{name: h, contains: bb}]", "GET /\nh: abc", false},
		{"headers: [{name: h, matches: 'a|b'}]", "GET /\nh: b", true},
		{"headers: [{name: h, matches: 'a|b'}]", "GET /\nh: ab", false},
		{"headers: [{name: h, exists: true}]", "GET /\nh: ", true},
		{"headers: [{name: h, exists: true}]", "GET /", false},
		{"headers: [{name: h, exists: false}]", "GET /", true},
		{"headers: [{name: h, exists: false}]", "GET /\nh: x", false},
		{"headers: [{name: ':path', equals: '/p?q=1'}]", "GET /p?q=1", true},
		{"headers: [{name: ':method', equals: GET}]", "GET /", true},
		{"headers: [{name: ':authority', startsWith: a}]", "GET /\n:authority: a:1", true},
		{"query: [{name: q, equals: a b}]", "GET /?x=1&q=a%20b", true},
		{"query: [{name: q, equals: a b}]", "GET /?q=a+b&", true},
		{"query: [{name: q r, exists: true}]", "GET /?q%20r", true},
		{"query: [{name: q, equals: '%zz'}]", "GET /?q=%zz", true},
		{"query: [{name: q, exists: false}]", "GET /?r=q", true},
		{"query: [{name: q, equals: '2'}]", "GET /?q=1&q=2", true},
		{"body: [{contains: '\"n\":12'}]", "GET /\n\n" + doc, true},
		{"body: [{exists: true}]", "GET /", false},
		{"body: [{exists: false}]", "GET /", true},
		{"body: [{jsonPointer: /a/b/1, equals: yz}]", "GET /\n\n" + doc, true},
		{"body: [{jsonPointer: /n, equals: '12.50'}]", "GET /\n\n" + doc, true},
		{"body: [{jsonPointer: /s, matches: 'q\".'}]", "GET /\n\n" + doc, true},
		{"body: [{jsonPointer: /z, exists: true}]", "GET /\n\n" + doc, true},
		{"body: [{jsonPointer: /y, exists: true}]", "GET /\n\n" + doc, false},
		{"body: [{jsonPointer: /y, exists: false}]", "GET /\n\n" + doc, true},
		{"body: [{jsonPointer: '', startsWith: '{\"a\"'}]", "GET /\n\n" + doc, true},
		{"body: [{jsonPointer: /a, exists: false}]", "GET /\n\nnot JSON", true},
		{"body: [{jsonPointer: /a, contains: ''}]", "GET /\n\nnot JSON", false},
	} {
		e := engine(t, fmt.Sprintf("rules: [{name: r, match: {%s}, responses: [{status: 200}]}]", c.match))
		call := request(c.request)
		e.Answer(call, clock)
		if got := call.Rule == 0; got != c.want {
			t.Errorf("%s, %q: %v, want %v", c.match, c.request, got, c.want)
		}
	}
}

func TestTexts(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"plain", "plain"},
		{"$ $$ $${x} a$", "$ $ ${x} a$"},
		{"${path.id}/${path.x}", "i 1/b"},
		{"${request.method} ${request.path}", "POST /a/i 1/b"},
		{"${request.header.User-Agent}", "me"},
		{"${request.header.:authority}", "h:1"},
		{"${request.header.none}.", "."},
		{"${query.q}-${query.none}", "1 2-"},
		{"${json:/a/0}${json:/s}", `1x"y`},
		{"${json:/o}", `{"k":[]}`},
		{"${json:/none}.", "."},
		{"${counter}${counter}", "11"},
		{"${time.rfc3339}", "2026-03-04T04:06:07.089Z"},
		{"${time.imf}", "Wed, 04 Mar 2026 04:06:07 GMT"},
		{"${time.epochMs}", "1772597167089"},
		{"${request.path|match(''[^/]{3}$'')}", ""},
		{"${request.path|match(''[^/]{1,3}$'')}", "b"},
		{"${request.path | match(''/a/(.).*'')}.", "i."},
		{"${request.path|match(''(x)|a'')}.", "."},
		{"${request.method|slice(1,2)}", "OS"},
		{"${request.method|slice(1,-1)|slice(0,1)}", "O"},
		{"${request.method|slice(9,9)}.", "."},
		{"${json:/p|q}", "pipe"},
		{"${json:/s|match(''y.'')}", ""},
	} {
		e := engine(t, "rules: [{name: r, match: {path: '/a/{id}/{x}'}, responses: [{headers: [{name: h, value: '"+c.text+"'}]}]}]")
		got := ask(t, e, "POST /a/i 1/b?q=1%202\n:authority: h:1\nuser-agent: me\n\n"+`{"a":[1],"s":"x\"y","o":{"k":[]},"p|q":"pipe"}`)
		if want := "200\nh: " + c.want; got != want {
			t.Errorf("%s: %q, want %q", c.text, got, want)
		}
	}
}

// TestTextsInJSON: what stands between quotes is escaped, what stands where a value does is one.
func TestTextsInJSON(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"s":"${json:/s}","t":${json:/s}}`, `{"s":"x\"y","t":"x\"y"}`},
		{`{"n":${json:/none},"m":"${json:/none}"}`, `{"n":null,"m":""}`},
		{`{"h":"${request.header.etag}"}`, `{"h":"\"é\""}`},
		{`{"\"h":"${request.header.bad}\\"}`, `{"\"h":"�\\"}`},
		{`{"all":${request.body}}`, `{"all":{"s":"x\"y","l":"a\nb"}}`},
		{`{"l":"${json:/l}"}`, `{"l":"a\nb"}`},
	} {
		text := "rules:\n- name: r\n  responses:\n  - headers: [{name: content-type, value: application/json}]\n    body: '" + c.text + "'\n"
		got := ask(t, engine(t, text), "POST /\netag: \"é\"\nbad: \xff\n\n"+`{"s":"x\"y","l":"a\nb"}`)
		if want := "200\ncontent-type: application/json\n\n" + c.want; got != want {
			t.Errorf("%s: %q, want %q", c.text, got, want)
		}
	}
}

func TestRandomTexts(t *testing.T) {
	e := engine(t, `rules: [{name: r, responses: [{body: '${uuid} ${uuid} ${random.hex(20)} ${random.int(-2,2)}'}]}]`)
	seen := map[string]bool{}
	for range 200 {
		c := request("GET /")
		e.Answer(c, clock)
		f := strings.Fields(string(c.Body))
		if len(f) != 4 || f[0] != f[1] || len(f[0]) != 36 || f[0][14] != '4' || strings.IndexByte("89ab", f[0][19]) < 0 || len(f[2]) != 20 {
			t.Fatalf("%q", c.Body)
		}
		seen[f[0]], seen[f[3]] = true, true
	}
	if len(seen) != 205 || !seen["-2"] || !seen["2"] {
		t.Errorf("%d values, want 200 UUIDs and 5 numbers", len(seen))
	}
	again := engine(t, `rules: [{name: r, responses: [{body: '${uuid} ${uuid} ${random.hex(20)} ${random.int(-2,2)}'}]}]`)
	if got := strings.Fields(ask(t, again, "GET /")); !seen[got[1]] {
		t.Error("the same seed draws other values")
	}
}

func TestValuesThatNoFieldCanHave(t *testing.T) {
	e := engine(t, `rules: [{name: r, responses: [{headers: [{name: h, value: '${json:/l}'}]}]}]`)
	got := ask(t, e, "POST /\n\n"+`{"l":"a\nb"}`)
	if !strings.HasPrefix(got, "500\ncontent-type: application/problem+json\nx-h2surge-error: header h:") {
		t.Errorf("%q", got)
	}
}

func TestProblems(t *testing.T) {
	e := engine(t, `
rules:
- name: refused
  match: {path: '/a/{x}'}
  responses: [{problem: {status: 403, cause: C, title: T, detail: 'no ${path.x} & "more"'}}]
`)
	for text, want := range map[string]string{
		"GET /a/b\"": `403
content-type: application/problem+json

{"title":"T","status":403,"detail":"no b\" & \"more\"","cause":"C"}`,
		"GET /b": `404
content-type: application/problem+json

{"title":"Not Found","status":404,"detail":"no rule of this target matches GET /b","cause":"RESOURCE_URI_STRUCTURE_NOT_FOUND"}`,
		"HEAD /b": "404\ncontent-type: application/problem+json",
	} {
		if got := ask(t, e, text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestResources(t *testing.T) {
	e := engine(t, `
maxDocuments: 2
rules:
- {name: create, match: {method: POST, path: /c}, resource: {collection: c, action: create}}
- {name: named, match: {method: POST, path: '/c/{id}'}, resource: {collection: c, action: create, id: '${json:/id}'}}
- {name: put, match: {method: PUT, path: '/c/{id}'}, resource: {collection: c, action: put, id: '${path.id}'}}
- {name: get, match: {method: GET, path: '/c/{id}'}, resource: {collection: c, action: read, id: '${path.id}'}}
- {name: update, match: {method: UPDATE, path: '/c/{id}'}, resource: {collection: c, action: update, id: '${path.id}', absent: {status: 410, cause: GONE}}}
- {name: patch, match: {method: PATCH, path: '/c/{id}'}, resource: {collection: c, action: patch, id: '${path.id}'}}
- {name: delete, match: {method: DELETE, path: '/c/{id}'}, resource: {collection: c, action: delete, id: '${path.id}'}}
- {name: list, match: {method: GET, path: /c}, resource: {collection: c, action: list, limit: 1, where: [{jsonPointer: /v, equals: '${query.v}'}]}}
- name: state
  match: {method: STATE, path: '/c/{id}'}
  resource: {collection: c, action: read, id: '${path.id}'}
  responses: [{headers: [{name: h, value: '${state.id} ${state.count} ${state:/v} ${state.document}'}], body: ""}]
- name: refuse
  match: {method: DELETE, path: '/c/{id}', headers: [{name: h, exists: true}]}
  resource: {collection: c, action: delete, id: '${path.id}'}
  responses: [{status: 503}]
`)
	id := ""
	for i, c := range []struct{ request, want string }{
		{"POST /c/\n\n{}", "404 no rule"},
		{"POST /c\n\n{\"v\":1}", "201\nlocation: /c/@ID\ncontent-type: application/json\n\n{\"v\":1}"},
		{"GET /c/@ID", "200\ncontent-type: application/json\n\n{\"v\":1}"},
		{"HEAD /c/@ID", "404 application/problem"},
		{"POST /c/x\n\n{\"id\":\"n\",\"v\":2}", "201\nlocation: /c/x/n\ncontent-type: application/json\n\n{\"id\":\"n\",\"v\":2}"},
		{"POST /c\n\n{}", "500 INSUFFICIENT_RESOURCES"},
		{"PUT /c/new\n\n{}", "500 INSUFFICIENT_RESOURCES"},
		{"POST /c/x\n\n{\"id\":\"n\"}", "409 exists already"},
		{"POST /c/x\n\n{}", "400 MANDATORY_IE_MISSING"},
		{"POST /c/x\n\n{", "400 MANDATORY_IE_MISSING"},
		{"GET /c", "200\ncontent-type: application/json\n\n[{\"v\":1}]"},
		{"GET /c?v=2", "200\ncontent-type: application/json\n\n[{\"id\":\"n\",\"v\":2}]"},
		{"GET /c?v=3", "200\ncontent-type: application/json\n\n[]"},
		{"STATE /c/n", "200\nh: n 2 2 {\"id\":\"n\",\"v\":2}"},
		{"DELETE /c/n\nh: 1", "503"},
		{"DELETE /c/n", "204"},
		{"DELETE /c/n", "404 DATA_NOT_FOUND"},
		{"PUT /c/n\n\n{\"v\":3}", "201\nlocation: /c/n\ncontent-type: application/json\n\n{\"v\":3}"},
		{"PUT /c/n\n\n{\"v\":4}", "200\ncontent-type: application/json\n\n{\"v\":4}"},
		{"PUT /c/n\n\n{\"v\":", "400 INVALID_MSG_FORMAT"},
		{"PATCH /c/n\n\n{\"w\":5}", "200\ncontent-type: application/json\n\n{\"v\":4,\"w\":5}"},
		{"PATCH /c/n\ncontent-type: application/json-patch+json\n\n[{\"op\":\"remove\",\"path\":\"/v\"}]", "200\ncontent-type: application/json\n\n{\"w\":5}"},
		{"PATCH /c/n\ncontent-type: application/json-patch+json\n\n[{\"op\":\"remove\",\"path\":\"/v\"}]", "409 does not fit"},
		{"PATCH /c/n\ncontent-type: Application/JSON-Patch+JSON ; a=b\n\n[{\"op\":\"add\",\"path\":\"/v\",\"value\":6}]", "200\ncontent-type: application/json\n\n{\"v\":6,\"w\":5}"},
		{"PATCH /c/n\ncontent-type: application/json-patch+jsonx\n\n{\"v\":null}", "200\ncontent-type: application/json\n\n{\"w\":5}"},
		{"PATCH /c/n\n\n[", "400 INVALID_MSG_FORMAT"},
		{"UPDATE /c/n\n\n[1]", "200\ncontent-type: application/json\n\n[1]"},
		{"UPDATE /c/m\n\n[1]", "410 GONE"},
		{"GET /c/m", "404 DATA_NOT_FOUND"},
		{"UPDATE /c/n", "200\ncontent-type: application/json\n\n{}"},
	} {
		got := ask(t, e, strings.ReplaceAll(c.request, "@ID", id))
		if at := strings.Index(got, "location: /c/"); i == 1 && at > 0 {
			id = got[at+13 : at+13+36]
		}
		want := strings.ReplaceAll(c.want, "@ID", id)
		status, detail, short := strings.Cut(want, " ")
		if ok := got == want || short && len(status) == 3 && strings.HasPrefix(got, status) && strings.Contains(got, detail); !ok {
			t.Errorf("%d, %s: %q, want %q", i, c.request, got, want)
		}
	}
	if e.Documents() != 2 {
		t.Errorf("%d documents, want 2", e.Documents())
	}
}

func TestWeights(t *testing.T) {
	e := engine(t, `rules: [{name: r, responses: [{weight: 3, status: 201}, {weight: 0, status: 202}, {status: 203}]}]`)
	count := map[int]int{}
	for range 4000 {
		c := request("GET /")
		e.Answer(c, clock)
		count[c.Status]++
	}
	if len(count) != 2 || count[201] < 2850 || count[201] > 3150 { // some five standard deviations
		t.Errorf("drawn %v, want 3000 times 201 and 1000 times 203", count)
	}
}

func TestFates(t *testing.T) {
	e := engine(t, `rules: [{name: r, responses: [{unanswered: 10%, reset: 0.2, close: 0.3}]}]`)
	count := map[Fate]int{}
	for range 10000 {
		c := request("GET /")
		e.Answer(c, clock)
		count[c.Fate]++
	}
	for fate, want := range map[Fate]int{Answered: 4000, Unanswered: 1000, Reset: 2000, Close: 3000} {
		if got := count[fate]; got < want-250 || got > want+250 {
			t.Errorf("fate %d: %d of 10000, want about %d", fate, got, want)
		}
	}
}

// TestFaultsHaveNoEffect: what gets no answer or an error leaves the documents alone.
func TestFaultsHaveNoEffect(t *testing.T) {
	for _, response := range []string{"unanswered: 1", "reset: 1", "close: 1", "problem: {status: 400}", "status: 429"} {
		e := engine(t, "rules: [{name: r, resource: {collection: c, action: create}, responses: [{"+response+"}]}]")
		ask(t, e, "POST /c\n\n{}")
		if e.Documents() != 0 {
			t.Errorf("%s: a document was made", response)
		}
	}
}

func TestDelays(t *testing.T) {
	for _, c := range []struct {
		delay               string
		least, most         time.Duration
		meanLeast, meanMost time.Duration
	}{
		{"fixed: 5ms", 5 * time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond},
		{"uniform: {min: 1ms, max: 3ms}", time.Millisecond, 3 * time.Millisecond, 1950 * time.Microsecond, 2050 * time.Microsecond},
		{"uniform: {max: 0s}", 0, 0, 0, 0},
		{"exponential: {mean: 10ms}", 0, MaxDelay, 9500 * time.Microsecond, 10500 * time.Microsecond},
		{"exponential: {mean: 10ms, max: 1ms}", 0, time.Millisecond, 900 * time.Microsecond, time.Millisecond},
		{"normal: {mean: 10ms, standardDeviation: 1ms}", 0, 20 * time.Millisecond, 9900 * time.Microsecond, 10100 * time.Microsecond},
		{"normal: {mean: 0s, standardDeviation: 1h}", 0, MaxDelay, 1, MaxDelay},
	} {
		e := engine(t, "rules: [{name: r, responses: [{delay: {"+c.delay+"}}]}]")
		const n = 10000
		sum := time.Duration(0)
		for range n {
			call := request("GET /")
			e.Answer(call, clock)
			if call.Delay < c.least || call.Delay > c.most {
				t.Fatalf("%s: %v", c.delay, call.Delay)
			}
			sum += call.Delay / n
		}
		if sum++; sum < c.meanLeast || sum > c.meanMost+1 {
			t.Errorf("%s: the mean is %v", c.delay, sum)
		}
	}
}

func TestBodyFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/body.txt", "n ${counter}")
	set, err := Load([]byte(head+"rules: [{name: r, responses: [{bodyFile: body.txt}]}]"), dir)
	if err != nil {
		t.Fatal(err)
	}
	e := started(t, set)
	ask(t, e, "GET /")
	if diff := cmp.Diff("200\n\nn 2", ask(t, e, "GET /")); diff != "" {
		t.Error(diff)
	}
}

// TestParts: mime/multipart reads the parts of an answer.
func TestParts(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/n2.txt", "n ${counter}")
	for _, script := range []string{"", ", script: {lua: 'function customize_response(a, b, h, d) return h, d end'}"} {
		set, err := Load([]byte(head+`rules: [{name: r, responses: [{status: 201, headers: [{name: x, value: y}], parts: [
  {contentType: application/json, body: '{"id":"${json:/id}"}'}, {contentType: a/b, contentID: n1msg, bodyHex: "7e 00"}, {contentType: text/plain, bodyFile: n2.txt}, {contentType: a/b}]`+script+"}]}]"), dir)
		if err != nil {
			t.Fatal(err)
		}
		c := request("POST /\n\n{\"id\":\"a\\\"b\"}")
		if started(t, set).Answer(c, clock); c.Status != 201 {
			t.Fatalf("status %d", c.Status)
		}
		fields, err := hpack.NewDecoder(0, nil).DecodeFull(c.Block)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range fields {
			if f.Name == "content-type" {
				got = partsOf(t, f.Value, c.Body)
			}
		}
		want := []string{`application/json||{"id":"a\"b"}`, "a/b|n1msg|\x7e\x00", "text/plain||n 1", "a/b||"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("script %q (-want +got):\n%s", script, diff)
		}
	}
}

// partsOf returns "Content-Type|Content-ID|content" of each part.
func partsOf(t *testing.T, kind string, body []byte) (out []string) {
	t.Helper()
	media, params, err := mime.ParseMediaType(kind)
	if err != nil || media != "multipart/related" || params["type"] != "application/json" {
		t.Fatalf("%s: %v", kind, err)
	}
	for r := multipart.NewReader(bytes.NewReader(body), params["boundary"]); ; {
		p, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, body)
		}
		content, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p.Header.Get("Content-Type")+"|"+p.Header.Get("Content-Id")+"|"+string(content))
	}
}

// TestAnswersAreBounded: a body that grows with the request ends at a bound, and is no answer then.
func TestAnswersAreBounded(t *testing.T) {
	e := engine(t, "rules: [{name: r, responses: [{body: '"+strings.Repeat("${request.body}", 100)+"'}]}]")
	c := request("POST /\n\n" + strings.Repeat("x", 1<<20))
	e.Answer(c, clock)
	if c.Status != 500 || !c.Failed || cap(c.content) > 64<<20 {
		t.Errorf("status %d, %d bytes of memory", c.Status, cap(c.content))
	}
	c = request("POST /\n\n" + strings.Repeat("x", 1<<10))
	if e.Answer(c, clock); c.Status != 200 || len(c.Body) != 100<<10 {
		t.Errorf("status %d, %d bytes", c.Status, len(c.Body))
	}
}

// TestDocumentation: the file that the docs show is one.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/target.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\napiVersion")
	file, _, _ := strings.Cut(rest, "```")
	if _, err := Load([]byte("apiVersion"+file), t.TempDir()); err != nil {
		t.Error(err)
	}
}
