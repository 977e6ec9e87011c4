package chain

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/message"
)

// TestRulesOfListener: a mistake in the rules of a listener is found when the program is loaded.
func TestRulesOfListener(t *testing.T) {
	const head = "{apiVersion: h2surge.io/v1alpha1, kind: Target, rules: ["
	rule := func(s string) string { return head + s + "]}" }
	many := head
	for i := range maxRules + 1 {
		many += fmt.Sprintf("{name: r%d, responses: [{}]},", i)
	}
	proto := filepath.Join(t.TempDir(), "echo.proto")
	if err := os.WriteFile(proto, []byte(`syntax = "proto3"; message M {} service S { rpc Echo(M) returns (M); }`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"valid", rule("{name: a, responses: [{delay: {fixed: 1s}}]}"), nil},
		{"no such file", "", []string{"listeners[1].rulesFrom: file: no such file"}},
		{"two mistakes", rule("{name: a, match: {path: n}, responses: [{status: 999}]}"), []string{
			"listeners[1].rulesFrom: rules[0].match.path (line 1): \"n\" does not begin with /",
			"listeners[1].rulesFrom: rules[0].responses[0].status (line 1): 999 is not between 200 and 599",
		}},
		{"too many", many + "]}", []string{"listeners[1].rulesFrom: the file has 101 rules; allowed: at most 100"}},
		{"notifications", rule("{name: a, responses: [{}], notify: [{uri: 'http://a'}]}"), []string{
			`listeners[1].rulesFrom: rule "a" has notify; allowed in the rules of h2surge target only`,
		}},
		{"proto files", strings.Replace(rule("{name: a, responses: [{}]}"), "rules:", "protoFiles: ["+proto+"], rules:", 1), []string{
			"listeners[1].rulesFrom: the file has protoFiles; allowed in the rules of h2surge target only",
		}},
		{"a script that fails", rule(`{name: a, responses: [{script: {lua: "error('no') function customize_response() end"}}]}`), []string{
			"listeners[1].rulesFrom: rules[0].responses[0].script.lua (line 1): 1: no",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := drawPlan(nil)
			p.Listeners = []rv.Listener{{Name: "a", Status: 204, Retention: 1}, {Name: "b", Status: 204, Retention: 1, RulesFile: "/rules.yaml"}}
			g, err := Load(p, Resources{ReadFile: func(string) ([]byte, error) {
				if tt.text == "" {
					return nil, errors.New("no such file")
				}
				return []byte(tt.text), nil
			}})
			var all Errors
			if errors.As(err, &all); len(all) != len(tt.want) || (err == nil) != (tt.want == nil) {
				t.Fatalf("errors %v, want %q", err, tt.want)
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(all[i].Error(), want) {
					t.Errorf("error %q, want %q", all[i], want)
				}
			}
			if err == nil && (g.Listeners[1].Rules == nil || g.Listeners[0].Rules != nil) {
				t.Error("another listener has the rules")
			}
		})
	}
}

// TestKeys: the key of a notification is its path, a value of its content, or both.
func TestKeys(t *testing.T) {
	x := &message.Exchange{Request: &message.Message{Path: []byte("/n/1?x")}, Response: &message.Message{Body: []byte(`{"id":"7","events":[{"kind":"a"},{"kind":"b","id":8}]}`)}}
	for _, tt := range []struct {
		listener rv.Listener
		want     string
	}{
		{rv.Listener{}, "/n/1"},
		{rv.Listener{Pointer: "/id"}, "7"},
		{rv.Listener{JSONPath: "$.events[?@.kind=='b'].id"}, "8"},
		{rv.Listener{JSONPath: "$.events[?@.kind=='b'].id", ByPath: true}, "/n/1 8"},
	} {
		p := drawPlan(nil)
		tt.listener.Name, tt.listener.Status, tt.listener.Retention = "a", 204, 1
		p.Listeners = []rv.Listener{tt.listener}
		if key, ok := program(t, p).Listeners[0].AppendKey(nil, x); !ok || string(key) != tt.want {
			t.Errorf("%+v: %q, %v, want %q", tt.listener, key, ok, tt.want)
		}
	}
}
