package compile

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/multipart"
	"github.com/h2surge/h2surge/internal/octet"
)

// parts parses the parts of a request.
func (c *compiler) parts(at *field.Path, t *v1alpha1.Request) []part {
	var out []part
	for i := range t.Parts {
		in, at := &t.Parts[i], at.Child("parts").Index(i)
		if problem := multipart.TypeProblem(in.ContentType); problem != "" {
			c.fail(at.Child("contentType"), "%s", problem)
		}
		if slices.ContainsFunc(out, func(p part) bool { return p.contentID == in.ContentID && p.contentID != "" }) {
			c.fail(at.Child("contentID"), "%q is the contentID of another part, too", in.ContentID)
		}
		out = append(out, part{contentType: in.ContentType, contentID: in.ContentID, hex: in.BodyHex != "",
			content: c.partContent(at, in)})
	}
	return out
}

func (c *compiler) partContent(at *field.Path, in *v1alpha1.BodyPart) content {
	var contents []content
	if in.Body != "" {
		contents = append(contents, content{text: c.text(at.Child("body"), in.Body, nil, "")})
	}
	if in.BodyHex != "" {
		contents = append(contents, content{text: c.hexText(at.Child("bodyHex"), in.BodyHex)})
	}
	if in.BodyBase64 != "" {
		contents = append(contents, c.encodedBody(at.Child("bodyBase64"), in.BodyBase64))
	}
	if in.BodyFrom != nil {
		contents = append(contents, c.bodyFrom(at.Child("bodyFrom"), in.BodyFrom))
	}
	if len(contents) == 0 {
		return content{}
	}
	return contents[0]
}

// hexPlace is bodyHex in messages.
const hexPlace = "bodyHex (hexadecimal digits, and white space between them)"

// hexText parses a text of hexadecimal digits.
func (c *compiler) hexText(path *field.Path, s string) text {
	out := c.text(path, s, isHex, hexPlace)
	for _, p := range out.pieces {
		if p.Ref == nil && len(withoutSpace(p.Literal))%2 != 0 {
			c.fail(path, "must have an even number of hexadecimal digits before, between and after placeholders")
		}
	}
	return out
}

// resolveParts resolves the parts of a request at a step.
func (c *compiler) resolveParts(s *scope, parts []part) (out []rv.BodyPart) {
	for i := range parts {
		p := &parts[i]
		c.place(s.place.In("parts", i), p.text.path)
		body := c.resolve(s, p.text)
		for j := range body {
			if p.hex {
				body[j].Functions = append(body[j].Functions, rv.Function{Name: rv.FunctionHexDecode})
			}
		}
		out = append(out, rv.BodyPart{ContentType: p.contentType, ContentID: p.contentID, Body: body, BodyFrom: p.from})
	}
	return out
}

func isHex(s string) bool { return octet.IsHex(withoutSpace(s)) }

func withoutSpace(s string) string { return strings.Join(strings.Fields(s), "") }

// noContentType checks that a request with parts, which has a content-type for them, does not have another one.
func (c *checker) noContentType(r *request) {
	for _, h := range r.headers {
		if h.written == "content-type" {
			c.fail(h.name.path, "content-type is not possible with parts: the runner sets it; remove it, or set contentType of the parts")
		}
	}
}
