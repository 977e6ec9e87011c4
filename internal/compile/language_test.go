package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
)

// parts are the lists of a manifest, in YAML's flow style; an empty one has what is needed at least.
type parts struct{ targets, variables, templates, listeners, steps, thresholds string }

func (p parts) manifest() string {
	or := func(s, fallback string) string {
		if s == "" {
			return fallback
		}
		return s
	}
	return fmt.Sprintf(`
apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: small}
spec:
  targets: [%s]
  variables: [%s]
  templates: [%s]
  listeners: [%s]
  chains: [{name: gets, target: target, steps: [%s]}]
  rates: [{name: steady, requestsPerSecond: 10, duration: 1s}]
  thresholds: [%s]
  runner: {shards: 2}
`, or(p.targets, "{name: target, url: http://target.example, connections: 2}"), p.variables, or(p.templates, "{name: get}"), p.listeners, or(p.steps, "{template: get}"), p.thresholds)
}

func (p parts) plan(t *testing.T) (*rv.Plan, []string) {
	t.Helper()
	m, err := compile.Load(strings.NewReader(p.manifest()))
	if err != nil {
		t.Fatal(err)
	}
	out, warnings, errs := compile.Compile(m.Name(), &m.LoadTest.Spec)
	if len(errs) > 0 {
		t.Fatal(compile.ErrorLines(errs))
	}
	return out, warnings
}

// mistake is a manifest and all that is wrong with it.
type mistake struct {
	name  string
	parts parts
	want  []string
}

func checkMistakes(t *testing.T, rows []mistake) {
	t.Helper()
	for _, tc := range rows {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, linesOf(t, tc.parts.manifest())); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// variable is one called v that the path /${placeholder} reads.
func variable(what, placeholder string) parts {
	return parts{variables: "{name: v, " + what + "}", templates: `{name: get, path: '/${` + placeholder + `}'}`}
}

const inPath = "a path (white space, control and non-ASCII characters and # must be percent-encoded)"

func TestMistakesInVariables(t *testing.T) {
	const v, path = "spec.variables[0]", "spec.templates[0].path"
	const early = `${v} has a new value for each request, and none before the request`
	checkMistakes(t, []mistake{
		{"no kind", variable("scope: Step", "v"), []string{v + ": exactly one of range, list, csv, subscribers, random, uuid, counter, timestamp, env, perShard and constant is needed"}},
		{"two kinds", variable("uuid: {}, counter: {}", "v"), []string{v + ": exactly one of range, list, csv, subscribers, random, uuid, counter, timestamp, env, perShard and constant is needed"}},
		{"scope", variable("uuid: {}, scope: chain", "v"), []string{v + ".scope: must be one of Instance, Step, Worker, Global"}},
		{"order", variable("list: {values: [a]}, order: sorted", "v"), []string{v + ".order: must be one of Sequential, Shuffled, Random"}},
		{"end", variable("list: {values: [a]}, atEnd: fail", "v"), []string{v + ".atEnd: must be Wrap or Stop"}},
		{"order of random", variable("random: {hex: {length: 2}}, order: Shuffled", "v"), []string{v + ": order and atEnd are allowed with range, list, csv and subscribers only"}},
		{"scope of a constant", variable("constant: {value: a}, scope: Global", "v"), []string{v + ": scope is not allowed with env, perShard and constant, which have one value"}},
		{"global timestamp", variable("timestamp: {}, scope: Global", "v"), []string{v + ".scope: scope Global is not allowed with timestamp: each runner has its own clock"}},

		{"format", variable("range: {end: 5, format: octal}", "v"), []string{v + ".range.format: must be Decimal or Hex"}},
		{"width of hexadecimal digits", variable("range: {end: 257, format: Hex, width: 2}", "v"), []string{v + ".range.width: is smaller than the 3 digits of the largest value"}},
		{"long width", variable("counter: {width: 20}", "v"), []string{v + ".counter.width: must be between 0 and 19"}},
		{"long step", variable("counter: {step: 1000001}", "v"), []string{v + ".counter.step: must be between 1 and 1000000"}},
		{"no max", variable("random: {integer: {min: 0}}", "v"), []string{v + ".random.integer.max: is needed"}},
		{"long hex", variable("random: {hex: {length: 1025}}", "v"), []string{v + ".random.hex.length: must be between 1 and 1024"}},
		{"no length", variable("random: {string: {}}", "v"), []string{v + ".random.string.length: is needed"}},
		{"alphabet", variable(`random: {string: {length: 1, alphabet: "a\u00e4"}}`, "urlEncode(v)"), []string{v + ".random.string.alphabet: must be printable ASCII characters"}},
		{"no choice", variable("random: {choice: []}", "v"), []string{v + ".random.choice: at least 1 is needed"}},
		{"choice without a value", variable("random: {choice: [{weight: 1}]}", "v"), []string{v + ".random.choice[0].value: is needed"}},
		{"heavy choice", variable("random: {choice: [{value: a, weight: 10001}]}", "v"), []string{v + ".random.choice[0].weight: must be between 1 and 10000"}},
		{"time", variable("timestamp: {format: unix}", "v"), []string{v + ".timestamp.format: must be one of RFC3339, RFC3339Milli, EpochSeconds, EpochMilliseconds, IMFFixdate, IMFFixdateMilli"}},
		{"offset", variable("timestamp: {offset: -8761h}", "v"), []string{v + ".timestamp.offset: must be between -8760h and 8760h"}},
		{"offset without a unit", variable(`timestamp: {offset: "-1"}`, "v"), []string{v + ".timestamp.offset: must be a duration such as 500ms or 1m30s"}},
		{"no name in the environment", variable("env: {}", "v"), []string{v + ".env.name: is needed"}},
		{"name in the environment", variable("env: {name: 1a}", "v"), []string{v + ".env.name: must be letters, digits, -, _ and dots, not beginning with a digit"}},
		{"no value for a shard", variable("perShard: {values: []}", "v"), []string{v + ".perShard.values: at least 1 is needed"}},
		{"constant of two", variable("constant: {value: a, valueFrom: {file: a}}", "v"), []string{v + ".constant: exactly one of value and valueFrom is needed"}},
		{"field that a pod does not have", variable("constant: {valueFrom: {fieldRef: {fieldPath: spec.containers}}}", "v"), []string{v + ".constant.valueFrom.fieldRef.fieldPath: must be a field of the pod, such as metadata.name, metadata.labels['KEY'], spec.nodeName or status.podIP"}},
		{"value from two", variable("constant: {valueFrom: {file: a, fieldRef: {fieldPath: metadata.name}}}", "v"), []string{v + ".constant.valueFrom: exactly one of configMapKeyRef, fieldRef, file and secretKeyRef is needed"}},
		{"no subscriber", variable("subscribers: {count: 0}", "v.supi"), []string{v + ".subscribers.count: must be between 1 and 10000000000"}},
		{"code that is a number", variable(`subscribers: {count: 1, supi: {mcc: "1"}}`, "v.supi"), []string{v + ".subscribers.supi.mcc: must have 3 digits, in quotes"}},
		{"code without quotes", variable("subscribers: {count: 1, supi: {mcc: 001, mnc: 01}}", "v.supi"), []string{v + ".subscribers.supi.mcc: must be a string; put the digits in quotes, with their zeros", v + ".subscribers.supi.mnc: must be a string; put the digits in quotes, with their zeros"}},
		{"key of digits without quotes", variable("subscribers: {count: 1, aka: {k: {value: 46500000000000000000000000000012}, opc: {value: 12345678901234567890123456789e10}}}", "v.supi"), []string{v + ".subscribers.aka.k.value: must be a string; put the hexadecimal digits in quotes", v + ".subscribers.aka.opc.value: must be a string; put the hexadecimal digits in quotes"}},
		{"long number without quotes", variable("constant: {value: 46500000000000000000000000000012}", "v"), []string{v + ".constant.value: must be a string; put the number in quotes, with all its digits"}},
		{"few digits", variable("subscribers: {count: 1001, supi: {digits: 8}}", "v.supi"), []string{v + ".subscribers.supi: has values for the numbers 0 to 999, but start and count need 0 to 1000"}},
		{"small pool", variable("subscribers: {count: 257, ipv4: {pool: 10.1.2.0/24}}", "v.supi"), []string{v + ".subscribers.ipv4: has values for the numbers 0 to 255, but start and count need 0 to 256"}},
		{"address instead of a pool", variable(`subscribers: {count: 1, ipv6Prefix: {pool: "2001:db8::1/64"}}`, "v.supi"), []string{v + ".subscribers.ipv6Prefix.pool: has bits after the prefix; write 2001:db8::/64"}},
		{"small default pool", variable("subscribers: {count: 20000000}", "v.ipv4"), []string{path + `: variable "v" has no column "ipv4": the default pool 10.0.0.0/8 is too small for the subscriber with number 19999999; set ipv4.pool`}},
		{"subscribers without keys", variable("subscribers: {count: 1}", "v.k"), []string{path + `: variable "v" has no column "k": aka is not set`}},
		{"subscribers without a column", variable("subscribers: {count: 1}", "v"), []string{path + `: variable "v" is a table; write ${v.column} with the name of a column`}},
		{"short key", variable("subscribers: {count: 1, aka: {k: {value: a0}, opc: {value: 000102030405060708090a0b0c0d0e0f}}}", "v.k"), []string{v + ".subscribers.aka.k.value: must have 32 hexadecimal digits"}},
		{"short key of resStar", parts{variables: "{name: v, constant: {value: a0}}", templates: `{name: get, path: '/${resStar(v, v, v, v)}'}`}, []string{path + `: variable "v": its value must have 32 hexadecimal digits, because resStar uses it as a key`}},
		{"unknown argument", parts{variables: "{name: v, subscribers: {count: 1}}", templates: `{name: get, path: '/${hxresStar(v.supi, w)}'}`}, []string{path + `: variable "w" is not defined`}},
		{"argument without a column", parts{variables: "{name: v, subscribers: {count: 1}}", templates: `{name: get, path: '/${resStar(v.supi, v.k, v.supi, v)}'}`}, []string{path + `: variable "v" has no column "k": aka is not set`, path + `: variable "v" is a table; write ${v.column} with the name of a column`}},
		{"value of a request before it", parts{variables: "{name: v, uuid: {}, scope: Step}", steps: `{template: get, when: [{value: "${v}", equals: "${sha256(v)}"}, {value: "${traceparent(1)}", exists: true}], repeat: {count: 2, until: [{value: "${v}", exists: true}]}}`}, []string{
			`spec.chains[0].steps[0].when[0].value: ` + early, `spec.chains[0].steps[0].when[0].equals: ` + early,
			`spec.chains[0].steps[0].when[1].value: ${traceparent(1)} has a new value for each request, and none before the request`}},
		{"OP and OPc", variable("subscribers: {count: 1, aka: {k: {value: 000102030405060708090a0b0c0d0e0f}}}", "v.k"), []string{v + ".subscribers.aka: exactly one of op and opc is needed"}},
		{"key", variable("constant: {valueFrom: {secretKeyRef: {name: s}}}", "v"), []string{v + ".constant.valueFrom.secretKeyRef.key: is needed"}},
		{"key that could be elsewhere", variable("constant: {valueFrom: {secretKeyRef: {name: s, key: ../a}}}", "v"), []string{v + ".constant.valueFrom.secretKeyRef.key: must be letters, digits, -, _ and dots, and not begin with two dots"}},

		{"table of two", variable("csv: {text: 'a', file: b}", "v.a"), []string{v + ".csv: exactly one of configMapKeyRef, secretKeyRef, file and text is needed"}},
		{"table without rows", variable(`csv: {text: "a,b\n"}`, "v.a"), []string{v + ".csv.text: has no row of values"}},
		{"table with a short row", variable(`csv: {text: "a,b\n1,2\n3\n"}`, "v.a"), []string{v + ".csv.text: line 3: has another number of fields than the first row"}},
		{"table with a quote", variable(`csv: {text: "a\nb\"c\n"}`, "v.a"), []string{v + `.csv.text: line 2: has a quote in a field without quotes; put the field in quotes and write "" for a quote in it (RFC 4180)`}},
		{"table with an open quote", variable(`csv: {text: "a\n\"c\n"}`, "v.a"), []string{v + `.csv.text: line 2: has a quote that is not closed, or something behind a closing one; write "" for a quote in quotes (RFC 4180)`}},
		{"columns of one name", variable(`csv: {text: "a,a\n1,2\n"}`, "v.a"), []string{v + ".csv.text: columns 0 and 1 have the same name in the first row"}},
		{"column without a name", variable(`csv: {text: "a,\n1,2\n"}`, "v.a"), []string{v + ".csv.text: column 1 has no name in the first row"}},
		{"columns given twice", variable(`csv: {text: "1,2\n", columns: [a, a]}`, "v.a"), []string{v + `.csv.columns[1]: "a" is the name of entry 0 too`}},
		{"column", variable(`csv: {text: "1\n", columns: [-a]}`, "v.a"), []string{v + ".csv.columns[0]: must be letters, digits, _ and -, not beginning with -"}},
		{"too few columns", variable(`csv: {text: "1,2\n", columns: [a]}`, "v.a"), []string{v + ".csv.columns: has 1 names for 2 columns"}},
		{"delimiter of two", variable(`csv: {text: "a\n1\n", delimiter: ab}`, "v.a"), []string{v + ".csv.delimiter: must be one character"}},
		{"delimiter", variable(`csv: {text: "a\n1\n", delimiter: '"'}`, "v.a"), []string{v + ".csv.delimiter: must not be a quote, a line end or NUL"}},
		{"no column", variable(`csv: {text: "a\n1\n"}`, "v"), []string{path + `: variable "v" is a table; write ${v.column} with the name of a column`}},
		{"no column of a file", variable(`csv: {file: a.csv}`, "v"), []string{path + `: variable "v" is a table; write ${v.column} with the name of a column`}},
		{"unknown column", variable(`csv: {text: "a\n1\n"}`, "v.b"), []string{path + `: variable "v" has no column "b"`}},
		{"unknown column of a file", variable(`csv: {file: a.csv, columns: [a]}`, "v.b"), []string{path + `: variable "v" has no column "b"`}},
		{"column of a range", variable("range: {end: 2}", "v.a"), []string{path + `: variable "v" has no columns; write ${v}`}},
		{"key that is a table", variable(`csv: {text: "a\n1\n"}`, "hmacSha256(v.a, v)"), []string{path + `: variable "v" is a table; write ${v.column} with the name of a column`}},
		{"key that is unknown", variable("uuid: {}", "hmacSha256(v, k)"), []string{path + `: variable "k" is not defined`}},

		{"list in a path", variable(`list: {values: ["a b"]}`, "v"), []string{path + `: variable "v": its value number 0 has a character that is not possible in ` + inPath}},
		{"list in a path, escaped for JSON", variable(`list: {values: ["a b"]}`, "jsonEscape(v)"), []string{path + `: variable "v": its value number 0 has a character that is not possible in ` + inPath}},
		{"padding in a path", variable(`list: {values: [abc]}`, "pad(v, 4, #)"), []string{path + `: variable "v": its value number 0 has a character that is not possible in ` + inPath}},
		{"cell in a path", variable(`csv: {text: "a,b\n1,2\n1,2 3\n"}`, "v.b"), []string{path + `: variable "v": its value of column "b" in row 1 has a character that is not possible in ` + inPath}},
		{"choice in a path", variable("random: {choice: [{value: a}, {value: b c}]}", "v"), []string{path + `: variable "v": its choice number 1 has a character that is not possible in ` + inPath}},
		{"alphabet in a path", variable("random: {string: {length: 1, alphabet: 'a #'}}", "v"), []string{path + `: variable "v": its alphabet has a character that is not possible in ` + inPath}},
		{"date in a path", variable("timestamp: {format: IMFFixdate}", "v"), []string{path + `: variable "v": its format has a character that is not possible in ` + inPath}},
		{"default in a path", variable("env: {name: A, default: a b}", "v"), []string{path + `: variable "v": its default has a character that is not possible in ` + inPath}},
		{"constant in a path", variable("constant: {value: a b}", "v"), []string{path + `: variable "v": its value has a character that is not possible in ` + inPath}},
	})
}

// TestValuesInPaths: what is possible, functions help, and what only runners know is theirs to check.
func TestValuesInPaths(t *testing.T) {
	for _, p := range []parts{
		variable(`list: {values: ["a b"]}`, "urlEncode(v)"),
		variable(`list: {values: ["a b"]}`, "base64url(v)"),
		variable(`list: {values: ["a b"]}`, "pad(sha256(v), 80, x)"),
		variable(`list: {values: ["abcd"]}`, "pad(v, 4, #)"),
		variable(`list: {values: ["a b"]}`, "hmacSha256(v, v)"),
		variable(`csv: {text: "a,b\n1,2\n1,2 3\n"}`, "v.a"),
		variable("timestamp: {offset: -8760h}", "v"),
		variable("env: {name: A}", "v"),
		variable("constant: {valueFrom: {file: a}}", "v"),
	} {
		p.plan(t)
	}
}

func TestWarningsOfVariables(t *testing.T) {
	for _, tc := range []struct{ variable, want string }{
		{`csv: {text: "a\n1\n"}`, `spec.variables[0]: variable "v" has 1 values for 2 shards, so every shard uses all of them`},
		{`csv: {text: "a\n1\n"}, order: Random`, ""},
		{"range: {end: 1}", `spec.variables[0]: variable "v" has 1 values for 2 shards, so every shard uses all of them`},
		{"range: {end: 1}, scope: Worker", ""},
		{"perShard: {values: [a]}", ""},
		{"csv: {file: a}", ""},
	} {
		placeholder := "v"
		if strings.HasPrefix(tc.variable, "csv") {
			placeholder = "v.a"
		}
		if _, got := variable(tc.variable, placeholder).plan(t); strings.Join(got, "\n") != tc.want {
			t.Errorf("%s: got %q, want %q", tc.variable, got, tc.want)
		}
	}
}

// TestValuesAreNotQuoted: an error says where it is, not what stands there.
func TestValuesAreNotQuoted(t *testing.T) {
	for _, p := range []parts{
		variable(`constant: {value: "hunter2 "}`, "v"),
		variable(`list: {values: ["hunter2 "]}`, "v"),
		variable(`perShard: {values: ["hunter2 "]}`, "v"),
		variable(`env: {name: A, default: "hunter2 "}`, "v"),
		variable(`random: {choice: [{value: "hunter2 "}]}`, "v"),
		variable(`random: {string: {length: 1, alphabet: "hunter2 "}}`, "v"),
		variable(`csv: {text: "a\nhunter2 \n"}`, "v.a"),
		variable(`csv: {text: "a\nhunter2\"\n"}`, "v.a"),
		variable(`csv: {text: "a\n\"hunter2\n"}`, "v.a"),
		variable(`csv: {text: "a\nhunter2,hunter2\n"}`, "v.a"),
		variable(`csv: {text: "hunter2,hunter2\na,b\n"}`, "v.hunter2"),
		variable("csv: {text: a, delimiter: hunter2}", "v.a"),
		template("bodyBase64: hunter2,"),
		template("body: '${hunter2 + 1}'"),
		template("headers: [{name: 'hunter2 ${v}', value: a}]"),
		located("http://hunter2:${v}@a", "constant: {value: hunter2}"),
		located("http://${v}", `constant: {value: "hunter2 "}`),
		asking("{oauth2: {tokenURL: 'http://a:hunter2@nrf.example', clientID: a, secretIn: hunter2}}"),
		asking("{oauth2: {tokenURL: 'http://a:hunter2', clientID: a}}"),
		asking("{oauth2: {tokenURL: 'http://a', clientID: a, scopes: [hunter2 a], parameters: [{name: scope, value: hunter2}]}}"),
	} {
		lines := linesOf(t, p.manifest())
		if len(lines) == 0 {
			t.Errorf("nothing is wrong with\n%s", p.manifest())
		}
		for _, line := range lines {
			if strings.Contains(line, "hunter2") {
				t.Error(line)
			}
		}
	}
}

// TestEmptyListsAreNone: a plan that was written and read again is the same.
func TestEmptyListsAreNone(t *testing.T) {
	p := parts{
		targets:   "{name: target, url: https://a, connections: 2, tls: {cipherSuites: [], curves: []}, auth: {oauth2: {tokenURL: http://b, clientID: a, scopes: [], parameters: []}}}",
		variables: `{name: v, csv: {text: "a\nb\n", columns: []}, order: Random}`,
		templates: `{name: get, headers: [{name: a, value: "${v.a}"}], capture: [], expect: {status: []}, bodyBase64: "\n"}`,
	}
	out, _ := p.plan(t)
	sound(t, out)
}

func TestTraceparent(t *testing.T) {
	p, warnings := parts{
		variables: "{name: v, uuid: {}}",
		templates: `{name: get, headers: [{name: traceparent, value: '${traceparent(0.010)}'}, {name: x, value: '${v}${upper(traceparent(0.01))}'}, {name: z, value: '${traceparent(1)}'}]}`,
	}.plan(t)
	want := []rv.Variable{
		{Name: "v", UUID: true},
		{Name: "traceparent(0.01)", Scope: rv.ScopeStep, Traceparent: &rv.Traceparent{Ratio: 0.01}},
		{Name: "traceparent(1)", Scope: rv.ScopeStep, Traceparent: &rv.Traceparent{Ratio: 1}},
	}
	if diff := cmp.Diff(want, p.Variables); diff != "" || len(warnings) > 0 {
		t.Errorf("warnings %q; variables (-want +got):\n%s", warnings, diff)
	}
	h := p.Chains[0].Steps[0].Headers
	value := rv.Text{{Variable: 1}, {Variable: 2, Functions: []rv.Function{{Name: rv.FunctionUpper}}}}
	if diff := cmp.Diff([]rv.Text{{{Variable: 2}}, value, {{Variable: 3}}}, []rv.Text{h[0].Value, h[1].Value, h[2].Value}); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	const template = "spec.templates[0]"
	checkMistakes(t, []mistake{
		{"no ratio", parts{templates: `{name: get, path: '/${traceparent()}'}`}, []string{template + ".path: traceparent takes the share of requests that are sampled, a number from 0 to 1: traceparent(0.01)"}},
		{"in the name of a header", parts{templates: `{name: get, headers: [{name: 'x-${traceparent(1)}', value: a}]}`}, []string{template + `.headers[0].name: "traceparent(1)" is not possible in the name of a header, where only range, list, counter, random, uuid, perShard and env are`}},
		{"in a url", parts{targets: "{name: target, url: 'http://target.example/${traceparent(1)}', connections: 2}"}, []string{`spec.targets[0].url: traceparent(1) has a new value for each request, and a url is the same for the whole run`}},
	})
}
