package compile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// sbiTarget is a target with the fields of sbi that are given.
func sbiTarget(sbi string) string {
	return "{name: target, url: http://scp.example, connections: 2, sbi: {" + sbi + "}}, {name: plain, url: http://plain.example, connections: 2}"
}

// headersOf lists the header fields of a step: the name, whether it can be omitted, and the value with its references.
func headersOf(p *rv.Plan, s *rv.Step) (out []string) {
	for _, h := range s.Headers {
		var value strings.Builder
		for _, part := range h.Value {
			switch {
			case part.Variable > 0:
				value.WriteString("${" + p.Variables[part.Variable-1].Name + "}")
			case part.Capture > 0:
				fmt.Fprintf(&value, "${%s(capture %d)}", part.Functions[0].Name, part.Capture)
			}
			value.WriteString(part.Literal)
		}
		out = append(out, fmt.Sprintf("%s %v %s", h.Name[0].Literal, h.OmitEmpty, value.String()))
	}
	return out
}

func TestSBI(t *testing.T) {
	const (
		timestamp = "3gpp-sbi-sender-timestamp true ${3gpp-sbi-sender-timestamp}"
		routing   = "3gpp-sbi-routing-binding true ${routingBinding(capture 2)}"
	)
	for _, tt := range []struct {
		name, sbi string
		want      []string // of the first step
		binding   bool
	}{
		{"defaults", "", []string{"accept false */*", "3gpp-sbi-max-rsp-time true 1500", timestamp, routing}, true},
		{"nothing", "maxRspTime: Omit, senderTimestamp: Omit, binding: Ignore", []string{"accept false */*"}, false},
		{
			"everything",
			`messagePriority: 0, correlationInfo: "imsi-${ue}", targetAPIRoot: "http://udm.example:8080", callback: Nudm_UECM_DeregistrationNotification,
			discovery: [{name: target-nf-type, value: UDM}, {name: supi, value: "imsi-${ue}"}], binding: Ignore`,
			[]string{
				"accept false */*", "3gpp-sbi-message-priority true 0", "3gpp-sbi-max-rsp-time true 1500", timestamp, "3gpp-sbi-correlation-info true imsi-${ue}",
				"3gpp-sbi-target-apiroot true http://udm.example:8080", "3gpp-sbi-callback true Nudm_UECM_DeregistrationNotification",
				"3gpp-sbi-discovery-target-nf-type true UDM", "3gpp-sbi-discovery-supi true imsi-${ue}",
			}, false,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan, _ := parts{
				targets: sbiTarget(tt.sbi), variables: `{name: ue, range: {start: 0, end: 10, width: 10}}`,
				steps: `{name: first, request: {path: "/${ue}", timeout: 1500ms, headers: [{name: accept, value: "*/*"}], capture: [{name: own, header: x}]}},
				{name: own, request: {path: "/${own}", headers: [{name: 3GPP-Sbi-Max-Rsp-Time, value: "7"}]}}, {name: elsewhere, target: plain, request: {path: /}}`,
			}.plan(t)
			steps := plan.Chains[0].Steps
			if diff := cmp.Diff(tt.want, headersOf(plan, &steps[0])); diff != "" {
				t.Errorf("first step (-want +got):\n%s", diff)
			}
			if got := headersOf(plan, &steps[1]); got[0] != "3gpp-sbi-max-rsp-time false 7" || strings.Count(strings.Join(got, "\n"), "max-rsp-time") != 1 {
				t.Errorf("a step with a header of its own: %v", got)
			}
			if got := steps[2].Headers; got != nil {
				t.Errorf("a step of another target: %v", got)
			}
			captures := len(plan.Chains[0].Captures)
			kept := rv.Capture{Slot: 1, Source: rv.Source{Kind: rv.SourceHeader, Name: "3gpp-sbi-binding", Joined: true}, Keep: true}
			if tt.binding && (captures != 2 || !cmp.Equal(steps[0].Capture[0], kept) || len(steps[2].Capture) != 0) || !tt.binding && captures != 1 {
				t.Errorf("captures %v, of the first step %+v", plan.Chains[0].Captures, steps[0].Capture)
			}
			if !plan.Targets[0].CountLoadControl || plan.Targets[1].CountLoadControl {
				t.Errorf("load control is counted for targets %v and %v", plan.Targets[0].CountLoadControl, plan.Targets[1].CountLoadControl)
			}
			if err := loads(plan); err != nil {
				t.Errorf("runners reject the plan: %v", err)
			}
		})
	}
}

// TestForwarded: redirects of a request that only an SCP or SEPP understands change 3gpp-Sbi-Target-apiRoot.
func TestForwarded(t *testing.T) {
	for _, tt := range []struct {
		name, sbi, request string
		want               string
	}{
		{"an apiRoot", `targetAPIRoot: "http://udm.example"`, "maxRedirects: 1", "3gpp-sbi-target-apiroot"},
		{"a discovery", "discovery: [{name: target-nf-type, value: UDM}]", "maxRedirects: 1", "3gpp-sbi-target-apiroot"},
		{"a header of the request", "", `maxRedirects: 1, headers: [{name: 3gpp-Sbi-Target-apiRoot, value: "http://udm.example"}]`, "3gpp-sbi-target-apiroot"},
		{"neither", "correlationInfo: a", "maxRedirects: 1, headers: [{name: x, value: v}]", ""},
		{"no redirects", `targetAPIRoot: "http://udm.example"`, "timeout: 1s", ""},
	} {
		plan, _ := parts{targets: sbiTarget(tt.sbi), steps: "{name: a, request: {path: /, " + tt.request + "}}"}.plan(t)
		if got := plan.Chains[0].Steps[0].RedirectField; got != tt.want {
			t.Errorf("%s: redirects change %q, want %q", tt.name, got, tt.want)
		}
		if err := loads(plan); err != nil {
			t.Errorf("%s: runners reject the plan: %v", tt.name, err)
		}
	}
}

func TestSBIMistakes(t *testing.T) {
	const at = "spec.targets[0].sbi"
	for _, tt := range []struct {
		name, sbi string
		want      string
	}{
		{"a variable that does not exist", `correlationInfo: "${missing}"`, at + `.correlationInfo: variable "missing" is not defined`},
		{"a line end", `targetAPIRoot: "http://a\nb"`, at + ".targetAPIRoot: has a character that is not possible in a header (no CR, LF, NUL or other control character)"},
		{"a priority", "messagePriority: 32", at + ".messagePriority: must be between 0 and 31"},
		{"a name", "discovery: [{name: Target, value: UDM}]", at + `.discovery[0].name: must be lower-case letters, digits and -, beginning and ending with a letter or digit`},
		{"the whole name of a header", "discovery: [{name: 3gpp-sbi-discovery-target-nf-type, value: UDM}]", at + `.discovery[0].name: must be without 3gpp-Sbi-Discovery-, such as target-nf-type`},
		{"an apiRoot without a scheme", "targetAPIRoot: udm.example", at + `.targetAPIRoot: must begin with http:// or https://`},
		{"a capture of another chain", `correlationInfo: "${later}"`, at + `.correlationInfo`},
	} {
		p := parts{targets: sbiTarget(tt.sbi), steps: `{name: first, request: {path: /, capture: [{name: later, header: x}]}}`}
		if errs := mistakesOf(t, p); len(errs) == 0 || !strings.HasPrefix(errs[0], tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, errs, tt.want)
		}
	}
	name := parts{variables: "{name: v, list: {values: [a]}}", steps: `{name: first, request: {path: /, headers: [{name: "x-${v}", value: "${v}", whenEmpty: Omit}]}}`}
	if diff := cmp.Diff([]string{"spec.chains[0].steps[0].request.headers[0].whenEmpty: Omit needs a name without placeholders"}, mistakesOf(t, name)); diff != "" {
		t.Errorf("omitted names (-want +got):\n%s", diff)
	}
}

func mistakesOf(t *testing.T, p parts) []string {
	t.Helper()
	return linesOf(t, p.manifest())
}

// TestSBIWarnings: manifests that run, but hardly do what they are meant for.
func TestSBIWarnings(t *testing.T) {
	const step = "spec.chains[0].steps[0].request.expect.status[0]: "
	for _, tt := range []struct{ name, target, request, want string }{
		{"HTTP/1.1", "url: http://a.example, protocol: http1, sbi: {}", "path: /", "spec.targets[0].sbi: the target uses HTTP/1.1, and network functions use HTTP/2 (TS 29.500 5.2.1)"},
		{"HTTP/2", "url: http://a.example, sbi: {}", "path: /", ""},
		{"a redirect that is followed", "url: http://a.example", "maxRedirects: 1, expect: {status: [307]}", step + "is never the last status, because maxRedirects follows it"},
		{"a redirect that is expected", "url: http://a.example", "expect: {status: [307]}", ""},
		{"no redirects", "url: http://a.example", "maxRedirects: 0, expect: {status: [308]}", ""},
		{"statuses with redirects", "url: http://a.example", "maxRedirects: 1, expect: {status: [3xx, 200]}", ""},
	} {
		_, warnings := parts{targets: "{name: target, connections: 2, " + tt.target + "}", steps: "{name: a, request: {" + tt.request + "}}"}.plan(t)
		warnings = slices.DeleteFunc(warnings, func(w string) bool { return strings.Contains(w, "template") })
		if got := strings.Join(warnings, "\n"); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
