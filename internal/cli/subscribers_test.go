package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const subscribersManifest = `apiVersion: v1
kind: Secret
metadata: {name: usim}
stringData: {k: 465B5CE8B199B49FAA5F0A2EE238A6BC, op: cdc202d5123e20f62b6d676ac72cb318, short: a0}
---
apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: t}
spec:
  targets: [{name: a, url: http://127.0.0.1:1}]
  variables: [{name: ue, subscribers: {count: 10, aka: KEYS}}]
  templates: [{name: get, method: POST, path: "/${ue.supi}", body: "${ue.k} ${ue.opc}"}]
  chains: [{name: c, target: a, steps: [{template: get}]}]
  rates: [{name: r, requestsPerSecond: 1, duration: 1s}]
`

// TestKeysOfSubscribersAreMasked: a key from a Secret is not shown.
func TestKeysOfSubscribersAreMasked(t *testing.T) {
	const key, open = `{valueFrom: {secretKeyRef: {name: usim, key: k}}}`, "{value: 000102030405060708090a0b0c0d0e0f}"
	for _, tc := range []struct{ keys, body string }{
		{"{k: " + key + ", opc: " + open + "}", "> <secret usim/k> 000102030405060708090a0b0c0d0e0f"},
		{"{k: " + open + ", opc: " + open + "}", "> 000102030405060708090a0b0c0d0e0f 000102030405060708090a0b0c0d0e0f"},
	} {
		manifest := file(t, "t.yaml", strings.Replace(subscribersManifest, "KEYS", tc.keys, 1))
		got := h2surge(t, nil, nil, "try", "--dry-run", manifest)
		lines := strings.Split(strings.TrimSpace(got.out), "\n")
		if diff := cmp.Diff(tc.body, strings.TrimSpace(lines[len(lines)-1])); diff != "" || got.code != 0 {
			t.Errorf("%s: exit code %d, %s (-want +got):\n%s", tc.keys, got.code, got.errors, diff)
		}
	}
}

func TestLintOfSubscribers(t *testing.T) {
	const usim = "secretKeyRef: {name: usim, key: "
	for name, tc := range map[string]struct {
		keys, want string
		code       int
	}{
		"sound":     {"{k: {valueFrom: {" + usim + "k}}}, op: {valueFrom: {" + usim + "op}}}}", "", 0},
		"short key": {"{k: {valueFrom: {" + usim + "short}}}, op: {valueFrom: {" + usim + "op}}}}", "spec.variables[0].subscribers.aka.k: must have 32 hexadecimal digits", 1},
		"no key":    {"{k: {valueFrom: {" + usim + "none}}}, op: {valueFrom: {" + usim + "op}}}}", "no key", 1},
		"no file":   {"{k: {valueFrom: {file: /does/not/exist}}, op: {valueFrom: {" + usim + "op}}}}", "no such file or directory; it is not checked", 0},
	} {
		got := h2surge(t, nil, nil, "lint", file(t, "t.yaml", strings.Replace(subscribersManifest, "KEYS", tc.keys, 1)))
		if got.code != tc.code || !strings.Contains(got.out, tc.want) {
			t.Errorf("%s: exit code %d, %q, want %q", name, got.code, got.out+got.errors, tc.want)
		}
	}
}
