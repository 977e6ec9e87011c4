package compile_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// awaiting is a manifest whose chain subscribes and awaits a notification. step replaces the body of await.
func awaiting(listeners, step string) parts {
	return parts{
		variables: "{name: id, counter: {}}", listeners: listeners,
		steps: `{name: subscribe, request: {method: POST, body: "${listener.events.url}/n/${id}"}}, {name: notified, await: {` + step + `}}`,
	}
}

func TestAwait(t *testing.T) {
	plan, warnings := awaiting(
		"{name: events, port: 9000, keep: 3s, response: {status: 200, headers: [{name: X-A, value: b}], body: ok}}, {name: values}",
		`listener: events, match: {path: "/n/${id}"}, timeout: 2s, capture: [{name: kind, jsonPointer: /kind}]}}, `+
			`{name: by-value, await: {listener: values, match: {jsonPointer: /id, equals: "${kind}"}`,
	).plan(t)
	if diff := cmp.Diff([]string{`spec.templates[0]: template "get" is used by no chain`}, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	wantListeners := []rv.Listener{
		{Name: "events", Port: 9000, Status: 200, Headers: []rv.ListenerHeader{{Name: "x-a", Value: "b"}}, Body: "ok", MaxBody: 1 << 20, Keep: 3 * time.Second},
		{Name: "values", Pointer: "/id", Status: 204, MaxBody: 1 << 20, Keep: time.Second},
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
	}
	if diff := cmp.Diff(wantSteps, steps[1:]); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	// 1 s of load, twice the drain of 5.1 s, a minute, both timeouts and the longest keep.
	if want := time.Second + 2*5100*time.Millisecond + time.Minute + 7*time.Second + 3*time.Second; plan.Deadline != want || plan.Drain != 5100*time.Millisecond {
		t.Errorf("deadline %v, drain %v; want %v, 5.1s", plan.Deadline, plan.Drain, want)
	}
}

func TestMistakesInListeners(t *testing.T) {
	const at, events, match = "spec.chains[0].steps[1]", "{name: events}", `match: {path: "/n/${id}"}`
	checkMistakes(t, []mistake{
		{"no listener", awaiting("", "listener: events, "+match), []string{
			`spec.chains[0].steps[0].request.body: there is no listener "events"; spec.listeners has none`,
			at + `.await.listener: there is no listener "events"; spec.listeners has none`,
		}},
		{"another name", awaiting(events, "listener: event, "+match), []string{at + `.await.listener: there is no listener "event"; did you mean events?`}},
		{"a path without a slash", awaiting(events, "listener: events, match: {path: notify}"), []string{at + ".await.match.path: begins with /, and has no query and no fragment"}},
		{"a query", awaiting(events, "listener: events, match: {path: '/n?a=${id}'}"), []string{at + ".await.match.path: begins with /, and has no query and no fragment"}},
		{"a pointer", awaiting(events, "listener: events, match: {jsonPointer: id, equals: a}"), []string{at + ".await.match.jsonPointer: JSON pointer \"id\" does not begin with / (RFC 6901 section 3)"}},
		{"an undefined variable", awaiting(events, "listener: events, match: {path: '/n/${x}'}"), []string{at + `.await.match.path: variable "x" is not defined`}},
		{"other matches", awaiting(events, "listener: events, "+match+"}}, {name: b, await: {listener: events, match: {jsonPointer: /id, equals: '${id}'}"), []string{
			`spec.chains[0].steps[2].await.match: an earlier step matches notifications of listener "events" by path; use another listener`,
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
			"spec.chains[0].steps[0].request.path: the URL of a listener is ${listener.NAME.url}",
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
