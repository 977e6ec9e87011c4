package cookie

import "testing"

func TestDomainMatch(t *testing.T) {
	for _, tc := range []struct {
		host, domain string
		want         bool
	}{
		{"example.com", "example.com", true},
		{"EXAMPLE.com", "example.COM", true},
		{"a.example.com", "example.com", true},
		{"a.b.Example.com", "example.com", true},
		{"example.com", "a.example.com", false},
		{"badexample.com", "example.com", false},
		{"example.org", "example.com", false},
		{"127.0.0.1", "127.0.0.1", true},
		{"127.0.0.1", "0.0.1", false},
		{"[::1.2.3.4]", "2.3.4]", false},
		{"\u212a.example", "k.example", false}, // a Kelvin sign
	} {
		if got := domainMatch([]byte(tc.host), []byte(tc.domain)); got != tc.want {
			t.Errorf("%s, %s: %v", tc.host, tc.domain, got)
		}
	}
}

func TestDefaultPath(t *testing.T) {
	for in, want := range map[string]string{
		"": "/", "a/b": "/", "*": "/", "/": "/", "/a": "/", "/a/": "/a", "/a/b": "/a", "/a/b/c": "/a/b", "//": "/",
		"/a/b?x=/y/z": "/a", "?x=/y": "/", "/?/a/b": "/",
	} {
		if got := string(defaultPath([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestPathMatch(t *testing.T) {
	for _, tc := range []struct {
		path, prefix string
		want         bool
	}{
		{"/", "/", true},
		{"", "/", true},
		{"/a", "/", true},
		{"/a", "/a", true},
		{"/a/", "/a", true},
		{"/a/b", "/a", true},
		{"/a/b", "/a/", true},
		{"/ab", "/a", false},
		{"/", "/a", false},
		{"/a", "/a/", false},
		{"/A", "/a", false},
		{"*", "/", false},
	} {
		if got := pathMatch([]byte(tc.path), []byte(tc.prefix)); got != tc.want {
			t.Errorf("%s, %s: %v", tc.path, tc.prefix, got)
		}
	}
}
