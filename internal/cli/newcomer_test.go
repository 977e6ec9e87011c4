package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/internal/mock"
	"github.com/h2surge/h2surge/test/golden"
	"github.com/h2surge/h2surge/test/peer"
)

const firstManifest = `apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata:
  name: first
spec:
  targets:
    - name: web
      url: http://127.0.0.1:1
      connections: 2
  variables:
    - name: ue
      range: {start: 0, end: 100}
  templates:
    - name: read
      path: ${user}
  chains:
    - name: users
      target: web
      steps:
        - name: create
          request:
            method: POST
            path: /users/${ue}
            capture:
              - {name: user, header: location}
        - name: look
          template: read
  rates:
    - name: hold
      duration: 1s
      requestsPerSecond: 10
  thresholds:
    - name: fast
      metric: ResponseTime
      percentile: p99
      max: 20ms
`

// TestNewcomersMistakes: each mistake of the first ten minutes gets a line that says what to change. The golden file
// has the lines; lint, run and try say the same about a manifest.
func TestNewcomersMistakes(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	var all strings.Builder
	for _, tc := range []struct {
		name    string
		replace []string
	}{
		{"a name of y", []string{"name: web", "name: y", "target: web", "target: y"}},
		{"a name of on", []string{"name: users", "name: on"}},
		{"a name of no", []string{"name: read", "name: no", "template: read", "template: no"}},
		{"a name that is a number", []string{"name: hold", "name: 1"}},
		{"a percentile that is a number", []string{"percentile: p99", "percentile: 99.9"}},
		{"a quantile", []string{"percentile: p99", "quantile: 0.99"}},
		{"a maximum without a unit", []string{"max: 20ms", "max: 20"}},
		{"a tab", []string{"    - name: web", "\t- name: web"}},
		{"a field indented too far", []string{"      url:", "       url:"}},
		{"a field not indented enough", []string{"      connections:", "    connections:"}},
		{"a section that is not indented", []string{"  rates:", "rates:"}},
		{"no space after a colon", []string{"connections: 2", "connections:2"}},
		{"a colon in a value", []string{"path: /users/${ue}", "path: /users: ${ue}"}},
		{"a brace without a dollar sign", []string{"path: /users/${ue}", "path: {ue}"}},
		{"a kind in other letters", []string{"kind: LoadTest", "kind: Loadtest"}},
		{"no kind", []string{"kind: LoadTest\n", ""}},
		{"no apiVersion", []string{"apiVersion: h2surge.io/v1alpha1\n", ""}},
		{"another apiVersion", []string{"h2surge.io/v1alpha1", "h2surge.io/v1"}},
		{"no name", []string{"  name: first\n", "  labels: {}\n"}},
		{"a name in upper case", []string{"name: first", "name: First"}},
		{"a URL without a scheme", []string{"http://127.0.0.1:1", "127.0.0.1:1"}},
		{"a host and a port", []string{"http://127.0.0.1:1", "localhost:8080"}},
		{"an unknown variable", []string{"${ue}", "${eu}"}},
		{"a template that is misspelt", []string{"template: read", "template: raed"}},
		{"a target that is misspelt", []string{"target: web", "target: wbe"}},
		{"a field that is misspelt", []string{"requestsPerSecond", "requestPerSecond"}},
		{"a field in other letters", []string{"connections", "Connections"}},
		{"a rate of 0", []string{"requestsPerSecond: 10", "requestsPerSecond: 0"}},
		{"a rate in quotes", []string{"requestsPerSecond: 10", `requestsPerSecond: "10"`}},
		{"a duration without a unit", []string{"duration: 1s", "duration: 10"}},
		{"a duration in words", []string{"duration: 1s", "duration: 10 seconds"}},
		{"no duration", []string{"      duration: 1s\n", ""}},
		{"a status that is not a list", []string{"      path: ${user}", "      path: ${user}\n      expect: {status: 200}"}},
		{"a metric in other letters", []string{"ResponseTime", "responsetime"}},
		{"headers as a map", []string{"            method: POST", "            method: POST\n            headers: {content-type: text/plain}"}},
		{"a body that is not text", []string{"            method: POST", "            method: POST\n            body: {a: 1}"}},
		{"steps without a dash", []string{"        - name: look\n          template: read\n", "", "        - name: create\n          request:", "        create:\n          request:"}},
		{"a variable in braces", []string{"{name: user, header: location}", "{name: user, header: ${ue}, optional: true}"}},
		{"a variable in brackets", []string{"            method: POST", "            method: POST\n            expect: {status: [${ue}, 200]}"}},
		{"a body in braces", []string{"            method: POST", "            body: {\"id\":${ue},\"a\":1}\n            method: POST"}},
		{"an object indented one less", []string{"          request:", "         request:"}},
		{"a list indented one less", []string{"            capture:", "           capture:"}},
		{"a bracket that is not closed", []string{"{start: 0, end: 100}", "{start: 0, end: 100"}},
		{"an error rate without a percent sign", []string{"ResponseTime\n      percentile: p99\n      max: 20ms", "ErrorRate\n      max: 0.005"}},
		{"no percentile", []string{"      percentile: p99\n", ""}},
		{"an error rate with a percentile", []string{"ResponseTime", "ErrorRate", "max: 20ms", "max: 1%"}},
		{"half a request a second", []string{"requestsPerSecond: 10", "requestsPerSecond: 0.5"}},
		{"a closed loop of true", []string{"requestsPerSecond: 10", "closedLoop: true"}},
		{"an expect of a number", []string{"            method: POST", "            method: POST\n            expect: 201"}},
		{"a table that is only a name", []string{"range: {start: 0, end: 100}", "csv: items.csv", "${ue}", "${ue.id}"}},
		{"stages", []string{"  rates:", "  stages:"}},
		{"a JSON path", []string{"{name: user, header: location}", "{name: user, jsonPath: /id}"}},
		{"a capture as a map", []string{"{name: user, header: location}", "{user: location}"}},
		{"a phase in lower case", []string{"      target: web", "      target: web\n      phase: setup"}},
		{"a capture that is misspelt", []string{"path: ${user}", "path: ${usre}"}},
		{"a header in braces", []string{"            method: POST", "            headers:\n              - {name: authorization, value: Bearer ${ue}}\n              - {name: a, value: b}\n            method: POST"}},
		{"a header in braces before a comment", []string{"            method: POST", "            headers:\n              - {name: authorization, value: Bearer ${ue}}\n\n              # a comment\n            method: POST"}},
		{"a path in braces over two lines", []string{"        - name: look\n          template: read\n", "        - name: look\n          request: {method: GET,\n                    path: ${user}}\n"}},
		{"two variables in braces", []string{"        - name: look\n          template: read\n", "        - {name: look, request: {path: ${user}, headers: [{name: a, value: '}'}, {name: b, value: \"it's\"}, {name: c, value: x ${ue} y}]}}\n"}},
		{"two lines with a variable in braces", []string{"            method: POST", "            headers:\n              - {name: a, value: ${ue}}\n              - {name: b, value: ${ue}}\n            method: POST"}},
		{"a body in a block, and an error behind it", []string{"            method: POST", "            body: |\n              {\"a\": ${ue}}\n            method: POST\n            expect: {status: [200}"}},
		{"vus of k6", []string{"requestsPerSecond: 10", "vus: 50"}},
		{"vus in the spec", []string{"  rates:", "  vus: 50\n  rates:"}},
		{"a rate", []string{"requestsPerSecond: 10", "rate: 100"}},
		{"a rate in the spec", []string{"  rates:", "  qps: 100\n  rates:"}},
		{"a start rate", []string{"requestsPerSecond: 10", "requestsPerSecond: 10\n      startRate: 5"}},
		{"the end of a ramp", []string{"requestsPerSecond: 10", "rampTo: 100"}},
		{"the target of a stage", []string{"requestsPerSecond: 10", "target: 100"}},
		{"the time unit of a rate", []string{"requestsPerSecond: 10", "timeUnit: 1m"}},
		{"an executor", []string{"requestsPerSecond: 10", "executor: constant-vus"}},
		{"a ramp in the spec", []string{"  rates:", "  rampTo: 100\n  rates:"}},
		{"the most users", []string{"requestsPerSecond: 10", "requestsPerSecond: 10\n      maxVUs: 5"}},
		{"iterations", []string{"      duration: 1s", "      iterations: 1000"}},
		{"a rate that may be a secret", []string{"requestsPerSecond: 10", "rate: hunter2"}},
		{"scenarios", []string{"  chains:", "  scenarios:"}},
		{"a pause", []string{"          template: read", "          template: read\n          sleep: 2s"}},
		{"a field of spec in a stage", []string{"duration: 1s", "duration: 1s\n      gracefulStop: 1s"}},
		{"the URL of a request", []string{"          template: read", "          request: {url: /}"}},
		{"a latency", []string{"ResponseTime", "Latency"}},
		{"a metric of k6", []string{"ResponseTime", "http_req_failed"}},
		{"a metric that is misspelt", []string{"ResponseTime", "NotificationTimes"}},
		{"a metric of nothing", []string{"ResponseTime", "x"}},
		{"a duration of a day", []string{"duration: 1s", "duration: 1d"}},
		{"a duration of weeks", []string{"duration: 1s", "duration: 2 weeks"}},
		{"a think time", []string{"          template: read", "          template: read\n          thinkTime: 200ms"}},
		{"a think time of seconds", []string{"          template: read", "          template: read\n          thinkTime: 2"}},
		{"a think time of words", []string{"          template: read", "          template: read\n          thinkTime: short"}},
		{"a closed loop of a number", []string{"requestsPerSecond: 10", "closedLoop: 50"}},
		{"a closed loop of a text", []string{"requestsPerSecond: 10", "closedLoop: fast"}},
		{"a status that is refused", []string{"      path: ${user}", "      path: ${user}\n      expect: {status: 401}"}},
		{"a class of status codes", []string{"      path: ${user}", "      path: ${user}\n      expect: {status: 2xx}"}},
		{"an expect of another number", []string{"            method: POST", "            method: POST\n            expect: 404"}},
		{"a retry of a number", []string{"          template: read", "          template: read\n          retry: 5"}},
		{"a repeat of too many", []string{"          template: read", "          template: read\n          repeat: 100000000000"}},
		{"requests per second as a number", []string{"requestsPerSecond: 10", "requestsPer: 5"}},
		{"a range of a number", []string{"{start: 0, end: 100}", "100"}},
		{"a list of values", []string{"range: {start: 0, end: 100}", "list: [a, b]"}},
		{"a body from a file", []string{"            method: POST", "            method: POST\n            bodyFrom: order.json"}},
		{"an empty file", []string{firstManifest, ""}},
	} {
		text := strings.NewReplacer(tc.replace...).Replace(firstManifest)
		if text == firstManifest {
			t.Errorf("%s: nothing was replaced", tc.name)
		}
		if err := os.WriteFile("first.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		lint := h2surge(t, nil, nil, "lint", "-f", "first.yaml")
		fmt.Fprintf(&all, "# %s\n", tc.name)
		if strings.Contains(lint.out, "is never read") && strings.Contains(lint.out, "is not defined; did you mean") {
			t.Errorf("%s: a warning about a name that another line misspells\n%s", tc.name, lint.out)
		}
		for line := range strings.Lines(lint.out) {
			if !strings.Contains(line, ": warning: ") {
				all.WriteString(line)
			}
		}
		all.WriteString("\n")
		if lint.code != 1 || lint.errors != "" {
			t.Errorf("%s: exit code %d\n%s%s", tc.name, lint.code, lint.out, lint.errors)
		}
		for _, command := range []string{"run", "try"} {
			got := h2surge(t, nil, nil, command, "-f", "first.yaml")
			if got.code != 1 || got.out != "" {
				t.Errorf("%s: %s ends with exit code %d\n%s%s", tc.name, command, got.code, got.out, got.errors)
			}
			for line := range strings.Lines(got.errors) {
				if !strings.Contains(lint.out, line) {
					t.Errorf("%s: %s prints what lint does not: %s", tc.name, command, line)
				}
			}
		}
	}
	t.Chdir(here)
	golden.Compare(t, "newcomer.txt", all.String())
}

// TestNewcomersTargets: a target that is not there, or speaks something else, is named in one line.
func TestNewcomersTargets(t *testing.T) {
	waits(t)
	// With a threshold, the verdict of a run on a busy machine is Inconclusive.
	withoutThresholds, _, _ := strings.Cut(firstManifest, "  thresholds:")
	quick := strings.Replace(withoutThresholds, "connections: 2", "connections: 2\n      connectTimeout: 1s", 1)
	to := func(url, more string) string {
		return strings.Replace(quick, "url: http://127.0.0.1:1", "url: "+url+more, 1)
	}
	nothing, old := "127.0.0.1:"+peer.Refused(t), http1Only(t)
	here := serve(t, mock.Options{}).Addr().String()
	plain := newWeb(t, nil)
	for name, tc := range map[string]struct {
		manifest string
		run, try string // a line of standard error, and of the output
	}{
		"nothing listens": {
			to("http://"+nothing, ""), "target web (http://" + nothing + "): the connection was refused (" + nothing + ")",
			"chain users, step create: failed: not sent: no connection was open: the connection was refused (" + nothing + ")",
		},
		"HTTP/2 to a server of HTTP/1.1": {
			to("http://"+old, "\n      protocol: h2c"), "target web (http://" + old + "): the server answered HTTP/1.1 to the HTTP/2 preface (" + old + "); set protocol: http1 if the server has no HTTP/2",
			"chain users, step create: failed: not sent: no connection was open: the server answered HTTP/1.1 to the HTTP/2 preface (" + old + "); set protocol: http1 if the server has no HTTP/2",
		},
		"TLS to a server without": {
			to("https://"+here, ""), "use an http URL if the server has no TLS on this port",
			"use an http URL if the server has no TLS on this port",
		},
		"a capture that is missing": {
			to(plain.url, "\n      protocol: http1"), "none of 10 chain instances was completed; aborted: 10 by missingCapture",
			"chain users, step create: failed: capture user: the response has no header location",
		},
	} {
		t.Run(name, func(t *testing.T) {
			waits(t)
			for _, command := range []struct{ name, want string }{{"run", tc.run}, {"try", tc.try}} {
				var out, errors bytes.Buffer
				code := execute(t.Context(), []string{"h2surge", command.name, "-f", "-"}, strings.NewReader(tc.manifest), &out, &errors, parts())
				if got := out.String() + errors.String(); code == 0 || !strings.Contains(got, command.want) {
					t.Errorf("%s: exit code %d\n%swant %s", command.name, code, got, command.want)
				}
			}
		})
	}
}
