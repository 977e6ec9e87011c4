package cli

import (
	"net/url"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/internal/cli/report"
)

// Cutting a URL loses nothing of it but the fragment, and both halves are what they are taken
// for.
func FuzzSplitURL(f *testing.F) {
	for _, s := range []string{"http://h", "http://h:1/a?b#c", "http://h?x", "https://[::1]:8/%2f", "h:1", "", "http://", "http://u@h/", "HTTP://h/://"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		base, path := splitURL(raw)
		if !strings.HasPrefix(path, "/") {
			t.Fatalf("path %q", path)
		}
		whole, err := url.Parse(raw)
		if err != nil || whole.Scheme == "" || whole.Host == "" {
			if base != raw {
				t.Fatalf("%q became %q", raw, base)
			}
			return
		}
		again, err := url.Parse(base)
		if err != nil || again.Host != whole.Host || again.Path != "" || again.RawQuery != "" {
			t.Fatalf("%q: base %q: %v", raw, base, err)
		}
		withoutFragment, _, _ := strings.Cut(raw, "#")
		if base+path != withoutFragment && base+strings.TrimPrefix(path, "/") != withoutFragment {
			t.Fatalf("%q became %q and %q", raw, base, path)
		}
	})
}

// A report file may hold anything: it is read or refused.
func FuzzReadReport(f *testing.F) {
	f.Add(`{"apiVersion":"runner.h2surge.io/v1alpha1","kind":"Report"}`)
	f.Add("\x1f\x8b")
	f.Add("null")
	f.Fuzz(func(t *testing.T, s string) {
		if r, err := report.Read(strings.NewReader(s)); (r == nil) == (err == nil) {
			t.Fatalf("%v, %v", r, err)
		}
	})
}
