package documents

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func ids(c *Collection) string {
	var all []string
	c.Each(func(id string, content []byte) bool {
		all = append(all, id+"="+string(content))
		return true
	})
	return strings.Join(all, " ")
}

func TestStore(t *testing.T) {
	s := New(3)
	c, other := s.Collection("c"), s.Collection("other")
	do := func(err error, want error, content string) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("error %v, want %v", err, want)
		}
		if got := ids(c); got != content {
			t.Errorf("holds %q, want %q", got, content)
		}
	}
	do(c.Create([]byte("a"), []byte("1")), nil, "a=1")
	do(c.Create([]byte("b"), []byte("2")), nil, "a=1 b=2")
	do(c.Create([]byte("a"), []byte("3")), ErrExists, "a=1 b=2")
	do(other.Create([]byte("a"), []byte("4")), nil, "a=1 b=2")
	do(c.Create([]byte("c"), []byte("5")), ErrFull, "a=1 b=2")
	before, _ := c.Get([]byte("a"))
	ok, err := c.Replace([]byte("a"), []byte("66"))
	do(err, nil, "a=66 b=2")
	if !ok || string(before) != "1" {
		t.Errorf("replaced %v; what was read before is %q", ok, before)
	}
	if ok, _ := c.Replace([]byte("x"), nil); ok {
		t.Error("replaced what is not there")
	}
	if !c.Delete([]byte("a")) || c.Delete([]byte("a")) {
		t.Error("deletes once")
	}
	do(c.Create([]byte("c"), []byte("5")), nil, "b=2 c=5")
	c.Delete([]byte("c"))
	do(c.Create([]byte("d"), []byte("7")), nil, "b=2 d=7")
	c.Delete([]byte("b"))
	c.Delete([]byte("d"))
	do(nil, nil, "")
	other.Delete([]byte("a"))
	if s.Len() != 0 || s.bytes != 0 || c.Len() != 0 {
		t.Errorf("%d documents, %d bytes in an empty store", s.Len(), s.bytes)
	}
}

// TestUndo: the last change is taken back wholly.
func TestUndo(t *testing.T) {
	s := New(9)
	c := s.Collection("c")
	for _, id := range []string{"a", "b", "c"} {
		if err := c.Create([]byte(id), []byte(id+id)); err != nil {
			t.Fatal(err)
		}
	}
	bytes := s.bytes
	s.Commit()
	for name, change := range map[string]func(){
		"nothing":  func() {},
		"create":   func() { _ = c.Create([]byte("d"), []byte("4")) },
		"replace":  func() { _, _ = c.Replace([]byte("b"), []byte("22222")) },
		"oldest":   func() { c.Delete([]byte("a")) },
		"middle":   func() { c.Delete([]byte("b")) },
		"newest":   func() { c.Delete([]byte("c")) },
		"no such":  func() { c.Delete([]byte("x")) },
		"existing": func() { _ = c.Create([]byte("a"), []byte("4")) },
	} {
		change()
		s.Undo()
		s.Undo()
		if got := ids(c); got != "a=aa b=bb c=cc" || s.bytes != bytes || s.Len() != 3 || c.Len() != 3 || c.newest.id != "c" {
			t.Errorf("%s: %q, %d bytes of %d, %d and %d documents", name, got, s.bytes, bytes, s.Len(), c.Len())
		}
	}
	c.Delete([]byte("b"))
	s.Commit()
	if s.Undo(); ids(c) != "a=aa c=cc" {
		t.Error("what is committed is taken back")
	}
}

func TestStoreIsBoundedInBytes(t *testing.T) {
	s := New(10)
	s.bytes = maxBytes - 4
	c := s.Collection("c")
	if err := c.Create([]byte("a"), []byte("12345")); !errors.Is(err, ErrFull) {
		t.Errorf("error %v, want ErrFull", err)
	}
	if err := c.Create([]byte("a"), []byte("123")); err != nil {
		t.Error(err)
	}
	if _, err := c.Replace([]byte("a"), []byte("1234")); !errors.Is(err, ErrFull) {
		t.Errorf("error %v, want ErrFull", err)
	}
}

// The cases are those of RFC 7396, appendix A.
func TestMerge(t *testing.T) {
	for _, c := range []struct{ doc, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{`{"n":12345678901234567890.50}`, `{"m":"<&>"}`, `{"m":"<&>","n":12345678901234567890.50}`},
	} {
		got, err := Merge([]byte(c.doc), []byte(c.patch))
		if err != nil || string(got) != c.want {
			t.Errorf("%s with %s: %s, %v; want %s", c.doc, c.patch, got, err, c.want)
		}
	}
	for _, bad := range []string{"", "{", "{} {}", "x"} {
		if _, err := Merge([]byte("{}"), []byte(bad)); err == nil {
			t.Errorf("%q was taken for a merge patch", bad)
		}
	}
}

// The cases follow RFC 6902, appendix A.
func TestPatch(t *testing.T) {
	for _, c := range []struct{ doc, patch, want string }{
		{`{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux"}]`, `{"baz":"qux","foo":"bar"}`},
		{`{"foo":["bar","baz"]}`, `[{"op":"add","path":"/foo/1","value":"qux"}]`, `{"foo":["bar","qux","baz"]}`},
		{`{"foo":["bar"]}`, `[{"op":"add","path":"/foo/-","value":["abc"]}]`, `{"foo":["bar",["abc"]]}`},
		{`{"baz":"qux","foo":"bar"}`, `[{"op":"remove","path":"/baz"}]`, `{"foo":"bar"}`},
		{`{"foo":["bar","qux","baz"]}`, `[{"op":"remove","path":"/foo/1"}]`, `{"foo":["bar","baz"]}`},
		{`{"a":{"b":1}}`, `[{"op":"replace","path":"/a/b","value":null}]`, `{"a":{"b":null}}`},
		{`{"foo":{"bar":"x","w":"fred"},"q":{}}`, `[{"op":"move","from":"/foo/w","path":"/q/t"}]`, `{"foo":{"bar":"x"},"q":{"t":"fred"}}`},
		{`{"foo":["all","grass","cows","eat"]}`, `[{"op":"move","from":"/foo/1","path":"/foo/3"}]`, `{"foo":["all","cows","eat","grass"]}`},
		{`{"a":{"b":[1]}}`, `[{"op":"copy","from":"/a","path":"/c"},{"op":"add","path":"/c/b/0","value":0}]`, `{"a":{"b":[1]},"c":{"b":[0,1]}}`},
		{`{"a":1}`, `[{"op":"test","path":"/a","value":1},{"op":"replace","path":"","value":[2]}]`, `[2]`},
		{`{"a~/b":1}`, `[{"op":"replace","path":"/a~0~1b","value":2}]`, `{"a~/b":2}`},
		{`{}`, `[{"op":"add","path":"/a","value":1,"xyz":true}]`, `{"a":1}`},
	} {
		got, err := Patch([]byte(c.doc), []byte(c.patch))
		if err != nil || string(got) != c.want {
			t.Errorf("%s with %s: %s, %v; want %s", c.doc, c.patch, got, err, c.want)
		}
	}
	for _, c := range []struct {
		doc, patch string
		conflict   bool
	}{
		{`{"a":1}`, `[{"op":"test","path":"/a","value":2}]`, true},
		{`{"a":1}`, `[{"op":"replace","path":"/b","value":2}]`, true},
		{`{"a":1}`, `[{"op":"add","path":"/b/c","value":2}]`, true},
		{`{"a":[]}`, `[{"op":"add","path":"/a/1","value":2}]`, true},
		{`{"a":null}`, `[{"op":"add","path":"/a/b","value":2}]`, true},
		{`null`, `[{"op":"remove","path":"/a"}]`, true},
		{`{"a":[1]}`, `[{"op":"remove","path":"/a/01"}]`, true},
		{`{"a":{}}`, `[{"op":"move","from":"/a","path":"/a/b"}]`, true},
		{`{"a":1}`, `[{"op":"spam","path":"/a"}]`, false},
		{`{"a":1}`, `[{"op":"remove"}]`, false},
		{`{"a":1}`, `{"op":"remove"}`, false},
		{`{"a":1}`, `[{"op":"copy","path":"/a"}]`, false},
	} {
		_, err := Patch([]byte(c.doc), []byte(c.patch))
		if err == nil || errors.Is(err, ErrConflict) != c.conflict {
			t.Errorf("%s with %s: %v; conflict %v", c.doc, c.patch, err, c.conflict)
		}
	}
}

// TestPatchIsBounded: a hundred doublings of a document end early.
func TestPatchIsBounded(t *testing.T) {
	patch := "[" + strings.Repeat(`{"op":"copy","from":"","path":"/a"},{"op":"copy","from":"","path":"/b"},`, 50) + `{"op":"test","path":"","value":1}]`
	if _, err := Patch([]byte(`{"x":"y"}`), []byte(patch)); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "copies over") {
		t.Errorf("error %v", err)
	}
	patch = "[" + strings.Repeat(`{"op":"test","path":""},`, maxOperations) + `{"op":"test","path":""}]`
	if _, err := Patch([]byte("null"), []byte(patch)); err == nil || errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "1001 operations") {
		t.Errorf("error %v", err)
	}
}

func FuzzPatch(f *testing.F) {
	f.Add([]byte(`{"a":[1]}`), []byte(`[{"op":"move","from":"/a/0","path":"/b"},{"op":"copy","from":"","path":"/c"}]`))
	f.Fuzz(func(t *testing.T, doc, patch []byte) {
		if got, err := Patch(doc, patch); err == nil && !json.Valid(got) {
			t.Fatalf("%s with %s: %s is not JSON", doc, patch, got)
		}
	})
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte(`{"a":{"b":1}}`), []byte(`{"a":{"b":null,"c":[]}}`))
	f.Fuzz(func(t *testing.T, doc, patch []byte) {
		got, err := Merge(doc, patch)
		if err != nil {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("%s with %s: %s is not JSON", doc, patch, got)
		}
		again, err := Merge(got, patch)
		if err != nil || string(again) != string(got) {
			t.Errorf("%s with %s: once %s, twice %s, %v", doc, patch, got, again, err)
		}
	})
}
