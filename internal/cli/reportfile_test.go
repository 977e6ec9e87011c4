package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/internal/report/verdict"
)

// TestReportFormat: the name of the file says what is in it.
func TestReportFormat(t *testing.T) {
	for name, begins := range map[string]string{
		"r.json": `{`, "r.html": "<!doctype html>", "r.txt": "small", "r": "{", "r.html.gz": "\x1f\x8b", "r.html.json": "{",
	} {
		saved := filepath.Join(t.TempDir(), name)
		got := h2surge(t, newFakeEngine(answered(100, 0, 1000)), nil, "run", "-q", "-f", "-", "--output-file", saved)
		if got.code != 0 {
			t.Fatalf("%s: exit code %d: %s", name, got.code, got.errors)
		}
		b, err := os.ReadFile(saved)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.TrimPrefix(string(b), "h2surge report of "); !strings.Contains(text[:min(60, len(text))], begins) {
			t.Errorf("%s begins with %.60q, want %q", name, b, begins)
		}
	}
}

// TestReportReplaces: a report replaces the content of what has the name, and not a symbolic link or an open file.
func TestReportReplaces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.json")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	deep := filepath.Join(t.TempDir(), "deep")
	if err := os.Mkdir(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		in("latest"): file, in("dangling"): "new.json", in("first"): in("second"), in("second"): "newer.json",
		in("elsewhere"): deep, filepath.Join(deep, "up"): "../up.json",
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "redirected"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // it is only read
	for _, tc := range []struct{ name, file string }{
		{in("latest"), file},
		{in("dangling"), in("new.json")},
		{in("first"), in("newer.json")},
		{in("elsewhere/up"), filepath.Join(filepath.Dir(deep), "up.json")},
		{fmt.Sprintf("/proc/self/fd/%d", f.Fd()), f.Name()},
	} {
		before, err := os.Lstat(tc.name)
		if err != nil {
			t.Fatal(err)
		}
		got := h2surge(t, newFakeEngine(answered(100, 0, 1000)), nil, "run", "-q", "-f", "-", "--output-file", tc.name)
		after, err := os.Lstat(tc.name)
		if got.code != 0 || err != nil || after.Mode() != before.Mode() {
			t.Errorf("%s: exit code %d, %s; %v", tc.name, got.code, got.errors, err)
		}
		if again := h2surge(t, nil, nil, "report", tc.file); again.code != 0 || !strings.Contains(again.out, "Verdict: Passed") {
			t.Errorf("%s: the saved report: %+v", tc.name, again)
		}
	}
}

// TestReportAsPage goes from one file to the other.
func TestReportAsPage(t *testing.T) {
	saved := filepath.Join(t.TempDir(), "r.json")
	if got := h2surge(t, newFakeEngine(answered(100, 0, 1000)), nil, "run", "-q", "-f", "-", "--output-file", saved); got.code != 0 {
		t.Fatal(got)
	}
	got := h2surge(t, nil, nil, "report", saved, "-o", "html")
	if got.code != 0 || !strings.Contains(got.out, `<table id="windows">`) || !strings.Contains(got.out, "default/small") {
		t.Errorf("exit code %d, errors %q, %d bytes", got.code, got.errors, len(got.out))
	}
}

// TestOutputsFail: an output that fails does not keep the report from the others.
func TestOutputsFail(t *testing.T) {
	r := newReceiver(t, 404, "no such page")
	saved := filepath.Join(t.TempDir(), "r.json")
	got := h2surge(t, newFakeEngine(answered(100, 0, 1000)), nil, "run", "-q", "-f", "-", "--otlp-endpoint", r.URL,
		"--output-file", "/dev/full", "--output-file", saved)
	const want = "/dev/full: writing the report as JSON: write /dev/full: no space left on device\n" +
		"--otlp-endpoint: the receiver answered with status 404: no such page\n"
	if got.code != verdict.ExitError || got.errors != want || !strings.Contains(got.out, "Verdict: Passed") {
		t.Errorf("exit code %d, errors %q, want %q; output\n%s", got.code, got.errors, want, got.out)
	}
	if again := h2surge(t, nil, nil, "report", saved); again.code != 0 || !strings.Contains(again.out, "Verdict: Passed") {
		t.Errorf("the saved report: %+v", again)
	}
}
