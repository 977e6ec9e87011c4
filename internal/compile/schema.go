package compile

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// schema is what the CRD says about a value.
type schema struct {
	Type    string `json:"type"`
	Format  string `json:"format"`
	Default any    `json:"default"`

	Pattern   string   `json:"pattern"`
	Enum      []any    `json:"enum"`
	Minimum   *float64 `json:"minimum"`
	Maximum   *float64 `json:"maximum"`
	MinLength int      `json:"minLength"`
	MaxLength int      `json:"maxLength"` // 0: none, as in MaxItems and MaxFields
	MinItems  int      `json:"minItems"`
	MaxItems  int      `json:"maxItems"`
	MinFields int      `json:"minProperties"`
	MaxFields int      `json:"maxProperties"`

	Required   []string   `json:"required"`
	Properties properties `json:"properties"`
	// Values are the values of a map, which has no Properties. Keys are its keys; nil: all are allowed.
	Values *schema `json:"additionalProperties"`
	Keys   *schema `json:"-"` // no CRD has it
	Items  *schema `json:"items"`
	// Open objects may have fields that are not in Properties.
	Open        bool     `json:"x-kubernetes-preserve-unknown-fields"`
	IntOrString bool     `json:"x-kubernetes-int-or-string"`
	ListType    string   `json:"x-kubernetes-list-type"`
	ListKeys    []string `json:"x-kubernetes-list-map-keys"`
	// Rules are those of the two forms that a rule has.
	Rules []rule `json:"x-kubernetes-validations"`
}

// properties are the fields of an object in the order of their names.
type properties []property

type property struct {
	name string
	*schema
}

// field returns the schema of a field; nil: there is none.
func (p properties) field(name string) *schema {
	if i, found := slices.BinarySearchFunc(p, name,
		func(at property, name string) int { return strings.Compare(at.name, name) }); found {
		return p[i].schema
	}
	return nil
}

func (p properties) names() (names []string) {
	for _, field := range p {
		names = append(names, field.name)
	}
	return names
}

// contentSchema returns that of a ConfigMap or a Secret. Their keys become names of files, so they have the bounds of
// the API server, which references to keys have, too.
func contentSchema(kind string) *schema {
	text, key := &schema{Type: "string"}, schemaOf("templates.bodyFrom.configMapKeyRef.key")
	texts := &schema{Type: "object", Keys: key, Values: text}
	base64 := &schema{Type: "object", Keys: key, Values: &schema{Type: "string", Format: "byte"}}
	metadata, flag := loadTestSchema.Properties.field("metadata"), &schema{Type: "boolean"}
	fields := properties{{"apiVersion", text}, {"binaryData", base64}, {"data", texts}, {"immutable", flag},
		{"kind", text}, {"metadata", metadata}}
	if kind == "Secret" {
		fields = properties{{"apiVersion", text}, {"data", base64}, {"immutable", flag}, {"kind", text},
			{"metadata", metadata}, {"stringData", texts}, {"type", text}}
	}
	return &schema{Type: "object", Properties: fields}
}

// specSchema is the schema of the spec of a LoadTest.
var specSchema = loadTestSchema.Properties.field("spec")

// schemaOf returns the schema of a field of the spec. The path has no indices: targets.tls.cipherSuites. The schema of
// a list is that of the list.
func schemaOf(path string) *schema {
	at := specSchema
	for name := range strings.SplitSeq(path, ".") {
		if at.Items != nil {
			at = at.Items
		}
		at = at.Properties.field(name)
	}
	return at
}

// Range returns the least and the greatest value of a number of the spec, such as runner.shards.
func Range(path string) (least, greatest int64) {
	s := schemaOf(path)
	return int64(*s.Minimum), int64(*s.Maximum)
}

// rule is a rule of the CRD in CEL that has one of two forms. All others are written in Go.
type rule struct {
	message string
	// low and high are the least and the greatest duration of a rule about a duration.
	duration  bool
	low, high time.Duration
	// oneOf are fields of which exactly one must be set, or at most one.
	oneOf  []string
	atMost bool
}

// broken reports whether a value breaks the rule.
func (r *rule) broken(value any) bool {
	switch v := value.(type) {
	case string:
		given, err := time.ParseDuration(v)
		return r.duration && (err != nil || given < r.low || given > r.high)
	case map[string]any:
		n := 0
		for _, name := range r.oneOf {
			if _, set := v[name]; set {
				n++
			}
		}
		return len(r.oneOf) > 0 && (n > 1 || n == 0 && !r.atMost)
	}
	return false
}

// duration returns the rule about a duration; nil: the value is not a duration.
func (s *schema) duration() *rule {
	if len(s.Rules) == 1 && s.Rules[0].duration {
		return &s.Rules[0]
	}
	return nil
}

// patterns are the compiled patterns.
var patterns sync.Map

func matches(pattern, s string) bool {
	compiled, ok := patterns.Load(pattern)
	if !ok {
		compiled, _ = patterns.LoadOrStore(pattern, regexp.MustCompile(pattern))
	}
	return compiled.(*regexp.Regexp).MatchString(s)
}
