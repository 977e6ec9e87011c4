package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
