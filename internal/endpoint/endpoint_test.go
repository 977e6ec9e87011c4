package endpoint

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestParse(t *testing.T) {
	for raw, want := range map[string]rv.Endpoint{
		"http://a":                 {Scheme: "http", Authority: "a", Address: "a:80"},
		"https://a.b":              {Scheme: "https", Authority: "a.b", Address: "a.b:443"},
		"http://a:8080/":           {Scheme: "http", Authority: "a:8080", Address: "a:8080"},
		"http://10.0.0.1:1/x/y//":  {Scheme: "http", Authority: "10.0.0.1:1", Address: "10.0.0.1:1", BasePath: "/x/y"},
		"https://[2001:db8::1]/é":  {Scheme: "https", Authority: "[2001:db8::1]", Address: "[2001:db8::1]:443", BasePath: "/%C3%A9"},
		"http://[::1]:65535/a%20b": {Scheme: "http", Authority: "[::1]:65535", Address: "[::1]:65535", BasePath: "/a%20b"},
	} {
		got, err := Parse(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", raw, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for raw, want := range map[string]string{
		"":                         "must begin with http:// or https://",
		"ftp://a":                  "must begin with http:// or https://",
		"http:a":                   "must have a host",
		"http:///x":                "must have a host",
		"http://u:geheim@a":        "must not have a user or password; send an authorization header instead",
		"http://a#f":               "must not have a fragment (#)",
		"http://a?q":               "must not have a query (?); it belongs to the path of a template",
		"http://a?":                "must not have a query (?); it belongs to the path of a template",
		"http://a_b-/":             "has a host that is neither a name nor an IP address",
		"http://a:":                "must have a port between 1 and 65535",
		"http://a:0":               "must have a port between 1 and 65535",
		"http://a:65536":           "must have a port between 1 and 65535",
		"http://u:geheim@a:x":      "is not a URL of the form http://host:port/path",
		"http://geheim a/":         "is not a URL of the form http://host:port/path",
		"http://[10.0.0.1]/geheim": "is not a URL of the form http://host:port/path",
	} {
		_, err := Parse(raw)
		if err == nil || err.Error() != want || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
}

// FuzzParse: what comes out can be dialled and written into a request.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"http://a:1/b", "https://[::1]/", "http://a%41/", "http://a//", "http://a/%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		e, err := Parse(raw)
		if err != nil {
			return
		}
		again, err := Parse(e.Scheme + "://" + e.Authority + e.BasePath)
		if diff := cmp.Diff(e, again); err != nil || diff != "" {
			t.Errorf("%q: %v (-first +again):\n%s", raw, err, diff)
		}
		if strings.ContainsAny(e.Authority+e.BasePath, " \r\n") || strings.HasSuffix(e.BasePath, "/") {
			t.Errorf("%q: %+v", raw, e)
		}
	})
}
