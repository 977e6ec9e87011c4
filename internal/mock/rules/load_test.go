package rules

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestMistakes: all of them are told, each with path and line.
func TestMistakes(t *testing.T) {
	const text = `apiVersion: h2surge.io/v1
kind: target
listen: {address: "8080", cpu: -1, maxConcurrentStreams: 0, port: 1}
maxDocuments: -1
rules:
- name: a
  match:
    method: "G T"
    path: /a?b
    headers:
    - {name: Accept, equals: x}
    - {name: a, equals: x, contains: y}
    - {name: a, matches: "("}
    query:
    - {equals: x}
    - {name: a, jsonPointer: /a, exists: yes}
    body:
    - {jsonPointer: a, equals: x}
    - {name: x, equals: 5}
  responses:
  - status: 99
    status: 200
- name: a
  responses:
  - weight: -1
    headers:
    - {name: ":status", value: x}
    - {name: content-length, value: x}
    - {name: connection, value: x}
    - {name: x, value: " x"}
    - {name: x, value: "${path.id} ${uid} ${state.id} ${random.hex(0)} ${random.int(2,1)} ${random.int(x)} ${request.header.A B} ${json:a} ${uuid|match('(')} ${uuid|slice(1)} ${"}
    body: x
    bodyFile: y
    delay: {fixed: 5, uniform: {min: 2s, max: 1s}, exponential: {max: 2h}, normal: {mean: -1s, standardDeviation: 1s}}
    unanswered: 60%
    reset: 0.5
    close: 2
  - {status: 204, body: x}
  - {problem: {status: 200}, body: x}
  - {bodyFile: none.txt}
  - {body: x, parts: [{contentType: json}, {contentType: a/b, contentID: "a b", body: x, bodyHex: "00"}, {contentType: a/b, bodyHex: "7g"}, {contentType: a/b, bodyFile: none.txt}, {}]}
  - {headers: [{name: content-type, value: a/b}], parts: []}
  - {status: 204, parts: [{contentType: a/b}]}
- name: b
  match: {path: "/a/{x}/{x}"}
- name: c
  match: {path: "/a/**/b"}
  resource: {collection: "", action: erase}
- name: d
  resource: {collection: c, action: list, id: x, limit: 0, where: [{jsonPointer: x, equals: "${state.id}"}]}
- name: e
  resource: {collection: c, action: read, limit: 3}
  responses: [{weight: 0}]
- responses:
- [x]
- name: f
  responses: [{}]
  notify:
  - {uri: "/a", method: "G T", unsent: 60%, sentTwice: 0.5, body: x, bodyFile: y, delay: {}}
  - {uri: "${each.id} ${state.id}", headers: [{name: ":path", value: x}, {name: content-length, value: x}, {name: x, value: " x"}]}
  - {uri: "http://${each.x}", bodyFile: none.txt, forEach: {collection: "", limit: 0, where: [{jsonPointer: x, equals: "${each.id}"}]}}
  - {body: "${uid}"}
  - {uri: "http://a", forEach: {collection: c, where: [{jsonPointer: /a}, {jsonPointer: /a, equals: x, contains: x}, {jsonPointer: /a, contains: "${uid}"}]}}
  - {uri: "http://a", body: x, parts: [{contentType: json}]}
  - {uri: "http://a", parts: [], headers: [{name: content-type, value: a/b}]}
  - {uri: "http://a", parts: []}
`
	_, err := Load([]byte(text), t.TempDir())
	var got []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if at := strings.Index(line, "none.txt: no such"); at > 0 {
			line = line[:strings.Index(line, ": stat")] + ": stat none.txt" // without the directory
		}
		got = append(got, line)
	}
	golden, err := os.ReadFile("testdata/mistakes.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(golden)), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCallbacks: the files of callbacks are read, and bad ones are reported.
func TestCallbacks(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/empty.pem", "")
	for callbacks, want := range map[string]string{
		"{timeout: 0s}": "callbacks.timeout (line 3): is not above 0s and at most 1h0m0s",
		"{caFile: none.pem, insecureSkipVerify: true}": "callbacks.insecureSkipVerify (line 3): cannot be used with caFile",
		"{caFile: empty.pem}":                          "callbacks.caFile (line 3): has no certificate in PEM",
		"{caFile: none.pem}":                           "callbacks.caFile (line 3): stat ",
		"{certFile: empty.pem}":                        "callbacks (line 3): must have both certFile and keyFile, or none of them",
		"{certFile: empty.pem, keyFile: empty.pem}":    "callbacks.certFile (line 3): tls: failed to find any PEM data in certificate input",
		"{certFile: none.pem, keyFile: empty.pem}":     "callbacks.certFile (line 3): stat ",
		"{timeout: 5s}":                                "",
	} {
		set, err := Load([]byte(head+"callbacks: "+callbacks+"\nrules: [{name: a, responses: [{}]}]\n"), dir)
		if want == "" && (err != nil || set.Sending().Timeout != 5*time.Second) || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", callbacks, err, want)
		}
	}
}

func TestNotEvenRules(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "the file is empty",
		"a: [":                      "did not find",
		"[]":                        "must be a mapping",
		head + "rules: []\n---\n{}": "more than one document",
		head + "rules: &a [*a]":     "rules[0] (line 3): aliases are not supported",
		head:                        "rules: is missing",
		"\x00":                      "control characters",
	} {
		_, err := Load([]byte(text), ".")
		var m Mistakes
		if !errors.As(err, &m) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestScalars(t *testing.T) {
	var d Duration
	var r Ratio
	for _, s := range []string{"", "5", "x", "5 ms"} {
		if d.UnmarshalYAML(&yaml.Node{Value: s}) == nil {
			t.Errorf("%q was taken for a duration", s)
		}
	}
	for _, s := range []string{"", "x", "-1", "1.01", "101%", "NaN", "%"} {
		if r.UnmarshalYAML(&yaml.Node{Value: s}) == nil {
			t.Errorf("%q was taken for a ratio", s)
		}
	}
	if d.UnmarshalYAML(&yaml.Node{Value: "1.5s"}) != nil || d != Duration(1500*time.Millisecond) || r.UnmarshalYAML(&yaml.Node{Value: "3%"}) != nil || r != 0.03 {
		t.Error(d, r)
	}
}

const fuzzFile = head + `listen: {address: ":1", seed: 1}
rules:
- name: a
  match: {method: GET, path: '/a/{x}/**', headers: [{name: h, matches: "a+"}], query: [{name: q, exists: true}], body: [{jsonPointer: /a, equals: b}]}
  resource: {collection: c, action: put, id: '${path.x}', absent: {cause: X}}
  responses:
  - {weight: 3, status: 201, headers: [{name: content-type, value: application/json}, {name: h, value: '${request.header.h}${uuid}'}], body: '{"a":"${json:/a}","b":${json:/b}}', delay: {uniform: {min: 1ms, max: 2ms}}, unanswered: 3%}
  - {problem: {status: 403, cause: C, detail: '${request.path}'}}
`

// FuzzLoad: whatever a file holds, Load ends, and what it takes answers requests.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(fuzzFile), "GET", "/a/b/c?q=1", []byte(`{"a":"b"}`))
	f.Add([]byte(head+"rules: [{name: r, resource: {collection: c, action: list}}]"), "POST", "/", []byte("x"))
	f.Fuzz(func(t *testing.T, data []byte, method, path string, body []byte) {
		set, err := Load(data, "/nonexistent")
		if err != nil {
			if m := (Mistakes)(nil); !errors.As(err, &m) || len(m) == 0 {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		e := started(t, set)
		c := &Call{}
		for range 2 {
			c.Begin([]byte(method), []byte(path))
			c.AddField([]byte("h"), []byte("aa"))
			c.AddBody(body)
			e.Answer(c, clock)
			if c.Fate == Answered {
				answer(t, c)
			}
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add(`a$${"${path.x}":${json:/a/b}"${random.int(1,2)}$`)
	f.Add(`${uuid|match('a{2}')|slice(1,2)}${json:/a|b}`)
	f.Add(`${state:/x}${query.a}${request.header.b}`)
	f.Fuzz(func(t *testing.T, s string) {
		for _, json := range []bool{false, true} {
			parsed, err := parseText(s, scope{params: []string{"x"}, state: true, json: json})
			if err != nil {
				continue
			}
			if !strings.Contains(s, "$") {
				if got, ok := parsed.constant(); !ok || got != s {
					t.Errorf("%q became %q, %v", s, got, ok)
				}
			}
			e := started(t, &Set{names: []string{"r"}, collections: []string{"c"}})
			c := request("GET /a\nb: c\n\n{}")
			c.params, c.Rule = [][]byte{[]byte("v")}, 0
			e.appendText(nil, &parsed, c)
		}
	})
}
