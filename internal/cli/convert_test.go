package cli

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/internal/mock"
)

// lockedBuffer is written by a server and read by a test.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// recorded returns the requests that peer received. A response can arrive before the record of its request is written,
// which happens at the end of the server's turn; Stats waits for that.
func (l *lockedBuffer) recorded(t *testing.T, peer *mock.Server) (out []mock.Recorded) {
	t.Helper()
	peer.Stats()
	l.mu.Lock()
	defer l.mu.Unlock()
	for dec := json.NewDecoder(bytes.NewReader(l.b.Bytes())); dec.More(); {
		var r mock.Recorded
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func header(r *mock.Recorded, name string) string {
	for _, h := range r.Headers {
		if h[0] == name {
			return h[1]
		}
	}
	return ""
}

// convertAndRun runs what a conversion writes.
func convertAndRun(t *testing.T, args ...string) {
	t.Helper()
	run(t, "", 0, "-f", converted(t, args...))
}

// converted is the manifest that a configuration becomes.
func converted(t *testing.T, args ...string) string {
	t.Helper()
	manifest := filepath.Join(t.TempDir(), "loadtest.yaml")
	got := h2surge(t, nil, nil, append([]string{"convert", args[0], "--output-file", manifest}, args[1:]...)...)
	if got.code != 0 || got.out != "" {
		t.Fatalf("exit code %d, %s", got.code, got.errors)
	}
	return manifest
}

func TestConvertedH2loadrunnerRuns(t *testing.T) {
	record := &lockedBuffer{}
	peer := serve(t, mock.Options{Record: record})
	_, port, err := net.SplitHostPort(peer.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	config := strings.ReplaceAll(`{"schema": "http", "host": "127.0.0.1", "port": PORT, "clients": 1, "max-concurrent-streams": 1, "total-requests": 30,
	  "Scenarios": [{"name": "life", "range-based-variables": [{"variable-name": "ue", "variable-range-start": 5, "variable-range-end": 100}],
	    "Requests": [
	      {"uri": {"typeOfAction": "input", "input": "/sessions"}, "method": "POST", "payload": "{\"ue\":\"${ue}\",\"price\":\"5$\"}", "additonalHeaders": ["x-ue: ue-${ue}"],
	       "expected-status-code": 201, "value-pickers": [{"where-to-pickup-from": "Json-Pointer-In-Request-Payload", "source": "/ue", "regexp": "[1-9]+", "save-to-variable": "digits"}]},
	      {"uri": {"typeOfAction": "fromResponseHeader", "input": "location"}, "method": "PATCH", "payload": "${digits}"},
	      {"uri": {"typeOfAction": "sameWithLastOne"}, "method": "DELETE", "expected-status-code": 204}]}]}`, "PORT", port)
	convertAndRun(t, "h2loadrunner", file(t, "config.json", config))
	counts := map[string]int{}
	created := map[string]string{} // the body of PATCH by ue
	for _, r := range record.recorded(t, peer) {
		counts[r.Method]++
		switch r.Method {
		case http.MethodPost:
			ue := strings.TrimPrefix(header(&r, "x-ue"), "ue-")
			if want := `{"ue":"` + ue + `","price":"5$"}`; r.Path != "/sessions" || len(ue) != 3 || r.Body != want {
				t.Errorf("POST %s %q, want %q", r.Path, r.Body, want)
			}
			created[ue] = ""
		case http.MethodPatch, http.MethodDelete:
			if !strings.HasPrefix(r.Path, "/sessions/") {
				t.Errorf("%s %s, want what location said", r.Method, r.Path)
			}
			if n, err := strconv.Atoi(r.Body); r.Method == http.MethodPatch && (err != nil || n < 1) {
				t.Errorf("PATCH with %q, want digits", r.Body)
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"POST": 10, "PATCH": 10, "DELETE": 10}, counts); diff != "" || len(created) != 10 {
		t.Errorf("%d users, requests (-want +got):\n%s", len(created), diff)
	}
}

// Without the header the rest of a chain is not sent; a step that fails ends nothing.
func TestConvertedChainNeedsItsLocation(t *testing.T) {
	record := &lockedBuffer{}
	peer := serve(t, mock.Options{Record: record, NotFound: 0.4, Seed: 3})
	_, port, err := net.SplitHostPort(peer.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	config := strings.ReplaceAll(`{"schema": "http", "host": "127.0.0.1", "port": PORT, "total-requests": 100, "Scenarios": [{"name": "life", "Requests": [
	  {"uri": {"typeOfAction": "input", "input": "/sessions"}, "method": "POST"},
	  {"uri": {"typeOfAction": "fromResponseHeader", "input": "location"}, "method": "PATCH"},
	  {"uri": {"typeOfAction": "sameWithLastOne"}, "method": "DELETE"}]}]}`, "PORT", port)
	run(t, "", 2, "-f", converted(t, "h2loadrunner", file(t, "config.json", config)))
	counts := map[string]int{}
	for _, r := range record.recorded(t, peer) {
		counts[r.Method]++
		if r.Method != http.MethodPost && !strings.HasPrefix(r.Path, "/sessions/") {
			t.Errorf("%s %s, want what location said", r.Method, r.Path)
		}
	}
	patch, post := counts[http.MethodPatch], counts[http.MethodPost]
	if patch == 0 || patch >= post || counts[http.MethodDelete] < patch-1 {
		t.Errorf("%v, want fewer PATCH than POST, and a DELETE for each PATCH", counts)
	}
}

func TestConvert(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	har := write("my.har", `{"log":{"entries":[{"request":{"method":"GET","url":"http://a/"}}]}}`)
	write("common.yaml", "components: {schemas: {Supi: {type: string, example: imsi-1}}}")
	spec := write("api.yaml", "openapi: 3.0.0\npaths: {'/ues/{supi}': {get: {operationId: getUe, parameters: [{name: supi, in: path, required: true, schema: {$ref: 'common.yaml#/components/schemas/Supi'}}]}}}")
	mock := write("mock.json", `{"address":"127.0.0.1","port":8081,"threads":1,"Service":[{"Request":{"name":"r","headers":[{"header-name":":path","matchType":"EqualsTo","input":"/a"}]},"Responses":[{"name":"s","weight":100,"throttle-ratio":0,"status-code":200}]}]}`)
	for _, tc := range []struct {
		name, out, errors string // parts of them
		code              int
		args              []string
	}{
		{"no tool", "h2surge convert [command]", "", 0, nil},
		{"an unknown tool", "", "crul: unknown command; did you mean curl? (see h2surge convert --help)\n", 1, []string{"crul"}},
		{"a file that is not there", "", "no such file or directory\n", 1, []string{"har", filepath.Join(dir, "none")}},
		{"flags without --", "", "-n: unknown flag; write the flags of curl after -- (see h2surge convert curl --help)\n", 1, []string{"curl", "-n", "1"}},
		{"bad flags", "", "--http3: HTTP/3 is not supported\n", 1, []string{"curl", "--", "--http3", "https://a/"}},
		{"warnings", "kind: LoadTest", "--proxy: has no counterpart and is left out", 0, []string{"curl", "--", "-x", "p:1", "http://a/"}},
		{"a name", "  name: other\n", "", 0, []string{"har", "--name", "other", har}},
		{"the name of the file", "  name: my\n", "", 0, []string{"har", har}},
		{"references next to the file", "value: imsi-1\n", "", 0, []string{"openapi", "--target", "http://a", "--operation", "getUe", spec}},
		{"a line of curl", "path: /a?b=1&c=2\n", "rates: curl sends one request", 0, []string{"curl", "curl 'http://a/a?b=1&c=2' -H $'x: y'"}},
		{"arguments of curl", "method: PUT\n", "", 0, []string{"curl", "--", "curl", "-X", "PUT", "http://a/"}},
		{"a line that a shell would change", "", "curl: the line has a variable or a command of the shell; write its value\n", 1, []string{"curl", "curl http://a/$HOME"}},
		{"rules", "\nkind: Target\n", "", 0, []string{"maock", mock}},
		{"a directory to write to", "", "--output-file: open " + dir + ": is a directory\n", 5, []string{"har", "--output-file", dir, har}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := h2surge(t, nil, nil, append([]string{"convert"}, tc.args...)...)
			if got.code != tc.code || !strings.Contains(got.out, tc.out) || !strings.Contains(got.errors, tc.errors) {
				t.Errorf("exit code %d\n%s\n%s", got.code, got.out, got.errors)
			}
		})
	}
}

// TestConvertCopiedLine: what "convert curl -" writes is what "run" reads.
func TestConvertCopiedLine(t *testing.T) {
	line := "curl 'http://shop.example/orders' \\\n  -H 'content-type: application/json' \\\n  --data-raw $'{\"it\\'s\":1}'\n"
	var manifest, warnings strings.Builder
	if code := execute(t.Context(), []string{"h2surge", "convert", "curl", "-"}, strings.NewReader(line), &manifest, &warnings, parts()); code != 0 {
		t.Fatal(code, warnings.String())
	}
	var out, errs strings.Builder
	code := execute(t.Context(), []string{"h2surge", "run", "--dry-run", "-"}, strings.NewReader(manifest.String()), &out, &errs, parts())
	if code != 0 || errs.String() != "" || !strings.Contains(out.String(), `body: '{"it''s":1}'`) {
		t.Errorf("exit code %d, %s\n%s", code, errs.String(), out.String())
	}
}

// A manifest with a key in it is for its owner alone.
func TestConvertKeepsSecrets(t *testing.T) {
	dir := t.TempDir()
	exists := filepath.Join(dir, "exists.yaml")
	if err := os.WriteFile(exists, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(dir, "new.yaml"), exists} {
		if got := h2surge(t, nil, nil, "convert", "curl", "--output-file", name, "--", "-u", "me:secret", "http://a/"); got.code != 0 {
			t.Fatal(got.errors)
		}
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 || info.Size() == 0 {
			t.Errorf("%s has mode %v and %d bytes", name, info.Mode(), info.Size())
		}
	}
}
