package maock

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/h2surge/h2surge/internal/convert/converttest"
	"github.com/h2surge/h2surge/internal/mock/rules"
	"github.com/h2surge/h2surge/test/golden"
)

// in converts with the files of a directory.
func in(dir string) converttest.Conversion {
	return func(config string) ([]byte, []string, error) { return Convert([]byte(config), dir) }
}

// example is a configuration of testdata.
func example(tb testing.TB, name string) string { return converttest.Input(tb, name+".json") }

func TestGoldens(t *testing.T) {
	for _, name := range []string{"services", "losses"} {
		text, warnings := in("testdata").Convert(t, example(t, name))
		golden.Compare(t, name+".yaml", text)
		golden.Compare(t, name+".warnings", converttest.Lines(warnings))
	}
}

// TestBehaviour: the rules answer as maock does.
func TestBehaviour(t *testing.T) {
	text, _ := in("testdata").Convert(t, example(t, "services"))
	set, err := rules.Load([]byte(text), "testdata")
	if err != nil {
		t.Fatal(err)
	}
	e, err := rules.NewEngine(set, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/nudm-ee/v1/imsi-1/ee-subscriptions", `{"callbackReference":"http://a","monitoringConfigurations":{}}`, "subscribe"},
		{"POST", "/nudm-ee/v1/imsi-1/ee-subscriptions", `{"callbackReference":"ftp://a","monitoringConfigurations":{}}`, "UNMATCHED"},
		{"PATCH", "/nudm-ee/v1/imsi-1/ee-subscriptions/1", "", "update"},
		{"PATCH", "/nudm-ee/v1/group-1/ee-subscriptions/1", "", "update-group"},
		{"DELETE", "/nudm-ee/v1/imsi-1/ee-subscriptions/1", "", "UNMATCHED"},
	} {
		call := &rules.Call{}
		call.Begin([]byte(c.method), []byte(c.path))
		call.AddField([]byte("content-type"), []byte("application/json"))
		call.AddBody([]byte(c.body))
		e.Answer(call, time.Unix(0, 0))
		if got := set.Names()[call.Rule]; got != c.want {
			t.Errorf("%s %s %s: %s, want %s", c.method, c.path, c.body, got, c.want)
		}
	}
}

func TestFilesBecomePartOfTheResult(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"body.json": `{"a":1}`, "x.lua": "function customize_response(a, b, c, d) return c, d end"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const config = `{"address":"h","port":1,"threads":1,"Service":[{"Request":{"name":"a","headers":[{"header-name":":path","matchType":"EqualsTo","input":"/"}]},
		"Responses":[{"name":"b","weight":1,"payload":{"msg-payload":"body.json"},"luaScript":"x.lua"}]}]}`
	text, warnings := in(dir).Convert(t, config)
	if len(warnings) > 0 || !strings.Contains(text, `{"a":1}`) || !strings.Contains(text, "function customize_response") {
		t.Errorf("%s\n%q", text, warnings)
	}
}

// TestMistakes: all of them are told, each with its path.
func TestMistakes(t *testing.T) {
	const config = `{"port":"80","Service":[
		{"Request":{"name":"a","headers":[{"header-name":"h","matchType":"Like","input":"x"}]},"Responses":[]},
		{"Request":{"name":"b","headers":[{"header-name":"h","matchType":"EqualsTo","input":"x"}]},"Responses":[
			{"weight":1,"throttle-ratio":200,"payload":{"msg-payload":"V","placeholder":"V"},"additonalHeaders":[{"header":"x"},{"header":"aV: b","placeholder":"V"}]},
			{"weight":1,"payload":{"msg-payload":"VV","placeholder":"V","arguments":[{"type-of-value":"Header"},{"type-of-value":"X"}]}}]},
		5]}`
	const want = `maock: port: must be a whole number
Service[2]: must be an object
Service[0].Request.headers[0].matchType: "Like"; allowed: EqualsTo, StartsWith, EndsWith, Contains, RegexMatch
Service[0].Responses: at least one is required
Service[1].Responses[0].throttle-ratio: is not between 0 and 100
Service[1].Responses[0].additonalHeaders[0].header: "x" is not NAME:VALUE
Service[1].Responses[0].additonalHeaders[1].header: a placeholder in the name of a header has no counterpart
Service[1].Responses[0].payload.arguments: there are 0 for 1 placeholders
Service[1].Responses[1].payload.arguments[0].value-identifier: "" is not the name of a header
Service[1].Responses[1].payload.arguments[1].type-of-value: "X"; allowed: JsonPointer, Header, RandomHex, TimeStamp, Pseudo-UUID, RawPayload
Service[2].Responses: at least one is required`
	in(".").Mistake(t, config, want)
	for _, text := range []string{"", "{", "[]", "null", `{"Service":[]}`} {
		if _, _, err := in(".")(text); err == nil {
			t.Errorf("%q was converted", text)
		}
	}
}

// FuzzConvert: whatever a configuration holds, Convert ends, and what it makes can be loaded (it
// checks that itself).
func FuzzConvert(f *testing.F) {
	in("/nonexistent").Fuzz(f, example(f, "services"), example(f, "losses"))
}
