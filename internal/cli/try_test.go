package cli

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/mock"
	"github.com/h2surge/h2surge/internal/mock/rules"
	"github.com/h2surge/h2surge/test/golden"
	"github.com/h2surge/h2surge/test/peer"
)

// tryTarget serves testdata/try/target.yaml.
func tryTarget(t *testing.T) *mock.Server {
	t.Helper()
	set, err := rules.LoadFile("testdata/try/target.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, mock.Options{Rules: set, Seed: 1})
}

// tries executes "h2surge try" with the real engine.
func tries(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	var out, errors bytes.Buffer
	code := execute(t.Context(), append([]string{"h2surge", "try"}, args...), strings.NewReader(stdin), &out, &errors, parts())
	return outcome{code: code, out: out.String(), errors: errors.String()}
}

var varying = regexp.MustCompile(`127\.0\.0\.1:\d+|\bin [\d.]+(us|ms|s)\b`)

// steady replaces what differs from one trial to the next.
func steady(s string) string {
	return varying.ReplaceAllStringFunc(s, func(found string) string {
		if strings.HasPrefix(found, "in ") {
			return "in TIME"
		}
		return "ADDRESS"
	})
}

func TestTry(t *testing.T) {
	waits(t)
	at := "http://" + tryTarget(t).Addr().String()
	for name, tc := range map[string]struct {
		code int
		args []string
	}{
		"passed":  {0, nil},
		"failed":  {2, []string{"--target-url", "gone=http://127.0.0.1:" + peer.Refused(t)}},
		"chosen":  {0, []string{"--chain", "bodies"}},
		"secrets": {0, []string{"--chain", "things", "--show-secrets"}},
	} {
		file := map[string]string{"failed": "failed"}[name]
		if file == "" {
			file = "passed"
		}
		got := tries(t, "", append([]string{"-f", "testdata/try/" + file + ".yaml", "--target-url", at}, tc.args...)...)
		if got.code != tc.code || got.errors != "" {
			t.Errorf("%s: exit code %d, want %d, errors %q", name, got.code, tc.code, got.errors)
		}
		golden.Compare(t, "try/"+name+".txt", steady(got.out))
	}
}

// TestTryParts: requests and responses with parts, checks and captures of them, and what is shown of them.
func TestTryParts(t *testing.T) {
	set, err := rules.LoadFile("../../config/samples/targets/smf.yaml")
	if err != nil {
		t.Fatal(err)
	}
	at := "http://" + serve(t, mock.Options{Rules: set, Seed: 1}).Addr().String()
	got := tries(t, "", "-f", "testdata/try/parts.yaml", "--target-url", at)
	if got.code != 2 || got.errors != "" { // the last step has a check that fails
		t.Errorf("exit code %d, errors %q", got.code, got.errors)
	}
	golden.Compare(t, "try/parts.txt", steady(got.out))
}

// TestTryBinding: the binding of a target is in the header fields, and not among the captures.
func TestTryBinding(t *testing.T) {
	set, err := rules.Load([]byte(`{apiVersion: h2surge.io/v1alpha1, kind: Target, rules: [
		{name: create, match: {method: POST}, responses: [{status: 201, headers: [{name: 3gpp-sbi-binding, value: "bl=nf-set; nfset=a"}]}]},
		{name: others, responses: [{status: 200}]}]}`), "")
	if err != nil {
		t.Fatal(err)
	}
	at := "http://" + serve(t, mock.Options{Rules: set, Seed: 1}).Addr().String()
	got := tries(t, `{apiVersion: h2surge.io/v1alpha1, kind: LoadTest, metadata: {name: binding}, spec: {
		targets: [{name: nf, url: "`+at+`", sbi: {}}],
		chains: [{name: c, target: nf, steps: [{name: create, request: {method: POST, path: /x}}, {name: read, request: {path: /x}}]}],
		rates: [{name: r, duration: 1s, requestsPerSecond: 1}]}}`, "-f", "-")
	if got.code != 0 || got.errors != "" {
		t.Fatalf("exit code %d, errors %q", got.code, got.errors)
	}
	want := []string{"< 3gpp-sbi-binding: bl=nf-set; nfset=a", "> 3gpp-sbi-routing-binding: bl=nf-set; nfset=a"}
	var lines []string
	for line := range strings.Lines(got.out) {
		if strings.Contains(line, "binding") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTryOfATargetThatSteersTerminals: no octet of a response reaches the terminal as a control character.
func TestTryOfATargetThatSteersTerminals(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // the test is over
	const body = "one\rtwo \u202ethree\n"
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				fmt.Fprintf(c, "HTTP/1.1 200 \x1b[2Jdone\r\nx-color: \x1b[31mred\xc2\x9b1m\r\nx-id: \x1b]0;title\x07\r\ncontent-length: %d\r\n\r\n%s", len(body), body)
			}
			_ = c.Close()
		}
	}()
	got := tries(t, `{apiVersion: h2surge.io/v1alpha1, kind: LoadTest, metadata: {name: steers}, spec: {
		targets: [{name: t, url: "http://`+l.Addr().String()+`", protocol: http1}],
		templates: [{name: get, path: /, capture: [{name: id, header: x-id}]}],
		chains: [{name: c, target: t, steps: [{template: get}]}],
		rates: [{name: r, duration: 1s, requestsPerSecond: 1}]}}`, "-f", "-")
	if i := strings.IndexFunc(got.out+got.errors, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("the character %q is in the output", (got.out + got.errors)[i:min(i+4, len(got.out))])
	}
	for _, want := range []string{"\n< x-color: \\x1b[31mred\\u009b1m\n", "\n< one\\rtwo \\u202ethree\n", "capture id = \\x1b]0;title\\a\n"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in\n%s%s", want, got.out, got.errors)
		}
	}
}

// TestTryMasks: no output has a secret, whatever the format and whatever reads it.
func TestTryMasks(t *testing.T) {
	at := "http://" + tryTarget(t).Addr().String()
	unescaped := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\"`, `"`)
	for _, format := range []string{"text", "json", "yaml"} {
		for file, shown := range map[string][]string{
			"passed": {"secret keys/api", "/things/1", strings.Repeat("0123456789abcdef", 200)},
			"sources": {"with <capture t>", "<authToken><capture x>", "60", `"/access_token" is "***"`,
				`"/refresh_token" is no value`, `"/expires" is "60"`, `set-cookie is "***"`},
		} {
			got := tries(t, "", "testdata/try/"+file+".yaml", "--target-url", at, "-o", format, "--full")
			if got.code != 0 {
				t.Errorf("%s -o %s: exit code %d, %s", file, format, got.code, got.errors)
			}
			for _, secret := range []string{"s3cr3t", "tok-4711", "cookie-4712", "xml-4713"} {
				if strings.Contains(got.out, secret) {
					t.Errorf("%s -o %s shows %s", file, format, secret)
				}
			}
			for _, want := range shown {
				if !strings.Contains(unescaped.Replace(got.out), want) {
					t.Errorf("%s -o %s lacks %.40s", file, format, want)
				}
			}
		}
	}
}

// TestTryForPrograms: JSON and YAML have the same results.
func TestTryForPrograms(t *testing.T) {
	at := "http://" + tryTarget(t).Addr().String()
	var results []triedResult
	for _, format := range []string{"json", "yaml"} {
		got := tries(t, "", "-f", "testdata/try/failed.yaml", "--target-url", at, "--chain", "checks", "-o", format)
		var r triedResult
		if err := yaml.Unmarshal([]byte(got.out), &r); err != nil || got.code != 2 {
			t.Fatalf("-o %s: exit code %d, %v", format, got.code, err)
		}
		for _, e := range r.Chains[0].Exchanges {
			e.Milliseconds, e.Address, e.Request.URL, e.Request.Fields = 0, "", "", nil
		}
		results = append(results, r)
	}
	if diff := cmp.Diff(results[0], results[1], cmp.AllowUnexported(triedExchange{}, triedMessage{})); diff != "" {
		t.Errorf("(-json +yaml):\n%s", diff)
	}
	want := `[{"name":"checks","outcome":"Failed","reason":"step checks: check id: jsonPointer \"/id\" is \"1\"; want equals \"2\"",` +
		`"exchanges":[{"step":"checks","outcome":"Failed","reason":"check id: jsonPointer \"/id\" is \"1\"; want equals \"2\"","attempt":1,"repeat":1,"target":"api",` +
		`"request":{"http":"HTTP/2","method":"GET","bodySize":0},"response":{"http":"HTTP/2","status":200,"fields":[{"name":"content-type","value":"application/json"},` +
		`{"name":"content-length","value":"34"}],"body":"{\"id\":\"1\",\"size\":12,\"color\":\"red\"}","bodySize":34},` +
		`"checks":[{"name":"status","passed":true,"found":"200","want":"below 400"},{"name":"id","passed":false,"found":"jsonPointer \"/id\" is \"1\"","want":"equals \"2\""},` +
		`{"name":"absent","passed":false,"found":"jsonPointer \"/no\" is no value","want":"exists true"},` +
		`{"name":"type","passed":true,"found":"header content-type is \"application/json\"","want":"not matches \"^text/\""},` +
		`{"name":"shape","passed":false,"found":"at '': missing property 'name'","want":"a body that jsonSchema allows"}]}]}]`
	got, err := json.Marshal(results[0].Chains)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTryProtocols: a trial speaks what run speaks.
func TestTryProtocols(t *testing.T) {
	secure, plain := newWeb(t, &tls.Config{MinVersion: tls.VersionTLS12}), newWeb(t, nil)
	for name, tc := range map[string]struct{ target, want string }{
		"h2 over TLS":       {fmt.Sprintf(`url: %q, tls: {caFrom: {file: %q}, serverName: example.com}`, secure.url, secure.ca), "HTTP/2"},
		"HTTP/1.1":          {fmt.Sprintf(`url: %q, protocol: http1`, plain.url), "HTTP/1.1"},
		"HTTP/1.1 over TLS": {fmt.Sprintf(`url: %q, protocol: http1, tls: {insecureSkipVerify: true}`, secure.url), "HTTP/1.1"},
	} {
		manifest := `apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: protocols}
spec:
  targets: [{name: web, ` + tc.target + `}]
  templates: [{name: get, path: /hello}]
  chains: [{name: all, target: web, steps: [{parallel: [{template: get}, {template: get, name: again}]}]}]
  rates: [{name: all, requestsPerSecond: 1, duration: 1s}]
`
		got := tries(t, manifest, "-f", "-")
		if got.code != 0 || strings.Count(got.out, "< "+tc.want+" 200\n") != 2 || strings.Count(got.out, "< hello\n") != 2 ||
			strings.Count(got.out, "/hello "+tc.want+"\n") != 2 {
			t.Errorf("%s: exit code %d\n%s%s", name, got.code, got.out, got.errors)
		}
	}
}

// TestTrySetupFails: nothing else is sent then, as in run.
func TestTrySetupFails(t *testing.T) {
	peer := tryTarget(t)
	manifest, err := os.ReadFile("testdata/try/passed.yaml")
	if err != nil {
		t.Fatal(err)
	}
	wrong := strings.Replace(string(manifest), "jsonPointer: /access_token", "jsonPointer: /none", 1)
	got := tries(t, wrong, "-f", "-", "--target-url", "http://"+peer.Addr().String())
	want := `setup chain login, step token: failed: capture token: the response has no jsonPointer "/none"
`
	end := `chain login failed: step token: capture token: the response has no jsonPointer "/none"
0 of 4 chains passed, 1 failed, 3 not run
`
	if got.code != 2 || !strings.HasPrefix(got.out, want) || !strings.HasSuffix(got.out, end) || peer.Stats().Requests != 1 {
		t.Errorf("exit code %d, %d requests\n%s%s", got.code, peer.Stats().Requests, got.out, got.errors)
	}
}

// arrived sends an interrupt with each request that a target records.
type arrived chan os.Signal

func (a arrived) Write(p []byte) (int, error) {
	a <- os.Interrupt
	return len(p), nil
}

// TestTryInterrupted: what was sent is shown, and nothing else is sent.
func TestTryInterrupted(t *testing.T) {
	interrupts := make(arrived, 8)
	peer := serve(t, mock.Options{Unanswered: 1, Record: interrupts})
	l := parts()
	l.interrupts = func(bool, func()) (<-chan os.Signal, func()) { return interrupts, func() {} }
	var out, errors bytes.Buffer
	args := []string{"h2surge", "try", "-f", "testdata/try/passed.yaml", "--target-url", "http://" + peer.Addr().String()}
	code := execute(t.Context(), args, strings.NewReader(""), &out, &errors, l)
	if code != 4 || errors.String() != "interrupted\n" || !strings.HasPrefix(out.String(), "setup chain login, step token: failed: no response: interrupted\n> POST ") ||
		!strings.HasSuffix(out.String(), "\nchain login failed: interrupted\n0 of 4 chains passed, 1 failed, 3 not run\n") {
		t.Errorf("exit code %d\n%s%s", code, out.String(), errors.String())
	}
}

func TestTryUsage(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "-f FILE: the argument is missing"},
		{[]string{"http://a.example"}, "http://a.example: try reads a manifest; to send requests to a URL, use h2surge run -n 1 URL"},
		{[]string{"-f", "-", "-o", "html"}, `-o: "html" is not a format; allowed: text, json, yaml, curl`},
		{[]string{"-f", "testdata/try/passed.yaml", "--chain", "login"}, `--chain: there is no load chain "login"; allowed: things, bodies`},
	} {
		if got := tries(t, "", tc.args...); got.code != 1 || got.errors != tc.want+"\n" || got.out != "" {
			t.Errorf("%v: exit code %d, %q, want %q", tc.args, got.code, got.errors, tc.want)
		}
	}
}

func TestParseTable(t *testing.T) {
	for name, tc := range map[string]struct {
		csv     rv.CSV
		content string
		columns []string
		rows    [][]string
	}{
		"names in the content":         {rv.CSV{}, "\uFEFFid,key\n1,a\n", []string{"id", "key"}, [][]string{{"1", "a"}}},
		"names in the plan":            {rv.CSV{Columns: []string{"id"}}, "\uFEFF1\n2\n", []string{"id"}, [][]string{{"1"}, {"2"}}},
		"a delimiter beyond one octet": {rv.CSV{Delimiter: "\u00a7", Columns: []string{"id", "key"}}, "1\u00a7a\n", []string{"id", "key"}, [][]string{{"1", "a"}}},
		"rows of different lengths":    {rv.CSV{}, "id,key\n1\n", nil, nil},
		"empty":                        {rv.CSV{}, "", nil, nil},
	} {
		columns, rows, err := parseTable(&tc.csv, []byte(tc.content))
		if (err != nil) != (tc.columns == nil) || !reflect.DeepEqual(columns, tc.columns) || !reflect.DeepEqual(rows, tc.rows) {
			t.Errorf("%s: %v, %v, %v; want %v, %v", name, columns, rows, err, tc.columns, tc.rows)
		}
	}
}

// TestTryNamesTheMissingCapture: the reason is the capture that a step needs, and not one that may be missing. A Location that cannot be a
// path is shown.
func TestTryNamesTheMissingCapture(t *testing.T) {
	set, err := rules.Load([]byte(`
apiVersion: h2surge.io/v1alpha1
kind: Target
rules:
  - {name: urn, match: {method: POST, path: /urn}, responses: [{status: 201, headers: [{name: location, value: "urn:uuid:1"}], body: '{"a":1}'}]}
`), "")
	if err != nil {
		t.Fatal(err)
	}
	at := "http://" + serve(t, mock.Options{Rules: set, Seed: 1}).Addr().String()
	for name, tc := range map[string]struct{ capture, want string }{
		"after an optional one": {
			`{name: a, jsonPointer: /b, optional: true}, {name: c, jsonPointer: /c}`,
			`failed: capture c: the response has no jsonPointer "/c"`,
		},
		"a Location with another scheme": {
			`{name: c, header: location}`,
			`failed: capture c: header location is "urn:uuid:1", which is not an http or https URI`,
		},
		"the text of such a Location": {`{name: c, header: location, regex: ".+"}`, `capture c = urn:uuid:1`},
	} {
		got := tries(t, `
apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: missing}
spec:
  targets: [{name: smf, url: "`+at+`", sbi: {}}]
  chains:
    - name: c
      target: smf
      steps: [{name: s, request: {method: POST, path: /urn, capture: [`+tc.capture+`]}}]
  rates: [{name: hold, duration: 1s, requestsPerSecond: 1}]
`, "-f", "-")
		if !strings.Contains(got.out, tc.want) || strings.Contains(got.out, "sbi-binding") {
			t.Errorf("%s: got\n%s%s\nwant %s, and nothing of a binding", name, got.out, got.errors, tc.want)
		}
	}
}
