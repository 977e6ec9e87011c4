package jsontext

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// FuzzFind compares with what encoding/json makes of the document.
func FuzzFind(f *testing.F) {
	for _, doc := range []string{rfc6901, `{"a":[{"b":1},2],"a":{"b":"\ud83d\ude00\ud83d","c":[[],{}]}}`, "[1,-0.5e3,true,\"a\xff\"]", ` "x" `,
		`{"a":[1,{"b":"c\"d"}],"\u0061":2}`, `[[],{},"x",-1e5]`} {
		for _, pointer := range []string{"", "/a/b", "/foo/-1", "/2", "/~0~1/", "/a/1/b", "/3"} {
			f.Add([]byte(doc), pointer)
		}
	}
	f.Fuzz(func(t *testing.T, doc []byte, pointer string) {
		p, err := ParsePointer(pointer)
		if err != nil {
			return
		}
		if len(p.tokens) == 1 && bytes.HasPrefix(bytes.TrimLeft(doc, " \t\r\n"), []byte("{")) {
			values := make([][]byte, 1)
			raw, found := p.Raw(doc)
			if Members(values, doc, []string{p.tokens[0].name}); !bytes.Equal(values[0], raw) && found {
				t.Fatalf("member %q in %q: %q, want %q", pointer, doc, values[0], raw)
			}
		}
		got, ok := p.Find(nil, doc)
		want, wantOK := oracle(doc, pointer)
		if ok != wantOK {
			t.Fatalf("%q in %q: %v, want %v", pointer, doc, ok, wantOK)
		}
		if !ok {
			return
		}
		if text, isString := want.(string); isString {
			if string(got) != text {
				t.Fatalf("%q in %q: %q, want %q", pointer, doc, got, text)
			}
		} else if !reflect.DeepEqual(decode(got), want) {
			t.Fatalf("%q in %q: %q, want %v", pointer, doc, got, want)
		}
	})
}

func decode(doc []byte) any {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return err
	}
	return v
}

func oracle(doc []byte, pointer string) (v any, ok bool) {
	if !json.Valid(doc) || depthOf(doc) > maxDepth {
		return nil, false
	}
	v = decode(doc)
	for _, token := range strings.Split(pointer, "/")[1:] {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch in := v.(type) {
		case map[string]any:
			if v, ok = in[token]; !ok {
				return nil, false
			}
		case []any:
			i := oracleIndex(token, len(in))
			if i < 0 || i >= len(in) {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func oracleIndex(token string, length int) int {
	i, err := strconv.Atoi(token)
	if err != nil || strconv.Itoa(i) != token { // "01", "+1", "-0"
		return math.MaxInt
	}
	if i < 0 {
		return length + i
	}
	return i
}

func depthOf(doc []byte) int {
	deepest, depth := 0, 0
	for d := json.NewDecoder(bytes.NewReader(doc)); ; {
		token, err := d.Token()
		if err != nil {
			return deepest
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			deepest = max(deepest, depth)
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}

// FuzzPath: no query and no document make a search panic, or find a value in a document that is not valid.
func FuzzPath(f *testing.F) {
	for _, path := range []string{"$..*", "$.a[?@.b==$.c && length(@.d)>1]", "$[::-1]['a',0]", "$[?match(@.x,'a.*')]", "$[?count(@..*)!=value(@.y)]"} {
		f.Add(path, `{"a":[{"b":1,"x":"abc"}],"c":1}`)
	}
	f.Fuzz(func(t *testing.T, path, doc string) {
		p, err := ParsePath(path)
		if (p == nil) == (err == nil) {
			t.Fatalf("%q: %v, %v", path, p, err)
		}
		if err != nil {
			return
		}
		raw, ok := p.Raw([]byte(doc))
		if ok && (!json.Valid(raw) || !json.Valid([]byte(doc)) || depthOf([]byte(doc)) > maxDepth) {
			t.Errorf("%s on %s: %s", path, doc, raw)
		}
	})
}
