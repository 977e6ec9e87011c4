package compile

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/octet"
)

// capture is a parsed capture. The slot it fills differs from chain to chain.
type capture struct {
	path *field.Path
	name string
	plan rv.Capture
	read bool // by some step
	// answer is set if the value is an answer of a USIM. Then plan is empty.
	answer rv.Answer
}

func (c *compiler) captures(path *field.Path, captures []v1alpha1.Capture) []*capture {
	var out []*capture
	for i := range captures {
		at, in := path.Index(i), &captures[i]
		if _, taken := c.variableIndex[in.Name]; taken {
			c.fail(at.Child("name"), "%q is the name of a variable too", in.Name)
		}
		out = append(out, &capture{path: at, name: in.Name, plan: c.capture(at, in)})
	}
	return out
}

func (c *checker) capture(at *field.Path, in *v1alpha1.Capture) rv.Capture {
	if in.Default != nil && in.Optional {
		c.fail(at, "at most one of default and optional is possible")
	}
	kinds := c.sourceKinds(at, &in.ValueSource)
	if len(kinds) != 1 {
		return rv.Capture{}
	}
	source := c.part(at, &in.ValueSource, kinds[0])
	if in.Part != "" && !readsContent(&in.ValueSource) {
		c.fail(at, "part does not go with header, status and request")
	}
	return rv.Capture{
		Source:   source,
		Location: source.Kind == rv.SourceHeader && source.Name == "location" && source.Regex == "",
		Default:  in.Default,
		Optional: in.Optional,
	}
}

// sourceKinds returns the sources that are set, each of them checked.
func (c *checker) sourceKinds(at *field.Path, in *v1alpha1.ValueSource) (out []rv.Source) {
	if in.Header != "" {
		out = append(out, rv.Source{Kind: rv.SourceHeader, Name: c.fieldName(at.Child("header"), in.Header)})
	}
	if in.Status != nil {
		out = append(out, rv.Source{Kind: rv.SourceStatus})
	}
	if in.Body != nil {
		out = append(out, rv.Source{Kind: rv.SourceBody})
	}
	if in.BodyHex != nil {
		out = append(out, rv.Source{Kind: rv.SourceBodyHex})
	}
	if in.JSONPointer != nil {
		out = append(out, rv.Source{Kind: rv.SourceJSONPointer, Pointer: c.pointer(at.Child("jsonPointer"), *in.JSONPointer)})
	}
	if in.JSONPath != "" {
		out = append(out, rv.Source{Kind: rv.SourceJSONPath, JSONPath: c.jsonPath(at.Child("jsonPath"), in.JSONPath)})
	}
	if in.XPath != "" {
		out = append(out, rv.Source{Kind: rv.SourceXPath, XPath: c.xpath(at.Child("xpath"), in.XPath)})
	}
	if in.Request != nil {
		out = append(out, c.requestSource(at.Child("request"), in.Request))
	}
	return out
}

func (c *checker) requestSource(at *field.Path, in *v1alpha1.RequestSource) rv.Source {
	var out []rv.Source
	if in.Method != nil {
		out = append(out, rv.Source{Kind: rv.SourceRequestMethod})
	}
	if in.Path != nil {
		out = append(out, rv.Source{Kind: rv.SourceRequestPath})
	}
	if in.Header != "" {
		out = append(out, rv.Source{Kind: rv.SourceRequestHeader, Name: c.fieldName(at.Child("header"), in.Header)})
	}
	if in.Body != nil {
		out = append(out, rv.Source{Kind: rv.SourceRequestBody})
	}
	if in.JSONPointer != nil {
		out = append(out, rv.Source{Kind: rv.SourceRequestJSONPointer, Pointer: c.pointer(at.Child("jsonPointer"),
			*in.JSONPointer)})
	}
	if in.JSONPath != "" {
		out = append(out, rv.Source{Kind: rv.SourceRequestJSONPath, JSONPath: c.jsonPath(at.Child("jsonPath"), in.JSONPath)})
	}
	if len(out) != 1 {
		return rv.Source{}
	}
	return out[0]
}

func (c *checker) fieldName(at *field.Path, name string) string {
	if !octet.IsToken(name) {
		c.fail(at, "must be a token: letters, digits and !#$%%&'*+-.^_`|~ (RFC 9110 5.6.2)")
	}
	return strings.ToLower(name)
}

// readsContent reports whether a source of the content is set.
func readsContent(in *v1alpha1.ValueSource) bool {
	return in.Body != nil || in.BodyHex != nil || in.JSONPointer != nil || in.JSONPath != "" || in.XPath != ""
}

// part adds what part, regex and group say to a source.
func (c *checker) part(at *field.Path, in *v1alpha1.ValueSource, source rv.Source) rv.Source {
	source.Part = in.Part
	if in.Regex == "" {
		if in.Group != nil {
			c.fail(at.Child("group"), "goes with regex")
		}
		return source
	}
	re := c.regex(at.Child("regex"), in.Regex)
	if re == nil {
		return source
	}
	source.Regex, source.Group = in.Regex, min(re.MaxCap(), 1)
	if in.Group != nil {
		if source.Group = int(*in.Group); source.Group > re.MaxCap() {
			c.fail(at.Child("group"), "is beyond the %d groups of regex", re.MaxCap())
		}
	}
	return source
}
