package jsontext

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMembers(t *testing.T) {
	for doc, want := range map[string][]string{
		`{"a":1,"b":"x"}`: {"1", `"x"`},
		` { "b" : [ 1 ] , "c":2, "\u0061" : {"a":3} } `: {`{"a":3}`, "[ 1 ]"},
		`{"a":1,"a":2}`: {"2", ""},
		`{}`:            {"", ""},
		` { } `:         {"", ""},
		`{"a":1`:        nil,
		`{"a":1]`:       nil,
		`{"a":1}}`:      nil,
		`{"a":1,}`:      nil,
		`{"a":1 "b":2}`: nil,
		`{"a":[1}`:      nil,
		`["a"]`:         nil,
		`"a"`:           nil,
		``:              nil,
	} {
		values := [][]byte{[]byte("from before"), nil}
		if ok := Members(values, []byte(doc), []string{"a", "b"}); ok != (want != nil) {
			t.Errorf("%s: %v", doc, ok)
		} else if ok {
			if diff := cmp.Diff(want, []string{string(values[0]), string(values[1])}); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", doc, diff)
			}
		}
	}
}

// TestIndentation: white space of any length, at the end of a document, too, is skipped and nothing else.
func TestIndentation(t *testing.T) {
	for n := range 40 {
		blank := "\n" + strings.Repeat(" ", n)
		doc := blank + `{` + blank + `"a"` + blank + `:` + blank + `[` + blank + `1` + blank + `,` + blank + `2` + blank + `]` + blank + `}` + blank
		var values [1][]byte
		if !Members(values[:], []byte(doc), []string{"a"}) || strings.Join(strings.Fields(string(values[0])), "") != "[1,2]" {
			t.Errorf("%d spaces: %q", n, values[0])
		}
	}
}
