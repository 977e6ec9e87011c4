package h2loadrunner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/internal/convert"
	"github.com/h2surge/h2surge/internal/convert/converttest"
)

// one is a configuration with one request and one more field of it.
func one(field string) string {
	return fmt.Sprintf(`{"schema":"http","host":"a","port":1,"duration":1,"Scenarios":[{"name":"s","Requests":[{"method":"GET","uri":{"typeOfAction":"input","input":"/"}%s}]}]}`, field)
}

func TestMistakes(t *testing.T) {
	with(convert.Options{}).Mistakes(t, []converttest.Mistake{
		{"", "the configuration is not JSON: unexpected end of JSON input"},
		{"[]", "the configuration: must be an object\nhost: is needed\nScenarios: at least one is required"},
		{`{"schema":"ftp","host":1,"clients":-1,"port":65536.5,"Scenarios":{}}`,
			"schema: must be http or https\nhost: must be a string\nhost: is needed\nport: must be a whole number up to 2^53\nclients: must not be negative\nScenarios: must be an array\nScenarios: at least one is required"},
		{one(`,"payload":"${who}"`), `Scenarios[0].Requests[0].payload: variable "who" is not defined, or not yet picked up, in scenario "s"`},
		{one(`,"additonalHeaders":["none"]`), "Scenarios[0].Requests[0].additonalHeaders[0]: must be of the form name:value"},
		{one(`,"additonalHeaders":["a b:c"]`), "Scenarios[0].Requests[0]: cannot be converted: spec.chains[0].steps[0].request.headers[0].name: must be a token: letters, digits and !#$%&'*+-.^_`|~ (RFC 9110 5.6.2)"},
		{one(`,"luaScript":"none.lua"`), "Scenarios[0].Requests[0].luaScript: files cannot be read here"},
		{one(`,"response-match":{"headers":[{"header-name":"a","matchType":"Is","input":"b"}]}`), `Scenarios[0].Requests[0].response-match.headers[0].matchType: "Is" is not known; EqualsTo, StartsWith, EndsWith, Contains and RegexMatch are`},
		{one(`,"value-pickers":[{"where-to-pickup-from":"Nowhere","source":"a","save-to-variable":"b"}]`), `Scenarios[0].Requests[0].value-pickers[0].where-to-pickup-from: "Nowhere" is not known`},
		{strings.Replace(one(""), `"input","input":"/"`, `"sameWithLastOne"`, 1), "Scenarios[0].Requests[0].uri: there is no request before it"},
		{strings.Replace(one(""), `"input":"/"`, `"input":"http://${h}/"`, 1), "Scenarios[0].Requests[0].uri.input: a variable in the authority is not possible: targets are the same for the whole test"},
		{strings.Replace(one(""), `"name":"s"`, `"name":"s","user-variables-input-file":"x.csv"`, 1), "Scenarios[0].user-variables-input-file: files cannot be read here"},
		{strings.Replace(one(""), `"name":"s"`, `"name":"s","weight":0`, 1), "Scenarios: none of them is ever run"},
		{strings.Replace(one(""), `"duration":1`, `"request-per-second":1e9`, 1), "request-per-second: 1e+09 for each of 1 connections is a rate that no stage can have"},
		{strings.Replace(one(""), `"duration":1`, `"clients":0,"duration":1`, 1), "clients: cannot be converted: spec.targets[0].connections: must be between 1 and 1000000"},
	})
}

// Each documented field is read: none is told to be unknown.
func TestFieldsAreKnown(t *testing.T) {
	for _, name := range []string{"sessions", "everything"} {
		_, warnings := with(convert.Options{Read: converttest.Below(name)}).Convert(t, example(t, name))
		for _, w := range warnings {
			if strings.Contains(w, "is no field of h2loadrunner") && !strings.HasPrefix(w, "verbose: ") {
				t.Error(w)
			}
		}
	}
}

// fields are those that h2loadrunner documents or reads.
var fields = map[string]string{
	"": `schema host port load-share-hosts open-new-connection-based-on-authority-header connection-retry switch-back-after-connection-retry
		threads clients duration total-requests warm-up-time max-concurrent-streams request-per-second request-per-second-feed-file rate
		rate-period stream-timeout ciphers caCert cert privateKey certVerificationMode max-tls-version no-tls-proto
		connection-active-timeout connection-inactivity-timeout connection-inactive-timeout interval-between-ping-frames npn-list
		header-table-size encoder-header-table-size log-file failed-request-log-file statistics-interval statistics-file
		builtin-server-listening-port window-bits connection-window-bits socket-receive-buffer-size socket-send-buffer-size Scenarios`,
	"Scenarios[0].": `name weight interval-to-wait-before-start user-id-variable-in-path-and-data user-id-range-start user-id-range-end
		user-id-list-file user-id-range-slicing run-requests-in-parallel range-based-variables two-dimensional-variables
		user-variables-input-file Requests`,
	"Scenarios[0].Requests[0].": `uri method payload additonalHeaders clear-old-cookies luaScript expected-status-code response-match
		value-pickers delay-before-executing-next`,
}

// Each of them is read, and in docs/reference/convert.md.
func TestEveryField(t *testing.T) {
	docs := converttest.Docs(t)
	for path, names := range fields {
		for name := range strings.FieldsSeq(names) {
			if short := strings.TrimPrefix(name, "user-id-range"); name != "Scenarios" && name != "Requests" &&
				!strings.Contains(docs, "`"+name+"`") && !strings.Contains(docs, "`"+short+"`") {
				t.Errorf("%s is not in docs/reference/convert.md", name)
			}
			field := fmt.Sprintf("%q:null", name)
			config := map[string]string{"": "{" + field + "}", "Scenarios[0].": `{"Scenarios":[{` + field + `}]}`, "Scenarios[0].Requests[0].": `{"Scenarios":[{"Requests":[{` + field + `}]}]}`}[path]
			_, warnings, _ := Convert([]byte(config), convert.Options{})
			for _, w := range warnings {
				if strings.HasPrefix(w, path+name+": is no field") {
					t.Error(w)
				}
			}
		}
	}
}

func FuzzConvert(f *testing.F) {
	with(convert.Options{Read: converttest.Below("everything")}).Fuzz(f,
		example(f, "sessions"),
		example(f, "everything"),
		one(`,"payload":"a\u0000\n b","delay-before-executing-next":9e15`),
		one(`,"value-pickers":[{"where-to-pickup-from":"Request-Header","source":":method","regexp":"(","save-to-variable":"1 2"}]`),
	)
}
