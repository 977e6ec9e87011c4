package pointer

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	const doc = ` {"foo": ["bar", {"x":[1, 2 ,[3]]}], "": 0, "a/b": 1, "m~n": 8, "k\"l": 6, "\u0065": "\u00e9\n",
		"n": null, "o": {}, "s": "a{\"[", "last": true} `
	for _, c := range []struct {
		pointer, want string // "": absent
	}{
		{"/foo/0", `"bar"`},
		{"/foo/1/x/2/0", `3`},
		{"/foo/1/x/1", `2`},
		{"/foo/2", ""},
		{"/foo/00", ""},
		{"/foo/-", ""},
		{"/foo/bar", ""},
		{"/", "0"},
		{"/a~1b", "1"},
		{"/m~0n", "8"},
		{`/k"l`, "6"},
		{"/e", `"\u00e9\n"`},
		{"/n", "null"},
		{"/n/x", ""},
		{"/o/x", ""},
		{"/o", "{}"},
		{"/last", "true"},
		{"", strings.TrimSpace(doc)},
	} {
		p, err := Parse(c.pointer)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := p.Find([]byte(doc))
		if string(got) != c.want || ok != (c.want != "") {
			t.Errorf("%q: %q, %v; want %q", c.pointer, got, ok, c.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, s := range []string{"a", "/~", "/a/~2", "a/b"} {
		if _, err := Parse(s); err == nil || !strings.Contains(err.Error(), "RFC 6901") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{`"a"`: "a", `"\u00e9\n"`: "é\n", "12.50": "12.50", "null": "null", `{"a":1}`: `{"a":1}`, "": ""} {
		if got := Text([]byte(in)); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
		if got := string(AppendText(nil, []byte(in))); got != want {
			t.Errorf("AppendText %s: %q, want %q", in, got, want)
		}
	}
}

// find is the oracle: the same by way of encoding/json.
func find(doc json.RawMessage, p Pointer) (json.RawMessage, bool) {
	doc = bytes.TrimSpace(doc)
	if len(p.tokens) == 0 {
		return doc, true
	}
	rest := Pointer{p.tokens[1:]}
	switch doc[0] {
	case '[':
		var list []json.RawMessage
		i := p.tokens[0].index
		if json.Unmarshal(doc, &list) != nil || i < 0 || i >= len(list) {
			return nil, false
		}
		return find(list[i], rest)
	case '{':
		d := json.NewDecoder(bytes.NewReader(doc))
		_, _ = d.Token()
		for d.More() {
			key, _ := d.Token()
			var value json.RawMessage
			if d.Decode(&value) != nil {
				return nil, false
			}
			if key == p.tokens[0].name {
				return find(value, rest)
			}
		}
	}
	return nil, false
}

func FuzzFind(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"c\"d"}],"\u0061":2}`), "/a/1/b")
	f.Add([]byte(`[[],{},"x",-1e5]`), "/3")
	f.Add([]byte(` "x" `), "")
	f.Fuzz(func(t *testing.T, doc []byte, s string) {
		p, err := Parse(s)
		if err != nil {
			return
		}
		if !json.Valid(doc) {
			p.Find(doc) // does not panic
			return
		}
		got, ok := p.Find(doc)
		want, found := find(doc, p)
		if ok != found || !bytes.Equal(got, want) {
			t.Errorf("%q in %q: %q, %v; want %q, %v", s, doc, got, ok, want, found)
		}
		_ = Text(got)
	})
}
