package extract

import (
	"strconv"
	"strings"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/message"
)

const none = "\x00none"

func exchange() *message.Exchange {
	return &message.Exchange{
		Request: &message.Message{
			Method: []byte("POST"), Path: []byte("/a?b=c"), Body: []byte(`{"id":["x","y"]}`),
			Fields: []message.Field{{Name: []byte("accept"), Value: []byte("*/*")}},
		},
		Response: &message.Message{
			Status: 201, Body: []byte(`{"a":{"b":"c\u00e4"},"n":[1,2]}`),
			Fields: []message.Field{
				{Name: []byte("location"), Value: []byte("http://h/app-sessions/17?x")},
				{Name: []byte("empty")},
				{Name: []byte("location"), Value: []byte("second")},
			},
		},
		BodySize: 31, ResponseTime: 1_500_000,
	}
}

func value(t *testing.T, s rv.Source, x *message.Exchange) string {
	t.Helper()
	e, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	dst := append(make([]byte, 0, 64), "kept"...)
	got, ok := e.Value(dst, x)
	if string(dst) != "kept" {
		t.Errorf("dst is %q", dst)
	}
	if !ok {
		return none
	}
	return string(got)
}

func TestValue(t *testing.T) {
	for _, tc := range []struct {
		name   string
		source rv.Source
		want   string
	}{
		{"header", rv.Source{Kind: rv.SourceHeader, Name: "location"}, "http://h/app-sessions/17?x"},
		{"empty header", rv.Source{Kind: rv.SourceHeader, Name: "empty"}, ""},
		{"all lines", rv.Source{Kind: rv.SourceHeader, Name: "location", Joined: true}, "http://h/app-sessions/17?x, second"},
		{"all lines of none", rv.Source{Kind: rv.SourceHeader, Name: "accept", Joined: true}, none},
		{"no header", rv.Source{Kind: rv.SourceHeader, Name: "accept"}, none},
		{"status", rv.Source{Kind: rv.SourceStatus}, "201"},
		{"body", rv.Source{Kind: rv.SourceBody}, `{"a":{"b":"c\u00e4"},"n":[1,2]}`},
		{"body in digits", rv.Source{Kind: rv.SourceBodyHex, Regex: "^.{8}"}, "7b226122"},
		{"body size", rv.Source{Kind: rv.SourceBodySize}, "31"},
		{"response time", rv.Source{Kind: rv.SourceResponseTime}, "1500000"},
		{"pointer", rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/a/b"}, "cä"},
		{"pointer to an array", rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/n"}, "[1,2]"},
		{"pointer to nothing", rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/b"}, none},
		{"method", rv.Source{Kind: rv.SourceRequestMethod}, "POST"},
		{"path", rv.Source{Kind: rv.SourceRequestPath}, "/a?b=c"},
		{"request header", rv.Source{Kind: rv.SourceRequestHeader, Name: "accept"}, "*/*"},
		{"no request header", rv.Source{Kind: rv.SourceRequestHeader, Name: "location"}, none},
		{"request body", rv.Source{Kind: rv.SourceRequestBody}, `{"id":["x","y"]}`},
		{"request pointer", rv.Source{Kind: rv.SourceRequestJSONPointer, Pointer: "/id/-1"}, "y"},
		{"request path of JSON", rv.Source{Kind: rv.SourceRequestJSONPath, JSONPath: "$.id[?@>'x']"}, "y"},

		{"regex whole", rv.Source{Kind: rv.SourceHeader, Name: "location", Regex: `[0-9]+`}, "17"},
		{"regex group", rv.Source{Kind: rv.SourceHeader, Name: "location", Regex: `/([a-z-]+)/([0-9]+)`, Group: 2}, "17"},
		{"regex without a match", rv.Source{Kind: rv.SourceHeader, Name: "location", Regex: `x{9}`}, none},
		{"regex without this group", rv.Source{Kind: rv.SourceHeader, Name: "location", Regex: `(z)?app`, Group: 1}, none},
		{"regex with this group empty", rv.Source{Kind: rv.SourceHeader, Name: "location", Regex: `(z*)app`, Group: 1}, ""},
		{"regex on nothing", rv.Source{Kind: rv.SourceHeader, Name: "empty", Regex: `^$`}, ""},
		{"regex on no value", rv.Source{Kind: rv.SourceHeader, Name: "none", Regex: `^$`}, none},
		{"regex on a value that was made", rv.Source{Kind: rv.SourceStatus, Regex: `(.)01`, Group: 1}, "2"},
		{"regex on a pointer", rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/a/b", Regex: `.$`}, "ä"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := value(t, tc.source, exchange()); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

var kinds = []rv.SourceKind{
	rv.SourceHeader, rv.SourceStatus, rv.SourceBody, rv.SourceBodySize, rv.SourceResponseTime, rv.SourceJSONPointer, rv.SourceJSONPath, rv.SourceXPath,
	rv.SourceRequestMethod, rv.SourceRequestPath, rv.SourceRequestHeader, rv.SourceRequestBody, rv.SourceRequestJSONPointer,
	rv.SourceRequestJSONPath,
}

// TestNeeds: what an extractor says it needs not can be missing, and without what it needs there is no value.
func TestNeeds(t *testing.T) {
	for _, kind := range kinds {
		s := rv.Source{Kind: kind, Name: "location", JSONPath: "$.a", XPath: "/*"}
		if kind == rv.SourceRequestJSONPath {
			s.JSONPath = "$.id"
		}
		if kind == rv.SourceRequestHeader {
			s.Name = "accept"
		}
		e, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		full := func() *message.Exchange {
			x := exchange()
			if kind == rv.SourceXPath {
				x.Response.Body = []byte("<a/>")
			}
			return x
		}
		for what, tc := range map[string]struct {
			needs  bool
			remove func(*message.Exchange)
		}{
			"the body":    {e.NeedsBody(), func(x *message.Exchange) { x.Cut = true }},
			"the fields":  {e.NeedsFields(), func(x *message.Exchange) { x.Response.Fields = nil }},
			"the request": {e.NeedsRequest(), func(x *message.Exchange) { x.Request = nil }},
		} {
			x := full()
			tc.remove(x)
			if _, ok := e.Value(nil, x); ok == tc.needs {
				t.Errorf("%s without %s, which it needs (%v): a value %v", kind, what, tc.needs, ok)
			}
		}
	}
}

func TestNoResponse(t *testing.T) {
	for _, kind := range []rv.SourceKind{rv.SourceHeader, rv.SourceStatus, rv.SourceBody, rv.SourceJSONPointer, rv.SourceJSONPath, rv.SourceXPath} {
		s := rv.Source{Kind: kind, Name: "location", JSONPath: "$.a", XPath: "/*"}
		if got := value(t, s, &message.Exchange{}); got != none {
			t.Errorf("%s: %q", kind, got)
		}
	}
	if got := value(t, rv.Source{Kind: rv.SourceStatus}, &message.Exchange{Response: &message.Message{}}); got != none {
		t.Errorf("no status yet: %q", got)
	}
}

// twoParts is a response with a JSON part and parts of octets.
func twoParts() *message.Exchange {
	x := exchange()
	x.Response.Fields = []message.Field{{Name: []byte("content-type"), Value: []byte("multipart/related; boundary=b")}}
	x.Response.Body = []byte("--b\r\nContent-Type: application/json\r\n\r\n{\"n1\":{\"contentId\":\"n1msg\"}}" +
		"\r\n--b\r\nContent-Type: application/vnd.3gpp.5gnas\r\nContent-ID: <n1msg>\r\n\r\n\x7e\x00\xff" +
		"\r\n--b\r\nContent-Type: application/vnd.3gpp.ngap\r\nContent-ID: n2msg\r\n\r\n<a>b</a>\r\n--b--")
	x.BodySize = int64(len(x.Response.Body))
	return x
}

func TestParts(t *testing.T) {
	x := twoParts()
	for _, tc := range []struct {
		source rv.Source
		want   string
	}{
		{rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/n1/contentId", Part: "application/json"}, "n1msg"},
		{rv.Source{Kind: rv.SourceJSONPath, JSONPath: "$..contentId", Part: "application/json"}, "n1msg"},
		{rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/n1/contentId"}, none},
		{rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/n1", Part: "n1msg"}, none},
		{rv.Source{Kind: rv.SourceBody, Part: "n1msg"}, "\x7e\x00\xff"},
		{rv.Source{Kind: rv.SourceBodyHex, Part: "n1msg"}, "7e00ff"},
		{rv.Source{Kind: rv.SourceBodyHex, Part: "n1msg", Regex: "^7e(..)", Group: 1}, "00"},
		{rv.Source{Kind: rv.SourceBodySize, Part: "n1msg"}, "3"},
		{rv.Source{Kind: rv.SourceBodySize}, strconv.FormatInt(x.BodySize, 10)},
		{rv.Source{Kind: rv.SourceXPath, XPath: "//a", Part: "application/vnd.3gpp.ngap"}, "b"},
		{rv.Source{Kind: rv.SourceBody, Part: "n3msg"}, none},
	} {
		if got := value(t, tc.source, x); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.source, got, tc.want)
		}
	}
	x.Cut = true
	if got := value(t, rv.Source{Kind: rv.SourceBodySize, Part: "n1msg"}, x); got != none {
		t.Errorf("a part of a cut body: %q", got)
	}
}

func TestProblemOfAPart(t *testing.T) {
	for want, edit := range map[string]func(*rv.Source, *message.Exchange){
		"":                                   func(*rv.Source, *message.Exchange) {},
		"the content does not have the part": func(s *rv.Source, _ *message.Exchange) { s.Part = "n3msg" },
		"content-type is not multipart (RFC 2046 5.1)":                               func(_ *rv.Source, x *message.Exchange) { x.Response.Fields = nil },
		"the content has no line with two hyphens and the boundary (RFC 2046 5.1.1)": func(_ *rv.Source, x *message.Exchange) { x.Response.Body = []byte("{}") },
	} {
		s, x := rv.Source{Kind: rv.SourceBody, Part: "n1msg"}, twoParts()
		edit(&s, x)
		e, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := e.Problem(x); err != nil {
			got = err.Error()
		}
		if _, ok := e.Value(nil, x); got != want || ok != (want == "") {
			t.Errorf("%q and a value %v, want %q", got, ok, want)
		}
	}
}

func TestNewErrors(t *testing.T) {
	for _, tc := range []struct {
		source rv.Source
		want   string
	}{
		{rv.Source{}, `kind: unknown source ""`},
		{rv.Source{Kind: "trailer"}, `kind: unknown source "trailer"`},
		{rv.Source{Kind: rv.SourceHeader}, `name: "" is not the lower-case name of a header field`},
		{rv.Source{Kind: rv.SourceRequestHeader, Name: "Accept"}, `name: "Accept" is not the lower-case name`},
		{rv.Source{Kind: rv.SourceJSONPointer, Pointer: "a"}, `pointer: JSON pointer "a" does not begin with /`},
		{rv.Source{Kind: rv.SourceRequestJSONPointer, Pointer: "/~"}, `pointer: JSON pointer "/~": ~ is followed`},
		{rv.Source{Kind: rv.SourceJSONPath, JSONPath: "$.a["}, "jsonPath: position 5: a selector is missing"},
		{rv.Source{Kind: rv.SourceRequestJSONPath, JSONPath: "id"}, "jsonPath: position 1: a path begins with $"},
		{rv.Source{Kind: rv.SourceXPath, XPath: "//a["}, `xpath: "//a[": `},
		{rv.Source{Kind: rv.SourceXPath, XPath: "//processing-instruction()"}, `processing instructions cannot be selected`},
		{rv.Source{Kind: rv.SourceXPath, XPath: "id('x')"}, `xpath: "id('x')": `},
		{rv.Source{Kind: rv.SourceXPath}, `xpath: "": `},
		{rv.Source{Kind: rv.SourceBody, Regex: "("}, "regex: error parsing regexp"},
		{rv.Source{Kind: rv.SourceBody, Regex: "(a)", Group: 2}, "group: 2: must be from 0 to 1"},
		{rv.Source{Kind: rv.SourceBody, Regex: "(a)", Group: -1}, "group: -1: must be from 0 to 1"},
		{rv.Source{Kind: rv.SourceBody, Group: 1}, "group: needs regex"},
		{rv.Source{Kind: rv.SourceStatus, Part: "n1msg"}, "part: goes with sources of the content, not with status"},
		{rv.Source{Kind: rv.SourceRequestBody, Part: "n1msg"}, "part: goes with sources of the content, not with requestBody"},
	} {
		if _, err := New(tc.source); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %s", tc.source, err, tc.want)
		}
	}
}
