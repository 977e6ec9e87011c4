package cli

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/internal/mock"
	"github.com/h2surge/h2surge/test/golden"
)

// atNow is a time of now as the manifests of this file have it in bodies.
var atNow = regexp.MustCompile(`20\d\d-[0-9T:.-]+Z`)

func TestTryDryRun(t *testing.T) {
	for name, args := range map[string][]string{
		"all.txt":    {"all.yaml"},
		"curl.txt":   {"all.yaml", "-o=curl"},
		"all.json":   {"all.yaml", "--chain=scripts", "-o=json"},
		"shown.txt":  {"all.yaml", "--show-secrets"},
		"broken.txt": {"broken.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			args[0] = "testdata/dryrun/" + args[0]
			got := h2surge(t, nil, nil, append([]string{"try", "--dry-run"}, args...)...)
			wantCode := 0
			if name == "broken.txt" {
				wantCode = 1
			}
			if got.code != wantCode || got.errors != "" {
				t.Errorf("exit code %d: %s", got.code, got.errors)
			}
			golden.Compare(t, "dryrun/"+name, atNow.ReplaceAllString(got.out, "NOW"))
			if secret := strings.Contains(got.out, "top-secret"); secret != (name == "shown.txt") {
				t.Errorf("secrets are shown: %v", secret)
			}
		})
	}
}

// TestDryRunOfSamples: each sample has a dry run.
func TestDryRunOfSamples(t *testing.T) {
	for _, name := range samples(t) {
		if strings.HasSuffix(name, "/mtls.yaml") {
			continue // its Secret and ConfigMap are the user's
		}
		got := h2surge(t, nil, nil, "try", "--dry-run", name, "-o", "json")
		var r triedResult
		if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != 0 || len(r.Chains) == 0 || r.Passed {
			t.Errorf("%s: exit code %d, %v, %s\n%s", name, got.code, err, got.errors, got.out)
		}
	}
}

func TestDryRunMistakes(t *testing.T) {
	absent := file(t, "absent.yaml", strings.Replace(manifest, "path: /}", "path: /, bodyFrom: {configMapKeyRef: {name: c, key: k}}}", 1))
	hidden := file(t, "hidden.yaml", strings.Replace(manifest, "path: /}", "path: /, script: {luaFrom: {secretKeyRef: {name: c, key: k}}}}", 1))
	wrong := file(t, "wrong.yaml", strings.Replace(manifest, "path: /}", "path: \"/${x}\"}", 1))
	for _, tc := range []struct {
		name, want string
		args       []string
	}{
		{"no file", "-f FILE: the argument is missing\n", nil},
		{"no such file", "/does/not/exist: no such file or directory\n", []string{"/does/not/exist"}},
		{"a mistake", wrong + ":8: spec.templates[0].path: variable \"x\" is not defined\n", []string{wrong}},
		{"a ConfigMap that is not there", absent + ":8: spec.templates[0].bodyFrom.configMapKeyRef: there is no ConfigMap ...", []string{absent}},
		{"a script that is not there", hidden + ":8: spec.templates[0].script.luaFrom.secretKeyRef: there is no Secret ...", []string{hidden}},
		{"format", "-o: \"xml\" is not a format; allowed: text, json, yaml, curl\n", []string{"-", "-o", "xml"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := h2surge(t, nil, nil, append([]string{"try", "--dry-run"}, tc.args...)...)
			if got.code != 1 || got.out != "" || !matches(got.errors, tc.want) {
				t.Errorf("exit code %d, output %q\n%swant\n%s", got.code, got.out, got.errors, tc.want)
			}
		})
	}
}

// TestCurlIsAShellCommand: a shell reads the words that were meant.
func TestCurlIsAShellCommand(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	body := "it's \"$HOME\" `x`\n\\ ${1}"
	out, err := exec.Command(sh, "-c", "printf %s "+quoted(body)).Output()
	if err != nil || string(out) != body {
		t.Errorf("%q, %v", out, err)
	}
}

// TestCurlCommentIsAComment: the comment before a command may quote the peer, whose line feeds must not begin a line of the shell.
func TestCurlCommentIsAComment(t *testing.T) {
	e := triedExchange{chain: "c", Step: "s", Outcome: outcomeFailed, Reason: "no response: the peer said a\nrm b\x1b[2J", Request: &triedMessage{Method: "GET", URL: "http://a/", HTTP: "HTTP/2"}}
	comment, _, _ := strings.Cut(e.curl(), "curl ")
	if want := "# chain c, step s: failed: no response: the peer said a rm b\\x1b[2J\n"; comment != want {
		t.Errorf("%q, want %q", comment, want)
	}
}

// TestCurlConnects: a command connects where the request was sent, which another port of the URL does not hide.
func TestCurlConnects(t *testing.T) {
	for _, tc := range []struct {
		url, address string
		want         bool
	}{
		{"http://127.0.0.1:8080/", "127.0.0.1:8080", false},
		{"http://127.0.0.1:8080/", "127.0.0.1:80", true},
		{"http://127.0.0.1/", "127.0.0.1:80", false},
		{"http://a.example/", "127.0.0.1:80", true},
		{"http://a.example:8080<capture a>", "a.example:8080", false},
		{"http://a.example/", "", false}, // of a dry run
	} {
		e := triedExchange{Outcome: outcomeNotSent, Address: tc.address, Request: &triedMessage{Method: "GET", URL: tc.url, HTTP: "HTTP/2"}}
		if got := strings.Contains(e.curl(), "--connect-to '::"+tc.address+"'"); got != tc.want {
			t.Errorf("%s at %s: --connect-to %v, want %v", tc.url, tc.address, got, tc.want)
		}
	}
}

// TestStandIns: what functions make of a stand-in is shown as that.
func TestStandIns(t *testing.T) {
	m := newTryMask(&job{}, true)
	n := m.standIn("capture a")
	if m.standIn("capture b") == n {
		t.Error(n)
	}
	for of, made := range map[string]string{
		"base64": base64.StdEncoding.EncodeToString([]byte(n)), "base64url": base64.RawURLEncoding.EncodeToString([]byte(n)),
	} {
		if got, want := m.text(made), "<"+of+" of capture a>"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := m.text("x" + strings.ToUpper(n) + "y"); got != "x<capture a>y" {
		t.Error(got)
	}
}

// FuzzDryRun: whatever the manifest, nothing panics.
func FuzzDryRun(f *testing.F) {
	for _, name := range []string{"all", "broken"} {
		b, err := os.ReadFile("testdata/dryrun/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Fuzz(func(_ *testing.T, manifest string) {
		if strings.Contains(manifest, "file") {
			return // of this machine
		}
		s := &source{files: []string{"-"}, stdin: strings.NewReader(manifest)}
		j, err := s.compile()
		if err != nil {
			return
		}
		chains, err := chosen(j.plan, nil)
		if err != nil {
			return
		}
		tried := newTried(j, true, false)
		tried.each = func(e *triedExchange) { _ = e.text() + e.curl() }
		_ = tried.dryRun(chains, time.Unix(1, 0))
	})
}

// ordered sends one instance of each of two chains over a connection with one stream, so that the target sees the requests in the order in which they are
// made.
const ordered = `apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: ordered}
spec:
  seed: 3
  targets: [{name: peer, url: "http://URL/base", connections: 1, maxConcurrentStreams: 1}]
  variables:
    - {name: ue, range: {start: 0, end: 1000, width: 4}, order: Shuffled}
    - {name: id, uuid: {}}
    - {name: trace, random: {hex: {length: 12}}, scope: Step}
    - {name: person, csv: {text: "name,pin\nann,1\nbob,2\n"}}
  templates:
    - name: create
      method: POST
      path: /things/${ue}?by=${urlEncode(person.name)}
      headers: [{name: X-Trace, value: "${upper(trace)}"}, {name: content-type, value: text/plain}, {name: x-pin, value: "${person.pin}"}]
      body: "${id} ${sha256(ue)}"
      capture: [{name: thing, header: location}]
    - {name: look, path: "${thing}", headers: [{name: x-trace, value: "${trace}"}]}
    - name: made
      path: /made
      script:
        lua: |
          function on_request(req) req:set_header("x-made", vars.ue .. tostring(math.random(1000))) end
  chains:
    - {name: things, target: peer, weight: 2, steps: [{template: create}, {template: look}]}
    - {name: makings, target: peer, steps: [{template: made}]}
  rates: [{name: all, closedLoop: {}, requests: 3}]
`

// TestDryRunIsWhatIsSent: the target gets from try what a dry run shows.
func TestDryRunIsWhatIsSent(t *testing.T) {
	var record lockedBuffer
	peer := serve(t, mock.Options{Record: &record})
	name := file(t, "ordered.yaml", strings.Replace(ordered, "URL", peer.Addr().String(), 1))
	var out strings.Builder
	if code := execute(t.Context(), []string{"h2surge", "try", name}, strings.NewReader(""), &out, &out, parts()); code != 0 {
		t.Fatal(out.String())
	}
	shown := h2surge(t, nil, nil, "try", "--dry-run", name, "-o", "json")
	var r triedResult
	if err := json.Unmarshal([]byte(shown.out), &r); err != nil {
		t.Fatal(err, shown.errors)
	}
	var want []*triedMessage
	for i := range r.Chains {
		for _, e := range r.Chains[i].Exchanges {
			want = append(want, e.Request)
		}
	}
	got := record.recorded(t, peer)
	if len(got) != 3 || len(want) != 3 {
		t.Fatalf("%d requests, shown %d", len(got), len(want))
	}
	for i := range got {
		compareShown(t, want[i], &got[i])
	}
}

func compareShown(t *testing.T, want *triedMessage, got *mock.Recorded) {
	t.Helper()
	fields := [][2]string{{":method", got.Method}}
	for _, f := range got.Headers {
		fields = append(fields, [2]string{f[0], f[1]})
	}
	var wanted [][2]string
	for _, f := range want.Fields {
		switch {
		case f.Name != ":path":
			wanted = append(wanted, [2]string{f.Name, f.Value})
		case f.Value != "<capture thing of step create>" && f.Value != got.Path:
			t.Errorf("path %s, want %s", got.Path, f.Value)
		}
	}
	if diff := cmp.Diff(wanted, fields); diff != "" || got.Body != want.Body {
		t.Errorf("%s (-shown +sent):\n%s%q, %q", want.URL, diff, want.Body, got.Body)
	}
}
