package compile

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// message fills in what a step sends, and how long an answer is awaited.
func (c *compiler) message(s *scope, r *request, out *rv.Step) {
	out.Method = r.method
	out.Path = c.resolve(s, *r.target)
	c.place(s.place.In("path", -1), r.target.path)
	c.place(s.place.In("authority", -1), r.target.path)
	c.namedAuthority(r, out)
	for i, h := range r.headers {
		c.place(s.place.In("headers", i), h.path)
		field := rv.Header{Name: c.resolve(s, h.name), Value: c.resolve(s, h.value), OmitEmpty: h.omitEmpty}
		if h.from != nil {
			field.Value = rv.Text{{Content: h.from}}
		}
		out.Headers = append(out.Headers, field)
	}
	if r.call != nil {
		c.resolveCall(s, r.call, out)
	}
	if r.content != nil {
		c.place(s.place.In("body", -1), r.content.text.path)
		out.Body, out.BodyFrom = c.resolve(s, r.content.text), r.content.from
		out.Parts = c.resolveParts(s, r.content.parts)
	}
	out.Timeout = r.timeout
	out.MaxBody = r.maxBody
	if r.maxRedirects != nil {
		out.MaxRedirects = int(*r.maxRedirects)
	}
	out.Script = r.script
	c.place(s.place.In("script", -1), r.scriptPath)
}
