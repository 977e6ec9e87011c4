package curl

import (
	"strings"
	"testing"

	"github.com/h2surge/h2surge/internal/convert"
)

// TestDotSegments has paths as curl sends them.
func TestDotSegments(t *testing.T) {
	for line, want := range map[string]string{
		"http://h/a/../b?x=/../":                 "/b?x=/../",
		"http://h/a/%2E./b?x=/%2e/":              "/b?x=/%2e/",
		"http://h/a/%2e/b%2ec/%2e%2e%2e/d/.%2E":  "/a/b%2ec/%2e%2e%2e/",
		"http://h/a/./b/..":                      "/a/",
		"http://h/a/b/.?..":                      "/a/b/?..",
		"http://h/../..":                         "/",
		"http://h//a//../b":                      "//a/b",
		"http://h//../b":                         "/b",
		"http://h/a/..b/.c/...":                  "/a/..b/.c/...",
		"h/api/v1/../v2/{id}/ü":                  "/api/v2/{id}/%C3%BC",
		"http://u:p@[::1]:8080/a/../b":           "/b",
		"http://h_1:99999/a/../b":                "/b",
		"http://h?a/../b":                        "/?a/../b",
		"http://h/a?b?c/../d":                    "/a?b?c/../d",
		"--path-as-is http://h/a/../b?x=/./":     "/a/../b?x=/./",
		"--no-path-as-is http://h/a/../b?x=/../": "/b?x=/../",
	} {
		d := convert.New("", convert.Options{})
		given, urls := parseFlags(d, strings.Fields(line))
		c := &converter{Draft: d, flagValues: values(d, given), given: given}
		if !c.address(urls) || c.url.Path != want {
			t.Errorf("%s: %q, want %q", line, c.url.Path, want)
		}
	}
}
