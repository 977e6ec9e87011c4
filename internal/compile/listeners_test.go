package compile_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
)

// awaiting is a manifest whose chain subscribes and awaits a notification. step replaces the body of await.
func awaiting(listeners, step string) parts {
	return parts{
		variables: "{name: id, counter: {}}", listeners: listeners,
		steps: `{name: subscribe, request: {method: POST, body: "${listener.events.url}/n/${id}"}}, {name: notified, await: {` + step + `}}`,
	}
}

// judged adds a threshold.
func judged(p parts, threshold string) parts {
	p.thresholds = threshold
	return p
}

func TestAwait(t *testing.T) {
	plan, warnings := awaiting(
		"{name: events, port: 9000, retention: 3s, response: {status: 200, headers: [{name: X-A, value: b}], body: ok}}, {name: values, rulesFrom: {file: r.yaml}}, {name: both}, {name: query}",
		`listener: events, match: {path: "/n/${id}"}, timeout: 2s, capture: [{name: kind, jsonPointer: /kind}]}}, `+
			`{name: by-value, await: {listener: values, match: {jsonPointer: /id, equals: "${kind}"}}}, `+
			`{name: by-both, await: {listener: both, match: {path: "/n/${id}", jsonPointer: /event, equals: "END ${kind}"}}}, `+
			`{name: by-query, await: {listener: query, match: {jsonPath: "$..id", equals: "${kind}"}`,
	).plan(t)
	if diff := cmp.Diff([]string{
		"spec.listeners[1]: no request sends ${listener.values.url}, so targets do not know where to send notifications",
		"spec.listeners[2]: no request sends ${listener.both.url}, so targets do not know where to send notifications",
		"spec.listeners[3]: no request sends ${listener.query.url}, so targets do not know where to send notifications",
		`spec.templates[0]: template "get" is used by no chain`,
	}, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	wantListeners := []rv.Listener{
		{Name: "events", Port: 9000, Status: 200, Headers: []rv.ListenerHeader{{Name: "x-a", Value: "b"}}, Body: "ok", MaxBody: 1 << 20, Retention: 3 * time.Second},
		{Name: "values", RulesFile: "r.yaml", Pointer: "/id", Status: 204, MaxBody: 1 << 20, Retention: time.Second},
		{Name: "both", Pointer: "/event", ByPath: true, Status: 204, MaxBody: 1 << 20, Retention: time.Second},
		{Name: "query", JSONPath: "$..id", Status: 204, MaxBody: 1 << 20, Retention: time.Second},
	}
	if diff := cmp.Diff(wantListeners, plan.Listeners); diff != "" {
		t.Errorf("listeners (-want +got):\n%s", diff)
	}
	steps := plan.Chains[0].Steps
	if diff := cmp.Diff(rv.Text{{Listener: 1}, {Literal: "/n/"}, {Variable: 1}}, steps[0].Body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	wantSteps := []rv.Step{
		{
			Name: "notified", Timeout: 2 * time.Second, Await: &rv.Await{Key: rv.Text{{Literal: "/n/"}, {Variable: 1}}},
			Capture: []rv.Capture{{Source: rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/kind"}}},
		},
		{Name: "by-value", Timeout: 5 * time.Second, Await: &rv.Await{Listener: 1, Key: rv.Text{{Capture: 1}}}},
		{
			Name: "by-both", Timeout: 5 * time.Second,
			Await: &rv.Await{Listener: 2, Key: rv.Text{{Literal: "/n/"}, {Variable: 1}, {Literal: " "}, {Literal: "END "}, {Capture: 1}}},
		},
		{Name: "by-query", Timeout: 5 * time.Second, Await: &rv.Await{Listener: 3, Key: rv.Text{{Capture: 1}}}},
	}
	if diff := cmp.Diff(wantSteps, steps[1:]); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	// 1 s of load, twice the drain of 5.1 s, a minute, all timeouts and the longest keep.
	if want := time.Second + 2*5100*time.Millisecond + time.Minute + 17*time.Second + 3*time.Second; plan.Deadline != want || plan.Drain != 5100*time.Millisecond {
		t.Errorf("deadline %v, drain %v; want %v, 5.1s", plan.Deadline, plan.Drain, want)
	}
}

func TestMistakesInListeners(t *testing.T) {
	const at, events, match = "spec.chains[0].steps[1]", "{name: events}", `match: {path: "/n/${id}"}`
	checkMistakes(t, []mistake{
		{"a threshold without listeners", judged(parts{}, "{name: a, metric: NotificationErrorRate, max: 1%}"), []string{
			"spec.thresholds[0].metric: NotificationErrorRate needs a listener in spec.listeners, and a step with await",
		}},
		{"no listener", awaiting("", "listener: events, "+match), []string{
			`spec.chains[0].steps[0].request.body: there is no listener "events"; spec.listeners has none`,
			at + `.await.listener: there is no listener "events"; spec.listeners has none`,
		}},
		{"another name", awaiting(events, "listener: event, "+match), []string{at + `.await.listener: there is no listener "event"; did you mean events?`}},
		{"names without an authority", awaiting("{name: events, tls: {clientNames: [a]}}", "listener: events, "+match), []string{"spec.listeners[0].tls.clientNames: clientNames need clientCAFrom"}},
		{"a path without a slash", awaiting(events, "listener: events, match: {path: notify}"), []string{at + ".await.match.path: must begin with /, without query and fragment"}},
		{"a URL as the path", awaiting(events, "listener: events, match: {path: '${listener.events.url}/n/${id}'}"), []string{at + ".await.match.path: must begin with /; remove ${listener.events.url}, because the path of a notification does not have it"}},
		{"a path to a listener", parts{listeners: events, steps: "{name: a, request: {path: '${listener.events.url}/n'}}"}, []string{"spec.chains[0].steps[0].request.path: must begin with / or with a capture"}},
		{"listeners of a placeholder", parts{listeners: events, steps: "{name: a, request: {body: '${listeners.events.url}'}}"}, []string{"spec.chains[0].steps[0].request.body: a placeholder of a listener is ${listener.NAME.url}, ${listener.NAME.host} or ${listener.NAME.port}"}},
		{"the name of a listener only", parts{listeners: events, steps: "{name: a, request: {body: '${events.url}'}}"}, []string{"spec.chains[0].steps[0].request.body: variable \"events\" is not defined; the URL of the listener is ${listener.events.url}"}},
		{"a threshold on another listener", judged(awaiting(events, "listener: events, "+match), "{name: a, metric: NotificationsLate, max: 0, listener: event}"), []string{
			`spec.thresholds[0].listener: there is no listener "event"; did you mean events?`,
		}},
		{"a query", awaiting(events, "listener: events, match: {path: '/n?a=${id}'}"), []string{at + ".await.match.path: must begin with /, without query and fragment"}},
		{"a pointer", awaiting(events, "listener: events, match: {jsonPointer: id, equals: a}"), []string{at + ".await.match.jsonPointer: must be empty or begin with / (RFC 6901)"}},
		{"a query", awaiting(events, "listener: events, match: {jsonPath: '$.a[', equals: a}"), []string{at + ".await.match.jsonPath: is not a JSONPath query: position 5: a selector is missing: a name in quotes, an index, a slice, * or ? (RFC 9535)"}},
		{"a query of a request", awaiting(events, "listener: events, "+match+", expect: {checks: [{name: a, request: {jsonPath: id}, exists: true}]}"), []string{at + ".await.expect.checks[0].request.jsonPath: is not a JSONPath query: position 1: a path begins with $ (RFC 9535)"}},
		{"pointer and query", awaiting(events, "listener: events, match: {jsonPath: $.a, jsonPointer: /a, equals: a}"), []string{at + ".await.match: at most one of jsonPointer and jsonPath is possible"}},
		{"pointer and query, and no value", awaiting(events, "listener: events, match: {path: '/n/${id}', jsonPath: $.a, jsonPointer: /a}"), []string{at + ".await.match: at most one of jsonPointer and jsonPath is possible"}},
		{"another query", awaiting(events, "listener: events, match: {jsonPath: $.a, equals: '${id}'}}}, {name: b, await: {listener: events, match: {jsonPath: $.b, equals: '${id}'}"), []string{
			`spec.chains[0].steps[2].await.match: an earlier step matches notifications of listener "events" by jsonPath $.a; use another listener`,
		}},
		{"a value of each request", awaiting(events, "listener: events, match: {path: '/n/${traceparent(1)}'}"), []string{at + `.await.match.path: ${traceparent(1)} has a new value for each request, and none before the request`}},
		{"an undefined variable", awaiting(events, "listener: events, match: {path: '/n/${x}'}"), []string{at + `.await.match.path: variable "x" is not defined`}},
		{"other matches", awaiting(events, "listener: events, "+match+"}}, {name: b, await: {listener: events, match: {jsonPointer: /id, equals: '${id}'}"), []string{
			`spec.chains[0].steps[2].await.match: an earlier step matches notifications of listener "events" by path; use another listener`,
		}},
		{"nothing to match", awaiting(events, "listener: events, match: {}"), []string{at + ".await.match: path, jsonPointer or jsonPath is needed"}},
		{"path alone after path and value", awaiting(events, "listener: events, match: {path: '/n/${id}', jsonPointer: /event, equals: END}}}, {name: b, await: {listener: events, "+match), []string{
			`spec.chains[0].steps[2].await.match: an earlier step matches notifications of listener "events" by path and jsonPointer /event; use another listener`,
		}},
		{"the same port", awaiting("{name: events, port: 9000}, {name: b, port: 9000}", "listener: events, "+match), []string{
			`spec.listeners[1].port: listener "events" has the ports 9000 to 9000, one for each worker`,
		}},
		{"a body with 204", awaiting("{name: events, response: {body: x}}", "listener: events, "+match), []string{
			"spec.listeners[0].response.body: must be empty with the status 204 (RFC 9110 15)",
		}},
		{"content-length", awaiting("{name: events, response: {headers: [{name: Content-Length, value: '1'}]}}", "listener: events, "+match), []string{
			"spec.listeners[0].response.headers[0].name: is set from the body",
		}},
		{"a placeholder without url", parts{listeners: events, steps: "{name: a, request: {path: '/${listener.events}'}}"}, []string{
			"spec.chains[0].steps[0].request.path: a placeholder of a listener is ${listener.NAME.url}, ${listener.NAME.host} or ${listener.NAME.port}",
		}},
		{"a variable of that name", parts{variables: "{name: listener, counter: {}}", listeners: events, steps: "{name: a, request: {path: '/${listener.events.url}'}}"}, []string{
			`spec.variables[0].name: "listener" is the beginning of placeholders for listeners; use another name`,
		}},
		{"in the url of a target", parts{targets: "{name: target, url: 'http://${listener.events.url}', connections: 2}", listeners: events}, []string{
			"spec.targets[0].url: the URL of a listener is different for each worker, and a url is the same for the whole run",
		}},
		{"at the beginning", parts{variables: "{name: id, counter: {}}", listeners: events, steps: "{name: a, await: {listener: events, " + match + "}}"}, []string{
			`spec.chains[0].steps[0].await: no request is before it in chain "gets" that causes a notification`,
		}},
	})
}

// TestPortsOfTheRunner: a listener cannot have a port where the runner pod listens, or a range of workers with one.
func TestPortsOfTheRunner(t *testing.T) {
	for _, tt := range []struct {
		port, cpus int32
		want       []string
	}{
		{8443, 0, []string{"spec.listeners[0].port: the runner itself needs port 8443; the listener has the ports 8443 to 8443, one for each worker"}},
		{9090, 1, []string{"spec.listeners[0].port: the runner itself needs port 9090; the listener has the ports 9090 to 9090, one for each worker"}},
		{8441, 4, []string{"spec.listeners[0].port: the runner itself needs port 8443; the listener has the ports 8441 to 8444, one for each worker"}},
		{8440, 0, nil},
		{8439, 4, nil},
		{8444, 4, nil},
	} {
		spec := v1alpha1.LoadTestSpec{Listeners: []v1alpha1.Listener{{Name: "events", Port: &tt.port}, {Name: "any"}}}
		if tt.cpus > 0 {
			spec.Runner.CPUsPerShard = &tt.cpus
		}
		if diff := cmp.Diff(tt.want, compile.ErrorLines(compile.InCluster(&spec)), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("port %d, %d CPUs (-want +got):\n%s", tt.port, tt.cpus, diff)
		}
	}
}

func TestListenerTLS(t *testing.T) {
	const step = `listener: events, match: {path: "/n/${id}"}`
	for name, tt := range map[string]struct {
		in   string
		want rv.ListenerTLS
	}{
		"a certificate that the runner makes": {"{}", rv.ListenerTLS{MinVersion: "1.2"}},
		"files": {
			`{certificate: {files: {certificate: a.crt, key: a.key}}, clientCAFrom: {file: ca.crt}, clientNames: [smf.test], minVersion: "1.3"}`,
			rv.ListenerTLS{ClientNames: []string{"smf.test"}, CertFile: "a.crt", KeyFile: "a.key", ClientCAFile: "ca.crt", MinVersion: "1.3"},
		},
		"objects": {
			"{certificate: {secretRef: {name: own}}, clientCAFrom: {configMapKeyRef: {name: trust, key: ca.crt}}}",
			rv.ListenerTLS{
				CertFile: "/etc/h2surge/files/secrets/own/tls.crt", KeyFile: "/etc/h2surge/files/secrets/own/tls.key",
				ClientCAFile: "/etc/h2surge/files/configmaps/trust/ca.crt", MinVersion: "1.2",
			},
		},
	} {
		plan, _ := awaiting("{name: events, tls: "+tt.in+"}", step).plan(t)
		if diff := cmp.Diff(&tt.want, plan.Listeners[0].TLS); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestListenerToken(t *testing.T) {
	plan, _ := awaiting(
		"{name: events, interface: n2, token: {algorithm: ES256, keysFrom: {secretKeyRef: {name: nrf, key: jwks}}, audience: AMF, issuer: nrf, scope: namf-evts}}",
		`listener: events, match: {path: "/n/${id}"}`,
	).plan(t)
	want := rv.Listener{
		Name: "events", Status: 204, MaxBody: 1 << 20, Retention: time.Second, Interface: "n2",
		Token: &rv.TokenCheck{Algorithm: rv.TokenES256, KeysFile: "/etc/h2surge/files/secrets/nrf/jwks", Audience: "AMF", Issuer: "nrf", Scope: "namf-evts"},
	}
	if diff := cmp.Diff(want, plan.Listeners[0]); diff != "" {
		t.Errorf("listener (-want +got):\n%s", diff)
	}
}

// TestNobodyIsTold: a warning says that no request names a listener that steps await notifications of, unless its address
// can be known otherwise.
func TestNobodyIsTold(t *testing.T) {
	const notTold = `spec.listeners[0]: no request sends ${listener.events.url}, so targets do not know where to send notifications`
	for _, tt := range []struct {
		name, listener, request, targets string
		want                             bool
	}{
		{"no request", "", "path: /", "", true},
		{"the URL of another listener", "", `body: "${listener.other.url}"`, "", true},
		{"a request", "", `body: "${listener.events.url}"`, "", false},
		{"a request with host and port", "", `body: "${listener.events.host} ${listener.events.port}"`, "", false},
		{"a header of all requests", "", "path: /", `{name: target, url: http://a.example, connections: 2, sbi: {correlationInfo: "${listener.events.url}"}}`, false},
		{"a constant port", ", port: 9000", "path: /", "", false},
		{"a file", "", "method: POST, bodyFrom: {file: /a}", "", false},
	} {
		_, warnings := parts{
			targets: tt.targets, variables: "{name: id, counter: {}}", listeners: "{name: events" + tt.listener + "}, {name: other}",
			steps: `{name: a, request: {` + tt.request + `}}, {name: b, await: {listener: events, match: {path: "/${id}"}}}, {name: c, await: {listener: other, match: {path: "/${id}"}}}`,
		}.plan(t)
		if got := slices.Contains(warnings, notTold); got != tt.want {
			t.Errorf("%s: %v, want the warning: %v", tt.name, warnings, tt.want)
		}
	}
}

// TestListenerAddress: a text can have host and port of a listener apart, for a profile of a network function.
func TestListenerAddress(t *testing.T) {
	p := awaiting("{name: events}", `listener: events, match: {path: "/n/${id}"}`)
	p.steps = strings.Replace(p.steps, "${listener.events.url}/n/${id}", "${listener.events.host} ${listener.events.port} ${lower(listener.events.url)}", 1)
	plan, _ := p.plan(t)
	want := rv.Text{
		{Listener: 1, Column: rv.ListenerHost},
		{Literal: " "},
		{Listener: 1, Column: rv.ListenerPort},
		{Literal: " "},
		{Listener: 1, Functions: []rv.Function{{Name: rv.FunctionLower}}},
	}
	if diff := cmp.Diff(want, plan.Chains[0].Steps[0].Body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}
