package compile

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// FuzzSchema: no schema makes its compiler panic, what is wrong with one is a line, and what is right
// stays right in its one spelling.
func FuzzSchema(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"pattern":"^a"}}}`,
		`{"$id":"http://a.example/","$anchor":"x","$ref":"#x"}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","items":[{"enum":[1.0,1e400]}]}`,
		`{"$dynamicRef":"#a","allOf":[{"$dynamicAnchor":"a"}],"if":true,"minimum":"x"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := &checker{}
		canonical := c.inlineSchema(field.NewPath("inline"), raw)
		for _, line := range ErrorLines(c.errs) {
			if strings.Contains(line, "\n") {
				t.Errorf("not a line: %q", line)
			}
		}
		if len(c.errs) > 0 {
			return
		}
		if !json.Valid([]byte(canonical)) {
			t.Fatalf("not JSON: %s", canonical)
		}
		if again := c.inlineSchema(field.NewPath("inline"), []byte(canonical)); again != canonical || len(c.errs) > 0 {
			t.Errorf("%s became %s (%v)", canonical, again, c.errs)
		}
	})
}

// FuzzPatterns: no expression makes its compiler panic, and no message quotes it.
func FuzzPatterns(f *testing.F) {
	for _, seed := range []string{"//a[1]/@b", "string(//a)", "^(a|b)+$", "/a~1b/-1", "$x", "a[", "~"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		const secret = "hunter2"
		c := &checker{}
		at := field.NewPath("a")
		c.regex(at, secret+expression)
		c.pointer(at, secret+expression)
		c.xpath(at, expression)
		for _, line := range ErrorLines(c.errs) {
			if strings.Contains(line, secret) {
				t.Errorf("quotes what could be secret: %s", line)
			}
		}
	})
}
