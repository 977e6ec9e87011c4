//go:build release

package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// actions is the folder of the actions, as an absolute path.
func actions(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(root + "/.github/actions")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// job is the environment of a step: the folder in which it runs, and its files.
type job struct{ dir, outputs, summary, path string }

func newJob(t *testing.T) job {
	dir := t.TempDir()
	return job{dir, filepath.Join(dir, "outputs"), filepath.Join(dir, "summary"), filepath.Join(dir, "path")}
}

// step runs a script of an action and returns what it prints.
func (j job) step(t *testing.T, script string, env ...string) (string, error) {
	t.Helper()
	bin, err := filepath.Abs(root + "/bin")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(actions(t), script))
	cmd.Dir = j.dir
	cmd.Env = append([]string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + j.dir, "RUNNER_TEMP=" + j.dir,
		"GITHUB_OUTPUT=" + j.outputs, "GITHUB_STEP_SUMMARY=" + j.summary, "GITHUB_PATH=" + j.path,
	}, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

const manifest = `
apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: gate}
spec:
  targets: [{name: api, url: "http://api:8080"}]
  chains: [{name: get, target: api, steps: [{name: get, request: {path: /, expect: {status: [%d]}}}]}]
  rates: [{name: hold, duration: 1s, requestsPerSecond: 20}]
  thresholds: [{name: errors, metric: ErrorRate, max: 1%%}, {name: slow, metric: ResponseTime, percentile: p50, max: 10m}]
`

// TestRun: the outputs, the annotations and the comparison of a test that passes, of one that fails, and of one without a report.
func TestRun(t *testing.T) {
	run := func(j job, text string) (out, outputs string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(j.dir, "gate.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(j.outputs) // of an earlier step
		out, err := j.step(t, "load-test/run.sh", "NAME=gate", "MANIFEST=gate.yaml", "ARGS=--demo")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return out, read(t, j.outputs)
	}
	j := newJob(t)
	out, outputs := run(j, fmt.Sprintf(manifest, 200))
	if outputs != "code=0\nverdict=Passed\nworse=false\n" || strings.Contains(out, "::") {
		t.Errorf("a test that passes: %q\n%s", outputs, out)
	}
	if err := os.Rename(filepath.Join(j.dir, "h2surge-report.json"), filepath.Join(j.dir, "h2surge-base.json")); err != nil {
		t.Fatal(err)
	}
	out, outputs = run(j, fmt.Sprintf(manifest, 404))
	if !strings.HasPrefix(outputs, "code=2\nverdict=Failed\n") || !strings.Contains(out, "::error file=gate.yaml,title=threshold errors::ErrorRate is 100%25, limit") || strings.Contains(out, "threshold slow") {
		t.Errorf("a test that fails: %q\n%s", outputs, out)
	}
	report := read(t, filepath.Join(j.dir, "h2surge-report.md"))
	if !strings.HasPrefix(report, "<!-- h2surge gate -->\n") || !strings.Contains(report, "## Compared with the base branch\n") || !strings.HasSuffix(read(t, j.summary), report) {
		t.Errorf("report:\n%s", report)
	}
	out, outputs = run(newJob(t), "kind: LoadTest")
	if outputs != "code=1\nverdict=Error\nworse=false\n" || !strings.Contains(out, "exit code 1 and without a report") {
		t.Errorf("a bad manifest: %q\n%s", outputs, out)
	}
}

// TestComment: the first run writes a comment and the next one replaces it.
func TestComment(t *testing.T) {
	comments := []map[string]any{{"id": 1, "body": "I quote <!-- h2surge gate -->"}}
	for i := range 120 { // more than a page
		comments = append(comments, map[string]any{"id": i + 2, "body": "other"})
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := map[string]any{}
		if r.Method != http.MethodGet {
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
		}
		switch what := r.Method + " " + r.URL.Path; {
		case r.Header.Get("Authorization") != "Bearer secret":
			http.Error(w, "", http.StatusUnauthorized)
		case what == "POST /repos/o/r/issues/7/comments":
			body["id"] = 1000
			comments = append(comments, body)
		case what == "PATCH /repos/o/r/issues/comments/1000":
			comments[len(comments)-1]["body"] = body["body"]
		case what == "GET /repos/o/r/issues/7/comments" && r.URL.Query().Get("page") == "1":
			_ = json.NewEncoder(w).Encode(comments[:100])
		case what == "GET /repos/o/r/issues/7/comments":
			_ = json.NewEncoder(w).Encode(comments[100:])
		default:
			t.Errorf("unexpected: %s", what)
		}
	}))
	defer server.Close()
	j := newJob(t)
	for _, text := range []string{"first", "second"} {
		body := "<!-- h2surge gate -->\n" + text
		if err := os.WriteFile(filepath.Join(j.dir, "h2surge-report.md"), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := j.step(t, "load-test/comment.sh", "NAME=gate", "TOKEN=secret", "PULL_REQUEST=7", "GITHUB_API_URL="+server.URL, "GITHUB_REPOSITORY=o/r")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if got := comments[len(comments)-1]["body"]; len(comments) != 122 || got != body {
			t.Errorf("%d comments, the last %q", len(comments), got)
		}
	}
}

// TestSetup installs the programs of a release, and refuses an archive with another checksum.
func TestSetup(t *testing.T) {
	files := map[string][]byte{}
	for _, program := range []string{"h2surge", "kubectl-h2surge"} {
		name := fmt.Sprintf("%s_0.1.0_%s_%s.tar.gz", program, runtime.GOOS, runtime.GOARCH)
		files[name] = archive(t, program, "#!/bin/sh\necho "+program+"\n")
		files["checksums.txt"] = fmt.Appendf(files["checksums.txt"], "%x  %s\n", sha256.Sum256(files[name]), name)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/latest" {
			http.Redirect(w, r, "/tag/v0.1.0", http.StatusFound)
		} else if r.URL.Path != "/tag/v0.1.0" {
			content, ok := files[strings.TrimPrefix(r.URL.Path, "/download/v0.1.0/")]
			if !ok {
				http.NotFound(w, r)
			}
			_, _ = w.Write(content)
		}
	}))
	defer server.Close()
	for _, version := range []string{"latest", "v0.1.0"} {
		j := newJob(t)
		if out, err := j.step(t, "setup/install.sh", "VERSION="+version, "H2SURGE_RELEASES="+server.URL); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if got := read(t, j.outputs); got != "version=v0.1.0\n" {
			t.Errorf("outputs %q", got)
		}
		for _, program := range []string{"h2surge", "kubectl-h2surge"} {
			if got := command(t, ".", filepath.Join(strings.TrimSpace(read(t, j.path)), program)); got != program+"\n" {
				t.Errorf("%s prints %q", program, got)
			}
		}
	}
	files["checksums.txt"] = bytes.ReplaceAll(files["checksums.txt"], files["checksums.txt"][:8], []byte("00000000"))
	j := newJob(t)
	if out, err := j.step(t, "setup/install.sh", "VERSION=v0.1.0", "H2SURGE_RELEASES="+server.URL); err == nil {
		t.Errorf("an archive with another checksum was installed\n%s", out)
	}
}

// archive is a .tar.gz of one program.
func archive(t *testing.T, name, content string) []byte {
	t.Helper()
	var out bytes.Buffer
	zw := gzip.NewWriter(&out)
	tw := tar.NewWriter(zw)
	if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(tw, content); err != nil {
		t.Fatal(err)
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
