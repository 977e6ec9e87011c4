package extract

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const session = `{
  "type": "object",
  "required": ["id"],
  "properties": {"id": {"type": "string", "pattern": "^[a-z]+$"}, "n": {"type": "integer", "maximum": 10}, "next": {"$ref": "#"}},
  "additionalProperties": false
}`

func TestSchema(t *testing.T) {
	for _, tc := range []struct {
		name, schema, body string
		want               bool
	}{
		{"valid", session, `{"id":"abc","n":10}`, true},
		{"recursion", session, `{"id":"abc","next":{"id":"d","next":{}}}`, false},
		{"pattern", session, `{"id":"ABC"}`, false},
		{"required", session, `{}`, false},
		{"additional", session, `{"id":"a","x":1}`, false},
		{"integer of 2020-12", session, `{"id":"a","n":1.0}`, true},
		{"maximum", session, `{"id":"a","n":11}`, false},
		{"number too large for anything", session, `{"id":"a","n":1e1000000000}`, false},
		{"not JSON", session, `{"id":"a"`, false},
		{"two documents", session, `{"id":"a"} {}`, false},
		{"empty", session, ``, false},
		{"too deep", `true`, strings.Repeat("[", 20000) + strings.Repeat("]", 20000), false},
		{"true", `true`, `1`, true},
		{"false", `false`, `1`, false},
		{"2020-12 without $schema", `{"prefixItems":[{"type":"string"}]}`, `[1]`, false},
		{"draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}`, `[1]`, false},
		{"own $id", `{"$id":"https://example.com/a","$defs":{"b":{"$id":"b","type":"null"}},"$ref":"b"}`, `null`, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := NewSchema("schema.json", []byte(tc.schema), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Valid([]byte(tc.body)); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

func TestSchemaRejection(t *testing.T) {
	s, err := NewSchema("schema.json", []byte(`{"required":["id"],"properties":{"n":{"type":"integer"}}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		`{"id":1,"n":2}`: "",
		`{"n":"x"}`:      "at '': missing property 'id'; at '/n': got string, want integer",
		`{`:              "not a JSON text: unexpected EOF",
	} {
		if got := s.Rejection([]byte(body)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func TestSchemaErrors(t *testing.T) {
	for schema, want := range map[string]string{
		`{`:                                     "JSON Schema: unexpected EOF",
		``:                                      "JSON Schema: EOF",
		`{"type":"text"}`:                       "JSON Schema: ",
		`{"pattern":"("}`:                       "JSON Schema: ",
		`1`:                                     "JSON Schema: ",
		`{"$ref":"other.json"}`:                 `references to other documents are not allowed: "other.json"`,
		`{"$ref":"file:///etc/passwd"}`:         `references to documents elsewhere are not allowed: "file:///etc/passwd"`,
		`{"$ref":"https://example.com/x#/a"}`:   `references to documents elsewhere are not allowed: "https://example.com/x"`,
		`{"$schema":"https://example.com/own"}`: `references to documents elsewhere are not allowed: "https://example.com/own"`,
		`{"$ref":"#/$defs/none"}`:               "JSON Schema: ",
		`{"$id":"file:///a/b","$ref":"c"}`:      `references to documents elsewhere are not allowed: "file:///a/c"`,
	} {
		if _, err := NewSchema("schema.json", []byte(schema), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", schema, err, want)
		}
	}
}

// TestSchemaOfSeveralDocuments: a schema refers to itself and to the documents next to it, and to no others.
func TestSchemaOfSeveralDocuments(t *testing.T) {
	documents := map[string]string{
		"common.json":      `{"$defs":{"Id":{"type":"string","pattern":"^[0-9]+$"},"Slice":{"$ref":"types/slice.json"}}}`,
		"types/slice.json": `{"required":["sst"],"properties":{"id":{"$ref":"../common.json#/$defs/Id"}}}`,
		"bad.json":         `{`,
	}
	load := func(name string) ([]byte, error) {
		if text, ok := documents[name]; ok {
			return []byte(text), nil
		}
		return nil, errors.New("there is no file " + name)
	}
	s, err := NewSchema("root.json", []byte(`{"properties":{"id":{"$ref":"common.json#/$defs/Id"},"slice":{"$ref":"common.json#/$defs/Slice"},"in":{"$ref":"root.json"}}}`), load)
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]bool{
		`{"id":"1","slice":{"sst":1,"id":"2"},"in":{"in":{"id":"3"}}}`: true, `{"id":"x"}`: false, `{"slice":{"id":"2"}}`: false,
		`{"slice":{"sst":1,"id":"y"}}`: false, `{"in":{"in":{"id":"x"}}}`: false,
	} {
		if got := s.Valid([]byte(body)); got != want {
			t.Errorf("%s: %v, want %v", body, got, want)
		}
	}
	for ref, want := range map[string]string{
		"missing.json": "there is no file missing.json", "../../missing.json": "there is no file missing.json", "bad.json": "bad.json: unexpected EOF",
		"file:///etc/passwd": `references to documents elsewhere are not allowed: "file:///etc/passwd"`, "common.json#/$defs/None": "None",
	} {
		if _, err := NewSchema("root.json", []byte(`{"$ref":"`+ref+`"}`), load); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", ref, err, want)
		}
	}
	documents = map[string]string{}
	for i := range MaxDocuments + 1 {
		documents[fmt.Sprintf("%d.json", i)] = fmt.Sprintf(`{"$ref":"%d.json"}`, i+1)
	}
	if _, err := NewSchema("root.json", []byte(`{"$ref":"0.json"}`), load); err == nil || !strings.Contains(err.Error(), "references to more than 1000 documents") {
		t.Errorf("too many documents: %v", err)
	}
}

func BenchmarkSchema(b *testing.B) {
	s, err := NewSchema("schema.json", []byte(session), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		s.Valid([]byte(`{"id":"abc","n":10}`))
	}
}
