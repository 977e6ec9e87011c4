package cookie

import (
	"bytes"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/h2surge/h2surge/internal/octet"
)

// FuzzSet: whatever comes, the jar's bounds and its bookkeeping hold, and what it sends is a field value.
func FuzzSet(f *testing.F) {
	f.Add([]byte("a=b; Path=/\na=c\nd=e; Domain=example.com; Max-Age=7; Expires=Wed, 09 Jun 2021 10:18:14 GMT"), []byte("a.example.com"), []byte("/x/y"))
	f.Add([]byte("=\n;\n=;\na=;=\n__Host-a=b; secure; path=/"), []byte("[::1]:1"), []byte("?"))
	f.Fuzz(func(t *testing.T, fields, host, path []byte) {
		var j Jar
		for i, field := range bytes.Split(fields, []byte("\n")) {
			j.Set(int64(i), i%2 == 0, host, path, field)
			check(t, &j)
		}
		if got := j.AppendHeader(nil, 0, true, host, path); !octet.IsFieldText(got) {
			t.Errorf("%q", got)
		}
	})
}

func check(t *testing.T, j *Jar) {
	t.Helper()
	total := 0
	for i := range j.cookies {
		c := &j.cookies[i]
		total += c.size()
		name, _ := j.pair(c)
		_, path := j.where(c)
		if len(name) == 0 || path[0] != '/' || i > 0 && j.cookies[i-1].after(c) {
			t.Fatalf("cookie %d: %+v %q %q", i, c, name, path)
		}
	}
	if total != len(j.octets) || total > maxOctets || len(j.cookies) > maxCookies {
		t.Fatalf("%d cookies of %d octets, %d held", len(j.cookies), total, len(j.octets))
	}
}

// lastLabel is what a Jar does without a list: each top-level label is a public suffix.
type lastLabel struct{}

func (lastLabel) PublicSuffix(domain string) string {
	return domain[strings.LastIndexByte(domain, '.')+1:]
}
func (lastLabel) String() string { return "last label" }

// tape makes choices out of fuzzed bytes.
type tape []byte

func (p *tape) pick(of ...string) string {
	if len(*p) == 0 {
		return of[0]
	}
	c := (*p)[0]
	*p = (*p)[1:]
	return of[int(c)%len(of)]
}

func (p *tape) url() string {
	return p.pick("http://", "https://") +
		p.pick("www.example.com", "example.com", "EXAMPLE.com:81", "a.www.example.com", "pcf", "x.pcf", "192.0.2.1", "192.0.2.1:8080") +
		p.pick("/", "", "/a", "/a/", "/a/b", "/ab", "/a/b/c?q=/x", "/?q")
}

// field has each attribute at most once: net/http takes the last, even an empty Domain, which the
// RFC would ignore.
func (p *tape) field() string {
	field := p.pick("a", "b", "A", "c-d") + "=" + p.pick("", "1", "2", "x=y")
	parts := []string{
		p.pick("", "; Domain=example.com", "; domain=.Example.com", "; Domain=www.example.com", "; Domain=com", "; Domain=pcf", "; Domain=192.0.2.1", "; Domain="),
		p.pick("", "; Path=/", "; path=/a", "; Path=/a/b", "; Path=a", "; Path="),
		p.pick("", "; Max-Age=1000", "; max-age=0", "; Max-Age=-1", "; Max-Age=x", "; Max-Age="),
		p.pick("", "; Expires=Wed, 09 Jun 2521 10:18:14 GMT", "; expires=Wed, 09-Jun-2021 10:18:14 GMT", "; Expires=x"),
		p.pick("", "; Secure", "; HttpOnly"),
	}
	if p.pick("", "reverse") != "" {
		slices.Reverse(parts)
	}
	return field + strings.Join(parts, "")
}

// FuzzAgainstCookiejar compares with the standard library where both follow RFC 6265: fields that
// net/http's stricter parser takes, few enough that nothing is evicted, no loopback host, which it takes for secure.
func FuzzAgainstCookiejar(f *testing.F) {
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz"))
	f.Add([]byte{0, 1, 4, 0, 1, 1, 1, 0, 0, 0, 0, 1, 0, 4})
	f.Fuzz(func(t *testing.T, b []byte) {
		oracle, err := cookiejar.New(&cookiejar.Options{PublicSuffixList: lastLabel{}})
		if err != nil {
			t.Fatal(err)
		}
		var j Jar
		var story []string
		for p := tape(b); len(p) > 0 && len(story) < 100; {
			to, field := p.url(), p.field()
			story = append(story, to+" "+field)
			compare(t, &j, oracle, to, field, p.url(), story)
		}
		check(t, &j)
	})
}

func compare(t *testing.T, j *Jar, oracle http.CookieJar, to, field, ask string, story []string) {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	response := http.Response{Header: http.Header{"Set-Cookie": {field}}}
	oracle.SetCookies(u, response.Cookies())
	now := time.Now().UnixNano()
	j.Set(now, u.Scheme == "https", []byte(u.Host), []byte(u.RequestURI()), []byte(field))

	if u, err = url.Parse(ask); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, c := range oracle.Cookies(u) {
		want = append(want, c.Name+"="+c.Value)
	}
	got := j.AppendHeader(nil, now, u.Scheme == "https", []byte(u.Host), []byte(u.RequestURI()))
	if string(got) != strings.Join(want, "; ") {
		t.Fatalf("%s\n%s: %q, want %q", strings.Join(story, "\n"), ask, got, want)
	}
}
