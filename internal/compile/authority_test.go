package compile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// discovered is a chain whose second request goes to what the first one has captured.
func discovered(target, path string) parts {
	return parts{
		targets: "{name: target, connections: 2, " + target + "}",
		steps: `{name: discover, request: {path: /disc, capture: [{name: host, jsonPointer: /host}, {name: port, jsonPointer: /port}]}},
			{name: use, request: {path: "` + path + `"}}`,
	}
}

func TestAuthorities(t *testing.T) {
	host, port := rv.Part{Capture: 1}, rv.Part{Capture: 2}
	for path, want := range map[string]struct{ authority, path rv.Text }{
		"http://${host}:${port}/a/${host}?x=/": {rv.Text{host, {Literal: ":"}, port}, rv.Text{{Literal: "/a/"}, host, {Literal: "?x=/"}}},
		"http://[${host}]:80/":                 {rv.Text{{Literal: "["}, host, {Literal: "]:80"}}, rv.Text{{Literal: "/"}}},
		"http://udm.${host}":                   {rv.Text{{Literal: "udm."}, host}, rv.Text{{Literal: "/"}}},
		"http://udm.example:81/a":              {rv.Text{{Literal: "udm.example:81"}}, rv.Text{{Literal: "/a"}}},
		"/http://${host}/":                     {nil, rv.Text{{Literal: "/http://"}, host, {Literal: "/"}}},
	} {
		plan, _ := discovered("url: http://nrf.example/base, followAuthority: WithoutCredentials", path).plan(t)
		s := &plan.Chains[0].Steps[1]
		if err := loads(plan); err != nil {
			t.Errorf("runners reject the plan of %s: %v", path, err)
		}
		if diff := cmp.Diff(want.authority, s.Authority); diff != "" {
			t.Errorf("authority of %s (-want +got):\n%s", path, diff)
		}
		if diff := cmp.Diff(want.path, s.Path); diff != "" {
			t.Errorf("path of %s (-want +got):\n%s", path, diff)
		}
	}
	const at = "spec.chains[0].steps[1].request.path: "
	for name, tt := range map[string]struct{ target, path, want string }{
		"not followed":  {"url: http://nrf.example", "http://${host}/", at + `is an absolute URI, which needs followAuthority: WithoutCredentials or WithCredentials of target "target"`},
		"other scheme":  {"url: http://nrf.example, followAuthority: WithoutCredentials", "https://${host}/", at + `has the scheme https, but the url of target "target" has http`},
		"no host":       {"url: http://nrf.example, followAuthority: WithoutCredentials", "http:///a", at + "has no host after the scheme"},
		"other scheme2": {"url: http://nrf.example, followAuthority: WithoutCredentials", "ftp://${host}/", at + "must begin with / or with a capture"},
	} {
		if diff := cmp.Diff([]string{tt.want}, mistakesOf(t, discovered(tt.target, tt.path))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
