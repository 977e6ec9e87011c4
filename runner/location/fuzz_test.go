package location

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
)

// removeDotSegments is RFC 3986 5.2.4 to the letter, for a path that begins with a slash.
func removeDotSegments(in string) string {
	var out string
	for in != "" {
		switch {
		case strings.HasPrefix(in, "/./"):
			in = in[2:]
		case in == "/.":
			in = "/"
		case strings.HasPrefix(in, "/../"), in == "/..":
			in = "/" + strings.TrimPrefix(in[3:], "/")
			out = out[:max(0, strings.LastIndexByte(out, '/'))]
		default:
			end := len(in)
			if i := strings.IndexByte(in[1:], '/'); i >= 0 {
				end = i + 1
			}
			out, in = out+in[:end], in[end:]
		}
	}
	return out
}

// FuzzResolve: what comes out is a request's target, resolves to itself, has the path that the RFC's
// own algorithm finds, and is what net/url finds.
func FuzzResolve(f *testing.F) {
	for _, s := range []string{"../..//g/./h?x#y", "//Host:8080", "https://[::1]/..", "?", "/a/b/../../..", "é", "http:g", "a:b", ".", "/%41%zz"} {
		f.Add("/b/c/d;p?q", s)
	}
	f.Fuzz(func(t *testing.T, path, reference string) {
		for _, c := range []byte(path) {
			if c <= ' ' || c >= 0x7f || c == '#' {
				return // no request has such a path
			}
		}
		path = "/" + path
		got, err := resolve(t, "http://host"+path, reference)
		if err != nil {
			return
		}
		if got.Path[0] != '/' || len(got.Authority) == 0 || strings.ContainsAny(got.String(), " \r\n#") {
			t.Errorf("%q: %s", reference, got)
		}
		if again, err := resolve(t, "http://host/", got.String()); err != nil || !strings.Contains(path, "/.") && again.String() != got.String() {
			t.Errorf("%s resolves to %s, %v", got, again, err)
		}
		againstAlgorithm(t, path, reference, got)
		againstURL(t, path, reference, got)
	})
}

func againstAlgorithm(t *testing.T, path, reference string, got Reference) {
	t.Helper()
	reference, _, _ = strings.Cut(reference, "#")
	reference, _, _ = strings.Cut(reference, "?")
	if reference == "" || reference[0] == '/' && !strings.HasPrefix(reference, "//") || strings.ContainsAny(reference, ":") {
		return
	}
	base, _, _ := strings.Cut(path, "?")
	merged := base[:strings.LastIndexByte(base, '/')+1] + reference
	if strings.HasPrefix(reference, "//") {
		_, after, _ := strings.Cut(reference[2:], "/")
		merged = "/" + after
	}
	want := string(appendEncoded(nil, []byte(removeDotSegments(merged))))
	if have, _, _ := strings.Cut(string(got.Path), "?"); have != want {
		t.Errorf("%q + %q: path %q, want %q", path, reference, have, want)
	}
}

// againstURL leaves out where net/url goes its own ways: it encodes characters that we let stand
// when others must be encoded, cleans the request's own path and drops its empty query, and joins
// empty segments. It decodes the host.
func againstURL(t *testing.T, path, reference string, got Reference) {
	t.Helper()
	const odd = "\"<>\\^`{|}[]"
	if strings.ContainsAny(path+reference, odd) || strings.Contains(string(got.Path)+path, "//") || strings.Contains(path, "/.") || strings.HasSuffix(path, "?") {
		return
	}
	if strings.ContainsFunc(reference, func(r rune) bool { return r > 127 }) || bytes.IndexByte(got.Authority, '%') >= 0 {
		return
	}
	base, err := url.Parse("http://host" + path)
	if err != nil {
		return
	}
	ref, err := url.Parse(reference)
	if err != nil {
		return
	}
	u := base.ResolveReference(ref)
	want := u.Scheme + "://" + strings.TrimSuffix(strings.ToLower(u.Host), ":") + u.RequestURI()
	if have := got.String(); have != want {
		t.Errorf("%q + %q: %s, net/url has %s", path, reference, have, want)
	}
}
