package location

import (
	"errors"
	"strings"
	"testing"
)

// resolve is AppendResolved for a request to a URL.
func resolve(t testing.TB, base, reference string) (Reference, error) {
	t.Helper()
	scheme, rest, _ := strings.Cut(base, "://")
	authority, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	out, r, err := AppendResolved([]byte("before"), []byte(scheme), []byte(authority), []byte(path), []byte(reference))
	if want := "before" + string(r.Scheme) + string(r.Authority) + string(r.Path); string(out) != want {
		t.Errorf("%q: appended %q, want %q", reference, out, want)
	}
	return r, err
}

func (r Reference) String() string {
	return string(r.Scheme) + "://" + string(r.Authority) + string(r.Path)
}

// TestExamples are those of RFC 3986 5.4.1 and 5.4.2, without fragments.
func TestExamples(t *testing.T) {
	for _, tc := range []struct {
		reference, want string
		err             error
	}{
		{reference: "g:h", err: errScheme},
		{reference: "g", want: "http://a/b/c/g"},
		{reference: "./g", want: "http://a/b/c/g"},
		{reference: "g/", want: "http://a/b/c/g/"},
		{reference: "/g", want: "http://a/g"},
		{reference: "//g", want: "http://g/"}, // RFC 9110 4.2.3: an empty path is "/"
		{reference: "?y", want: "http://a/b/c/d;p?y"},
		{reference: "g?y", want: "http://a/b/c/g?y"},
		{reference: "#s", want: "http://a/b/c/d;p?q"},
		{reference: "g#s", want: "http://a/b/c/g"},
		{reference: "g?y#s", want: "http://a/b/c/g?y"},
		{reference: ";x", want: "http://a/b/c/;x"},
		{reference: "g;x", want: "http://a/b/c/g;x"},
		{reference: "g;x?y#s", want: "http://a/b/c/g;x?y"},
		{reference: "", want: "http://a/b/c/d;p?q"},
		{reference: ".", want: "http://a/b/c/"},
		{reference: "./", want: "http://a/b/c/"},
		{reference: "..", want: "http://a/b/"},
		{reference: "../", want: "http://a/b/"},
		{reference: "../g", want: "http://a/b/g"},
		{reference: "../..", want: "http://a/"},
		{reference: "../../", want: "http://a/"},
		{reference: "../../g", want: "http://a/g"},

		{reference: "../../../g", want: "http://a/g"},
		{reference: "../../../../g", want: "http://a/g"},
		{reference: "/./g", want: "http://a/g"},
		{reference: "/../g", want: "http://a/g"},
		{reference: "g.", want: "http://a/b/c/g."},
		{reference: ".g", want: "http://a/b/c/.g"},
		{reference: "g..", want: "http://a/b/c/g.."},
		{reference: "..g", want: "http://a/b/c/..g"},
		{reference: "./../g", want: "http://a/b/g"},
		{reference: "./g/.", want: "http://a/b/c/g/"},
		{reference: "g/./h", want: "http://a/b/c/g/h"},
		{reference: "g/../h", want: "http://a/b/c/h"},
		{reference: "g;x=1/./y", want: "http://a/b/c/g;x=1/y"},
		{reference: "g;x=1/../y", want: "http://a/b/c/y"},
		{reference: "g?y/./x", want: "http://a/b/c/g?y/./x"},
		{reference: "g?y/../x", want: "http://a/b/c/g?y/../x"},
		{reference: "g#s/./x", want: "http://a/b/c/g"},
		{reference: "g#s/../x", want: "http://a/b/c/g"},
		{reference: "http:g", err: errNoHost}, // for strict parsers it has no host
	} {
		got, err := resolve(t, "http://a/b/c/d;p?q", tc.reference)
		if !errors.Is(err, tc.err) || err == nil && got.String() != tc.want {
			t.Errorf("%q: %s, %v, want %s, %v", tc.reference, got, err, tc.want, tc.err)
		}
	}
}

func TestResolve(t *testing.T) {
	const base = "http://pcf.core.svc:8080/v1/sessions?supp=1"
	for _, tc := range []struct {
		name, base, reference, want string
		err                         error
	}{
		{name: "absolute", reference: "http://pcf.core.svc:8080/v1/sessions/7", want: "http://pcf.core.svc:8080/v1/sessions/7"},
		{name: "lower case", reference: "HTTPS://PCF.Core/V1/X%2f?Y", want: "https://pcf.core/V1/X%2f?Y"},
		{name: "lower case, inherited", base: "HTTP://PCF:80/V1", reference: "X", want: "http://pcf:80/X"},
		{name: "default port stays", reference: "https://a:443/x", want: "https://a:443/x"},
		{name: "empty port goes", reference: "//a:/x", want: "http://a/x"},
		{name: "no path", reference: "https://a", want: "https://a/"},
		{name: "no path but a query", reference: "https://a?x=/y", want: "https://a/?x=/y"},
		{name: "no path but a fragment", reference: "https://a#x", want: "https://a/"},
		{name: "scheme inherited", base: "https://a/", reference: "//b/x", want: "https://b/x"},
		{name: "empty query", reference: "?", want: "http://pcf.core.svc:8080/v1/sessions?"},
		{name: "query of the request goes with its path", reference: "sessions", want: "http://pcf.core.svc:8080/v1/sessions"},
		{name: "colon after a slash", reference: "./a:b", want: "http://pcf.core.svc:8080/v1/a:b"},
		{name: "colon in the query", reference: "?a:b", want: "http://pcf.core.svc:8080/v1/sessions?a:b"},
		{name: "question mark in the fragment", reference: "#a?b", want: "http://pcf.core.svc:8080/v1/sessions?supp=1"},
		{name: "slashes in the request's query", base: "http://a/b/c?d=/e/f", reference: "g", want: "http://a/b/g"},
		{name: "request without a path", base: "http://a", reference: "g", want: "http://a/g"},
		{name: "request without a path, empty", base: "http://a", reference: "", want: "http://a/"},
		{name: "empty segments", base: "http://a//b", reference: "..//g//", want: "http://a//g//"},
		{name: "dot segments of the request", base: "http://a/b/../c/./d", reference: "g", want: "http://a/c/g"},
		{name: "dots that are encoded stay", reference: "/a/%2e%2e/b", want: "http://pcf.core.svc:8080/a/%2e%2e/b"},
		{name: "braces stay", reference: "/a/{b}|c", want: "http://pcf.core.svc:8080/a/{b}|c"},
		{name: "octets above 127", reference: "/é?ü", want: "http://pcf.core.svc:8080/%C3%A9?%C3%BC"},
		{name: "IPv4", reference: "//127.0.0.1:80/", want: "http://127.0.0.1:80/"},
		{name: "IPv6", reference: "//[2001:DB8::1.2.3.4]:80/", want: "http://[2001:db8::1.2.3.4]:80/"},
		{name: "IPv6, no port", reference: "//[::1]", want: "http://[::1]/"},

		{name: "space", reference: "/a b", err: errOctet},
		{name: "trailing space in the fragment", reference: "/a# ", err: errOctet},
		{name: "tab", reference: "/a\tb", err: errOctet},
		{name: "line feed", reference: "/a\nx: y", err: errOctet},
		{name: "NUL", reference: "\x00", err: errOctet},
		{name: "DEL", reference: "/\x7f", err: errOctet},
		{name: "no scheme before the colon", reference: ":80/x", err: errColon},
		{name: "digit before the colon", reference: "10.0.0.1:80/x", err: errColon},
		{name: "host and port without a scheme", reference: "localhost:80/x", err: errScheme},
		{name: "other scheme", reference: "ftp://a/b", err: errScheme},
		{name: "other scheme without authority", reference: "mailto:a@b", err: errScheme},
		{name: "scheme only", reference: "http:", err: errNoHost},
		{name: "scheme and path", reference: "http:/x", err: errNoHost},
		{name: "empty authority", reference: "http:///x", err: errNoHost},
		{name: "empty authority, no scheme", reference: "///x", err: errNoHost},
		{name: "port only", reference: "http://:80/x", err: errNoHost},
		{name: "user information", reference: "http://a@b/", err: errUserinfo},
		{name: "user information, empty", reference: "//@b", err: errUserinfo},
		{name: "port that is none", reference: "http://a:x/", err: errAuthority},
		{name: "port too large", reference: "http://a:65536/", err: errAuthority},
		{name: "two ports", reference: "http://a:1:2/", err: errAuthority},
		{name: "name not ASCII", reference: "http://é/", err: errAuthority},
		{name: "bracket", reference: "http://a]/", err: errAuthority},
		{name: "bracket not closed", reference: "http://[::1/", err: errAuthority},
		{name: "after the bracket", reference: "http://[::1]x/", err: errAuthority},
		{name: "empty brackets", reference: "http://[]/", err: errAuthority},
		{name: "no address in the brackets", reference: "http://[abc]/", err: errAuthority},
		{name: "zone", reference: "http://[fe80::1%25eth0]/", err: errAuthority},
		{name: "backslash", reference: `http://a\b/`, err: errAuthority},
		{name: "request of another scheme", base: "ws://a/", reference: "b", err: errScheme},
		{name: "request without authority", base: "http:///", reference: "b", err: errNoHost},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.base == "" {
				tc.base = base
			}
			got, err := resolve(t, tc.base, tc.reference)
			if !errors.Is(err, tc.err) || err == nil && got.String() != tc.want {
				t.Errorf("%s, %v, want %s, %v", got, err, tc.want, tc.err)
			}
		})
	}
}

// TestAsterisk: the target of OPTIONS has no path to be relative to.
func TestAsterisk(t *testing.T) {
	_, r, err := AppendResolved(nil, []byte("http"), []byte("a"), []byte("*"), []byte("b?c"))
	if err != nil || r.String() != "http://a/b?c" {
		t.Errorf("%s, %v", r, err)
	}
}

func TestCutPort(t *testing.T) {
	for in, want := range map[string][2]string{
		"a.example": {"a.example"}, "a.example:80": {"a.example", "80"}, "a.example:": {"a.example"}, "": {},
		"[::1]": {"[::1]"}, "[::1]:8080": {"[::1]", "8080"}, "127.0.0.1:1": {"127.0.0.1", "1"},
	} {
		if host, port := CutPort([]byte(in)); string(host) != want[0] || string(port) != want[1] {
			t.Errorf("%q: %q and %q, want %q", in, host, port, want)
		}
	}
}

func TestSameAuthority(t *testing.T) {
	for _, tc := range []struct {
		schemeA, authA, schemeB, authB string
		want                           bool
	}{
		{"http", "a", "http", "a", true},
		{"http", "a", "HTTP", "A:80", true},
		{"http", "a:", "http", "a:80", true},
		{"http", "a", "http", "a:443", false},
		{"https", "a", "https", "a:443", true},
		{"https", "a:443", "http", "a:443", false},
		{"http", "a:8080", "http", "a:8081", false},
		{"http", "a:8080", "http", "b:8080", false},
		{"http", "[::1]", "http", "[::1]:80", true},
		{"http", "[::1]:80", "http", "[::1]:81", false},
	} {
		if got := SameAuthority([]byte(tc.schemeA), []byte(tc.authA), []byte(tc.schemeB), []byte(tc.authB)); got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}
