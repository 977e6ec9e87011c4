package compile

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/h2surge/h2surge/config/crd"
	"github.com/h2surge/h2surge/internal/lazy"
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
	MaxLength *int     `json:"maxLength"`
	MinItems  int      `json:"minItems"`
	MaxItems  *int     `json:"maxItems"`
	MinFields int      `json:"minProperties"`
	MaxFields *int     `json:"maxProperties"`

	Required   []string           `json:"required"`
	Properties map[string]*schema `json:"properties"`
	// Values are the values of a map, which has no Properties.
	Values *schema `json:"additionalProperties"`
	Items  *schema `json:"items"`
	// Open objects may have fields that are not in Properties.
	Open        bool     `json:"x-kubernetes-preserve-unknown-fields"`
	IntOrString bool     `json:"x-kubernetes-int-or-string"`
	ListType    string   `json:"x-kubernetes-list-type"`
	ListKeys    []string `json:"x-kubernetes-list-map-keys"`
	Rules       []rule   `json:"x-kubernetes-validations"`
}

// loadTestSchema is that of a LoadTest with its metadata and status.
var loadTestSchema = sync.OnceValue(func() *schema { return parsedSchema(crd.LoadTest) })

func parsedSchema(text []byte) *schema {
	root := &schema{}
	if err := json.Unmarshal(text, root); err != nil {
		panic(err) // the schema is part of the program
	}
	return root
}

// contentSchema returns that of a ConfigMap or a Secret.
func contentSchema(kind string) *schema {
	text := &schema{Type: "string"}
	texts := &schema{Type: "object", Values: text}
	base64 := &schema{Type: "object", Values: &schema{Type: "string", Format: "byte"}}
	fields := map[string]*schema{"apiVersion": text, "kind": text, "metadata": loadTestSchema().Properties["metadata"], "immutable": {Type: "boolean"}}
	if kind == "Secret" {
		fields["type"], fields["data"], fields["stringData"] = text, base64, texts
	} else {
		fields["data"], fields["binaryData"] = texts, base64
	}
	return &schema{Type: "object", Properties: fields}
}

// schemaOf returns the schema of a field of the spec. The path has no indices: targets.tls.cipherSuites. The schema of a list is that of
// the list.
func schemaOf(path string) *schema {
	at := loadTestSchema().Properties["spec"]
	for name := range strings.SplitSeq(path, ".") {
		if at.Items != nil {
			at = at.Items
		}
		at = at.Properties[name]
	}
	return at
}

// Range returns the least and the greatest value of a number of the spec, such as runner.shards.
func Range(path string) (least, greatest int64) {
	s := schemaOf(path)
	return int64(*s.Minimum), int64(*s.Maximum)
}

// rule is a rule of the CRD in CEL. Rules of two forms are read from the CRD. All others are written in Go.
type rule struct {
	message string
	// low and high are the least and the greatest duration of a rule about a duration.
	duration  bool
	low, high time.Duration
	// oneOf are fields of which exactly one must be set, or at most one.
	oneOf  []string
	atMost bool
}

var (
	durationRule = lazy.Regexp(`^duration\(self\) (>=?) duration\('([^']+)'\) && duration\(self\) <= duration\('([^']+)'\)$`)
	choiceRule   = lazy.Regexp(`^\[has\(self\.\w+\)(, has\(self\.\w+\))*\]\.filter\(x, x\)\.size\(\) (==|<=) 1$|^has\(self\.\w+\) != has\(self\.\w+\)$`)
	fieldOfRule  = lazy.Regexp(`self\.(\w+)`)
)

// UnmarshalJSON reads a rule of the CRD.
func (r *rule) UnmarshalJSON(raw []byte) error {
	var in struct{ Rule, Message string }
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	r.message = in.Message
	if m := durationRule().FindStringSubmatch(in.Rule); m != nil {
		var errLow, errHigh error
		r.duration = true
		r.low, errLow = time.ParseDuration(m[2])
		r.high, errHigh = time.ParseDuration(m[3])
		if m[1] == ">" {
			r.low++
		}
		return errors.Join(errLow, errHigh)
	}
	if choiceRule().MatchString(in.Rule) {
		r.atMost = strings.HasSuffix(in.Rule, "<= 1")
		for _, f := range fieldOfRule().FindAllStringSubmatch(in.Rule, -1) {
			r.oneOf = append(r.oneOf, f[1])
		}
	}
	return nil
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
