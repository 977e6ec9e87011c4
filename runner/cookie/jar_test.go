package cookie

import (
	"fmt"
	"strings"
	"testing"
)

const second = int64(1e9)

// set takes fields of responses from https://www.example.com/a/b.
func set(j *Jar, now int64, fields ...string) {
	for _, f := range fields {
		j.Set(now, true, []byte("www.Example.com:8443"), []byte("/a/b?q=/c/d"), []byte(f))
	}
}

func header(j *Jar, now int64, url string) string {
	scheme, rest, _ := strings.Cut(url, "://")
	i := strings.IndexByte(rest, '/')
	return string(j.AppendHeader(nil, now, scheme == "https", []byte(rest[:i]), []byte(rest[i:])))
}

func TestSet(t *testing.T) {
	const now, url = 1_700_000_000 * second, "https://www.example.com/a/c"
	for _, tc := range []struct {
		name, field string
		// ask is the URL of the next request, the page's own folder unless given; want its Cookie.
		ask, want string
	}{
		{name: "RFC 6265 3.1", field: "SID=31d4d96e407aad42", want: "SID=31d4d96e407aad42"},
		{name: "3.1 attributes", field: "SID=31d4; Path=/; Secure; HttpOnly", ask: "https://www.example.com/", want: "SID=31d4"},
		{name: "5.2 no equals sign", field: "SID"},
		{name: "5.2 no equals sign before attributes", field: "SID; a=b"},
		{name: "5.2 no name", field: "=x"},
		{name: "5.2 empty", field: ""},
		{name: "5.2 empty value", field: "a=", want: "a="},
		{name: "5.2 white space", field: "\t a b \t=\t c d ;", want: "a b=c d"},
		{name: "5.2 equals sign in the value", field: "a=b=c", want: "a=b=c"},
		{name: "5.2 quotes stay", field: `a="b c"`, want: `a="b c"`},
		{name: "5.2 unknown attributes", field: "a=b; SameSite=Strict; x; ;;=; =y", want: "a=b"},
		{name: "RFC 6265bis 5.6 control character", field: "a=b\x01c"},
		{name: "RFC 6265bis 5.6 control character in an attribute", field: "a=b; x=\x7f"},
		{name: "RFC 6265bis 5.6 splitting", field: "a=b\r\nx: y"},
		{name: "a tab is no such character", field: "a=b\tc", want: "a=b\tc"},

		{name: "5.2.1 past", field: "a=b; Expires=Wed, 21 Oct 2015 07:28:00 GMT"},
		{name: "5.2.1 future", field: "a=b; expires=Wed, 21 Oct 2515 07:28:00 GMT", want: "a=b"},
		{name: "5.2.1 not a date", field: "a=b; Expires=yesterday", want: "a=b"},
		{name: "5.2.1 the last", field: "a=b; Expires=21 Oct 2015 07:28:00; Expires=21 Oct 2515 07:28:00", want: "a=b"},
		{name: "5.2.2 positive", field: "a=b; Max-Age=1", want: "a=b"},
		{name: "5.2.2 zero", field: "a=b; MAX-AGE=0"},
		{name: "5.2.2 negative", field: "a=b; Max-Age=-7"},
		{name: "5.2.2 huge", field: "a=b; Max-Age=99999999999999999999999", want: "a=b"},
		{name: "5.2.2 not a number", field: "a=b; Max-Age=0x", want: "a=b"},
		{name: "5.2.2 plus", field: "a=b; Max-Age=+0", want: "a=b"},
		{name: "5.2.2 minus only", field: "a=b; Max-Age=-", want: "a=b"},
		{name: "5.2.2 empty", field: "a=b; Max-Age", want: "a=b"},
		{name: "5.3 Max-Age has precedence", field: "a=b; Max-Age=60; Expires=Wed, 21 Oct 2015 07:28:00 GMT", want: "a=b"},
		{name: "5.3 Max-Age has precedence, other order", field: "a=b; Expires=Wed, 21 Oct 2515 07:28:00 GMT; Max-Age=0"},

		{name: "5.2.3 wider", field: "a=b; Domain=example.com", ask: "https://other.EXAMPLE.com:1/a/", want: "a=b"},
		{name: "5.2.3 leading dot", field: "a=b; domain=.eXample.com", ask: "https://example.com/a/", want: "a=b"},
		{name: "5.2.3 itself", field: "a=b; Domain=www.example.com", ask: "https://x.www.example.com/a/", want: "a=b"},
		{name: "5.2.3 empty is no attribute", field: "a=b; Domain=example.com; Domain=", ask: "https://example.com/a/", want: "a=b"},
		{name: "5.2.3 a dot is an empty one", field: "a=b; Domain=example.com; Domain=.", ask: "https://example.com/a/"},
		{name: "5.3 narrower", field: "a=b; Domain=x.www.example.com"},
		{name: "5.3 another", field: "a=b; Domain=example.org"},
		{name: "5.3 suffix of a label", field: "a=b; Domain=ample.com"},
		{name: "5.3 public suffix", field: "a=b; Domain=com"},
		{name: "5.3 trailing dot is another name", field: "a=b; Domain=example.com."},
		{name: "5.3 host only", field: "a=b", ask: "https://x.www.example.com/a/"},
		{name: "the port is no part", field: "a=b", ask: "https://WWW.example.com:1/a/", want: "a=b"},

		{name: "5.1.4 default path", field: "a=b", ask: "https://www.example.com/ab"},
		{name: "5.1.4 default path itself", field: "a=b", ask: "https://www.example.com/a?x", want: "a=b"},
		{name: "5.2.4 path", field: "a=b; Path=/", ask: "https://www.example.com/", want: "a=b"},
		{name: "5.2.4 path elsewhere", field: "a=b; Path=/z", ask: "https://www.example.com/z/y", want: "a=b"},
		{name: "5.2.4 relative is the default", field: "a=b; Path=z", want: "a=b"},
		{name: "5.2.4 the last", field: "a=b; Path=/z; Path=", want: "a=b"},

		{name: "5.2.5 secure", field: "a=b; secure", ask: "http://www.example.com/a/"},
		{name: "5.2.5 with a value", field: "a=b; Secure=no", ask: "http://www.example.com/a/"},
		{name: "not secure", field: "a=b", ask: "http://www.example.com/a/", want: "a=b"},

		{name: "RFC 6265bis __Secure-", field: "__Secure-a=b; Secure", want: "__Secure-a=b"},
		{name: "RFC 6265bis __Secure- without", field: "__SECURE-a=b"},
		{name: "RFC 6265bis __Host-", field: "__Host-a=b; Secure; Path=/", want: "__Host-a=b"},
		{name: "RFC 6265bis __Host- no Secure", field: "__Host-a=b; Path=/"},
		{name: "RFC 6265bis __Host- no path", field: "__host-a=b; Secure"},
		{name: "RFC 6265bis __Host- other path", field: "__Host-a=b; Secure; Path=/a"},
		{name: "RFC 6265bis __Host- domain", field: "__Host-a=b; Secure; Path=/; Domain=www.example.com"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var j Jar
			set(&j, now, tc.field)
			if tc.ask == "" {
				tc.ask = url
			}
			if got := header(&j, now, tc.ask); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestOtherHosts: addresses and names without a dot have cookies of their own only.
func TestOtherHosts(t *testing.T) {
	for _, tc := range []struct {
		host, domain, ask string
		want              bool
	}{
		{"127.0.0.1:80", "127.0.0.1", "127.0.0.1", true},
		{"127.0.0.1", "0.0.1", "127.0.0.1", false},
		{"127.0.0.1", "127.0.0.1", "x.127.0.0.1", false},
		{"[::1]:80", "[::1]", "[::1]", true},
		{"[::1]", "", "[::2]", false},
		{"pcf", "pcf", "PCF:80", true},
		{"pcf", "pcf", "x.pcf", false},
		{"x.pcf", "pcf", "x.pcf", false},
		{"pcf.core.svc", "core.svc", "udm.core.svc", true},
	} {
		var j Jar
		j.Set(0, false, []byte(tc.host), []byte("/"), []byte("a=b; Domain="+tc.domain))
		if got := header(&j, 0, "http://"+tc.ask+"/") != ""; got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}

func TestPrefixesNeedASecureConnection(t *testing.T) {
	var j Jar
	for _, f := range []string{"__Secure-a=b; Secure", "__Host-a=b; Secure; Path=/", "c=d; Secure"} {
		j.Set(0, false, []byte("h"), []byte("/"), []byte(f))
	}
	if got := header(&j, 0, "https://h/"); got != "c=d" {
		t.Errorf("%q", got)
	}
}

// TestOrder is RFC 6265 5.4 step 2: a replaced cookie keeps its creation time.
func TestOrder(t *testing.T) {
	var j Jar
	set(&j, 0, "a=1; Path=/", "b=2; Path=/a/b", "c=3; Path=/a", "d=4; Path=/a/b", "e=5; Path=/", "b=6; Path=/a/b", "B=7; Path=/a/b")
	if got, want := header(&j, 0, "https://www.example.com/a/b"), "b=6; d=4; B=7; c=3; a=1; e=5"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	set(&j, 0, "b=; Path=/a/b; Max-Age=0", "c=; Path=/; Max-Age=0", "b=8; Path=/a/b")
	if got, want := header(&j, 0, "https://www.example.com/a/b"), "d=4; B=7; b=8; c=3; a=1; e=5"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestIdentity(t *testing.T) {
	var j Jar
	set(&j, 0, "a=1; Path=/", "a=2; Path=/; Domain=example.com", "a=3; Path=/a", "a=4; Path=/; Domain=WWW.example.com")
	if got, want := header(&j, 0, "https://www.example.com/a"), "a=3; a=4; a=2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTimePasses(t *testing.T) {
	var j Jar
	const start = 1_700_000_000 * second
	set(&j, start, "a=1; Max-Age=10", "b=2; Expires=Tue, 14 Nov 2023 22:13:25 GMT", "c=3")
	for _, tc := range []struct {
		after int64
		want  string
	}{{0, "a=1; b=2; c=3"}, {5*second - 1, "a=1; b=2; c=3"}, {5 * second, "a=1; c=3"}, {10*second - 1, "a=1; c=3"}, {10 * second, "c=3"}, {1e18, "c=3"}} {
		if got := header(&j, start+tc.after, "https://www.example.com/a"); got != tc.want {
			t.Errorf("after %d ns: %q, want %q", tc.after, got, tc.want)
		}
	}
	set(&j, start, "c=4; Max-Age=1")
	j.Clear()
	if got := header(&j, start, "https://www.example.com/a"); got != "" {
		t.Errorf("cleared, and still %q", got)
	}
}

func TestBounds(t *testing.T) {
	long := func(n int) string { return strings.Repeat("v", n) }
	var j Jar
	set(&j, 0, "a="+long(maxPair), "b="+long(maxPair-1), "c=1; Path=/"+long(maxAttribute), "d=1; Domain="+long(maxAttribute+1))
	if got, want := header(&j, 0, "https://www.example.com/a"), "b="+long(maxPair-1)+"; c=1; d=1"; got != want {
		t.Errorf("%d octets, want %d", len(got), len(want))
	}
	j.Clear()
	j.Set(0, true, []byte("h"), []byte("/"+long(maxOctets)+"/"), []byte("a=b"))
	if len(j.cookies) != 0 {
		t.Error("a path of more than the jar's size is kept")
	}
}

func TestEviction(t *testing.T) {
	const url = "https://www.example.com/a"
	var j Jar
	for i := range maxCookies {
		set(&j, 0, fmt.Sprintf("n%d=v", i))
	}
	set(&j, 0, "n0=new", "n1=short; Max-Age=1", "n1=kept", "x=y")
	got := header(&j, 0, url)
	if n := strings.Count(got, "=v"); n != maxCookies-3 || !strings.HasPrefix(got, "n0=new; n1=kept; n3=v; ") || !strings.HasSuffix(got, "; x=y") {
		t.Errorf("n2 was set longest ago: %d old ones in %q", n, got)
	}
	set(&j, 0, "n50=soon; Max-Age=1")
	set(&j, second, "z=z")
	got = header(&j, second, url)
	if strings.Contains(got, "n50") || strings.Count(got, "=") != maxCookies || !strings.HasPrefix(got, "n0=new; n1=kept; n3=v; ") {
		t.Errorf("what has expired goes first: %q", got)
	}
	j.Clear()
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		set(&j, 0, name+"="+strings.Repeat(name, maxPair-1))
	}
	if got := header(&j, 0, url); !strings.HasPrefix(got, "c=c") || len(j.octets) > maxOctets {
		t.Errorf("%d octets: %.10q", len(j.octets), got)
	}
}
