package compile

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/parse"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// content is a parsed body: text, or else from or parts. The text has the path of each.
type content struct {
	text  text
	from  *rv.BodyFrom
	parts []part
}

// part is a part of a multipart content. Its content has no parts.
type part struct {
	contentType, contentID string
	// hex: the text is hexadecimal digits.
	hex bool
	content
}

// isHidden reports whether the content has placeholders that only runners know.
func (in *content) isHidden() bool {
	return in.from != nil && !in.from.Raw || slices.ContainsFunc(in.parts, func(p part) bool { return p.isHidden() })
}

// body parses the content of a request. It returns nil if the request does not set its content.
func (c *compiler) body(at *field.Path, t *v1alpha1.Request) *content {
	var bodies []content
	if t.Body != "" {
		bodies = append(bodies, content{text: c.text(at.Child("body"), t.Body, nil, "")})
	}
	if t.BodyBase64 != "" {
		bodies = append(bodies, c.encodedBody(at.Child("bodyBase64"), t.BodyBase64))
	}
	if t.BodyFrom != nil {
		bodies = append(bodies, c.bodyFrom(at.Child("bodyFrom"), t.BodyFrom))
	}
	if len(t.Parts) > 0 {
		bodies = append(bodies, content{parts: c.parts(at, t), text: text{path: at.Child("parts")}})
	}
	if len(bodies) == 0 {
		return nil
	}
	return &bodies[0]
}

func (c *checker) encodedBody(path *field.Path, encoded string) content {
	out := &rv.BodyFrom{Raw: true}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		c.fail(path, "must be base64 with padding (RFC 4648 4)")
	}
	out.Content.Bytes = orNil(decoded)
	return content{text: text{path: path}, from: out}
}

func (c *checker) bodyFrom(at *field.Path, in *v1alpha1.BodyFrom) content {
	name := c.source(at, in.ConfigMapKeyRef, in.SecretKeyRef, in.File)
	from := &rv.BodyFrom{Content: rv.Content{File: name, Base64: in.Encoding == v1alpha1.EncodingBase64},
		Raw: in.Encoding != v1alpha1.EncodingText}
	return content{text: text{path: at}, from: from}
}

func (c *checker) script(at *field.Path, in *v1alpha1.Script) (out *rv.Script, path *field.Path) {
	out, path = &rv.Script{}, at
	if in.Lua != "" {
		path = at.Child("lua")
		out.Content.Text = in.Lua
		c.lua(path, in.Lua)
	}
	if in.LuaFrom != nil {
		path = at.Child("luaFrom")
		out.Content.File = c.contentSource(path, in.LuaFrom)
	}
	out.Name = path.String()
	return out, path
}

// lua checks the syntax. What a script does only runners know. The parser is the runners', and not
// above panics.
func (c *checker) lua(path *field.Path, source string) {
	defer func() {
		if recover() != nil {
			c.fail(path, "is not valid Lua 5.1")
		}
	}()
	_, err := parse.Parse(strings.NewReader(source), path.String())
	var broken *parse.Error
	switch {
	case err == nil:
	case errors.As(err, &broken) && broken.Pos.Line > 0:
		c.fail(path, "is not valid Lua 5.1: line %d: %s", broken.Pos.Line, broken.Message)
	default:
		c.fail(path, "is not valid Lua 5.1: it ends too early")
	}
}
