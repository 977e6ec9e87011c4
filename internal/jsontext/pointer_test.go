package jsontext

import (
	"strings"
	"testing"
)

// rfc6901 is the document of RFC 6901 section 5.
const rfc6901 = `{
   "foo": ["bar", "baz"],
   "": 0,
   "a/b": 1,
   "c%d": 2,
   "e^f": 3,
   "g|h": 4,
   "i\\j": 5,
   "k\"l": 6,
   " ": 7,
   "m~n": 8
}`

const none = "\x00none"

func find(t *testing.T, pointer, doc string) string {
	t.Helper()
	p, err := ParsePointer(pointer)
	if err != nil {
		t.Fatal(err)
	}
	dst := []byte("kept")
	value, ok := p.Find(dst, []byte(doc))
	if string(dst) != "kept" {
		t.Errorf("dst is %q", dst)
	}
	if !ok {
		return none
	}
	return string(value)
}

func TestFind(t *testing.T) {
	const nested = `{"a":[{"b":[1,2,[3,{"c":"d"}]]},"x",null],"-1":"minus","01":"zero","é":{"":{"":"empty"}}}`
	for _, tc := range []struct{ name, pointer, doc, want string }{
		{"RFC 6901 5, whole", "", rfc6901, rfc6901},
		{"RFC 6901 5, array", "/foo", rfc6901, `["bar", "baz"]`},
		{"RFC 6901 5, element", "/foo/0", rfc6901, "bar"},
		{"RFC 6901 5, empty key", "/", rfc6901, "0"},
		{"RFC 6901 5, slash", "/a~1b", rfc6901, "1"},
		{"RFC 6901 5, percent", "/c%d", rfc6901, "2"},
		{"RFC 6901 5, caret", "/e^f", rfc6901, "3"},
		{"RFC 6901 5, bar", "/g|h", rfc6901, "4"},
		{"RFC 6901 5, backslash", `/i\j`, rfc6901, "5"},
		{"RFC 6901 5, quote", `/k"l`, rfc6901, "6"},
		{"RFC 6901 5, space", "/ ", rfc6901, "7"},
		{"RFC 6901 5, tilde", "/m~0n", rfc6901, "8"},
		{"~01 is ~1, not /", "/~01", `{"~1":1,"/":2}`, "1"},

		{"deep", "/a/0/b/2/1/c", nested, "d"},
		{"null is a value", "/a/2", nested, "null"},
		{"empty keys", "/é//", nested, "empty"},
		{"no member", "/b", nested, none},
		{"no element", "/a/3", nested, none},
		{"element after the last", "/a/-", nested, none},
		{"name in an array", "/a/b", nested, none},
		{"leading zero", "/a/00", nested, none},
		{"index too large for any type", "/a/99999999999999999999", nested, none},
		{"into a string", "/a/1/0", nested, none},
		{"into null", "/a/2/x", nested, none},
		{"index as a name", "/01", nested, "zero"},

		{"last", "/a/-1", nested, "null"},
		{"before the last", "/a/-2", nested, "x"},
		{"first from the end", "/a/-3/b/-1/-1/c", nested, "d"},
		{"before the first", "/a/-4", nested, none},
		{"the eighth from the end", "/-8", "[0,1,2,3,4,5,6,7,8,9,10]", "3"},
		{"the ninth from the end", "/-9", "[0,1,2,3,4,5,6,7,8,9,10]", "2"},
		{"-0", "/a/-0", nested, none},
		{"-01", "/a/-01", nested, none},
		{"a name in an object", "/-1", nested, "minus"},
		{"of an empty array", "/-1", "[]", none},

		{"duplicate names", "/a", `{"a":1,"b":2,"a":3}`, "3"},
		{"the last one lacks it", "/a/b", `{"a":{"b":1},"a":{"c":2}}`, none},
		{"the last one is no object", "/a/b", `{"a":{"b":1},"a":2}`, none},
		{"duplicates at two levels", "/a/b", `{"a":{"b":1},"a":{"b":2,"b":3},"x":{"b":4}}`, "3"},
		{"duplicate written otherwise", "/a", `{"a":1,"\u0061":2}`, "2"},

		{"space around", "", " \t\r\n[ 1 , 2 ] \n", "[ 1 , 2 ]"},
		{"string whole", "", ` "a" `, "a"},
		{"empty string", "", `""`, ""},
		{"number as written", "/n", `{"n":-1.50E+02}`, "-1.50E+02"},
		{"escapes", "", `"\"\\\/\b\f\n\r\t\u00e9\u20AC"`, "\"\\/\b\f\n\r\té€"},
		{"surrogates", "", `"\ud83d\ude00!"`, "😀!"},
		{"surrogates apart", "", `"\ud83dx\ude00\ud83d"`, "�x��"},
		{"surrogate before another character", "", `"\ud83d\u0041\ude00\ud83d\ud83d\ude00"`, "�A��😀"},
		{"not UTF-8", "", "\"a\xffb\xe2\x82\"", "a�b��"},
		{"not UTF-8 in a name", "/a�", "{\"a\xff\":1}", "1"},
		{"escapes in a name", "/a€😀", `{"a\u20ac\ud83d\ude00":1}`, "1"},
		{"longer than the name", "/a€", `{"a\u20ac\u20ac":1,"a":2,"\u0061":3}`, none},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := find(t, tc.pointer, tc.doc); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestNotJSON: invalid anywhere, also behind the value.
func TestNotJSON(t *testing.T) {
	for _, doc := range []string{
		``, ` `, `{`, `[`, `{"a":1`, `{"a":1,}`, `{"a":1]`, `{"a" 1}`, `{"a":1 "b":2}`, `{a:1}`, `{"a":}`, `{,}`, `{"a":1}}`, `{"a":1} x`,
		`{"a":1,"b":[1,]}`, `{"a":1,"b":[,]}`, `{"a":1,"b":[1 2]}`, `{"a":1,"b":[1}}`, `{"a":1,"b":{"c"}}`, `{"a":1,"b":{"c":{}]}`,
		`{"a":1,"b":01}`, `{"a":1,"b":-}`, `{"a":1,"b":1.}`, `{"a":1,"b":.5}`, `{"a":1,"b":1e}`, `{"a":1,"b":1e+}`, `{"a":1,"b":+1}`,
		`{"a":1,"b":tru}`, `{"a":1,"b":nulL}`, `{"a":1,"b":NaN}`, `{"a":1,"b":'c'}`, `{"a":1,"b":"c}`, `{"a":1,"b":"\`, `{"a":1,"b":"\x"}`,
		`{"a":1,"b":"\u12"}`, `{"a":1,"b":"\u12g4"}`, "{\"a\":1,\"b\":\"0123456789\x1f\"}", "{\"a\":1,\"b\":\"01234\x1f6789abcdef\"}", "{\"a\":1,\"b\":\"\n\"}", "\ufeff{\"a\":1}",
		"{\"a\":1,\x00}", "{\"a\":1}\x00", `{"a":1,"b":"\u0`, `{"a":1}/**/`, `[1,"a":2]`,
	} {
		for _, pointer := range []string{"", "/a", "/b", "/b/0", "/0", "/-1", "/x"} {
			if got := find(t, pointer, doc); got != none {
				t.Errorf("%q in %q: %q", pointer, doc, got)
			}
		}
	}
}

func TestDepth(t *testing.T) {
	nested := func(depth int) string {
		return strings.Repeat(`[`, depth-1) + `{"a":1}` + strings.Repeat(`]`, depth-1)
	}
	for _, pointer := range []string{"", "/0", "/-1", "/0/0/0", strings.Repeat("/0", maxDepth-1) + "/a", strings.Repeat("/-1", 40)} {
		if got := find(t, pointer, nested(maxDepth)); got == none {
			t.Errorf("%.20q: nothing at the greatest depth", pointer)
		}
		if got := find(t, pointer, nested(maxDepth+1)); got != none {
			t.Errorf("%.20q: a value although it is too deep", pointer)
		}
	}
	if got := find(t, strings.Repeat("/0", maxDepth)+"/a", nested(maxDepth+1)); got != none {
		t.Error("a value below the greatest depth")
	}
}

func TestParseErrors(t *testing.T) {
	for pointer, want := range map[string]string{
		"a":       `JSON pointer "a" does not begin with / (RFC 6901 section 3)`,
		"#/a":     `JSON pointer "#/a" does not begin with / (RFC 6901 section 3)`,
		"/a~":     `JSON pointer "/a~": ~ is followed by neither 0 nor 1 (RFC 6901 section 3)`,
		"/~0/~2b": `JSON pointer "/~0/~2b": ~ is followed by neither 0 nor 1 (RFC 6901 section 3)`,
		"/\xff":   `JSON pointer "/\xff" is not UTF-8`,
	} {
		if _, err := ParsePointer(pointer); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", pointer, err, want)
		}
	}
}
