package har

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/convert"
)

// template makes one of a request and returns its name.
func (c *converter) template(from string, e *entry, u convert.URL) string {
	i := len(c.Spec().Templates)
	at := fmt.Sprintf("spec.templates[%d]", i)
	c.Origin(at, from+".request")
	t := v1alpha1.Template{
		Name: c.Unique("template", nameOf(e.Request.Method, u.Path)),
		Request: v1alpha1.Request{
			Method: strings.ToUpper(e.Request.Method), Path: convert.Literal(u.Path),
		},
	}
	for k, h := range e.Request.Headers {
		c.header(&t, at+".headers", fmt.Sprintf("%s.request.headers[%d]", from, k), h)
	}
	if e.Request.PostData != nil {
		c.body(&t, from+".request.postData", e.Request.PostData)
	}
	if s := e.Response.Status; s >= 400 && s < 600 {
		t.Expect = &v1alpha1.Expect{Status: convert.Statuses(strconv.Itoa(s))}
		c.WarnAt(at+".expect", from+".response.status",
			"was %d, which counts as a success here; remove expect if it was a mistake", s)
	}
	c.Spec().Templates = append(c.Spec().Templates, t)
	return t.Name
}

// nameOf is short: the method and the last part of the path.
func nameOf(method, path string) string {
	path, _, _ = strings.Cut(path, "?")
	path = strings.TrimRight(path, "/")
	last := convert.DashName(path[strings.LastIndexByte(path, '/')+1:])
	if path == "" {
		last = "root"
	}
	return convert.DashName(method + "-" + last[:min(len(last), 30)])
}

// header leaves out what the engine, the connection or the cookie store makes, without a word: every
// request of an archive has it.
func (c *converter) header(t *v1alpha1.Template, at, from string, h pair) {
	lower := strings.ToLower(h.Name)
	switch {
	case strings.HasPrefix(lower, ":"):
	case lower == "host" || lower == "cookie" || lower == "content-length" || lower == "connection" ||
		lower == "keep-alive" ||
		lower == "proxy-connection" || lower == "transfer-encoding" || lower == "upgrade" || lower == "http2-settings":
	case lower == "accept-encoding":
		c.Warn("accept-encoding", "is left out, so that bodies come as they are and may be checked; their traffic is larger then")
	case lower == "if-none-match" || lower == "if-modified-since":
		c.Warn(lower, "is left out: nothing is cached here")
	default:
		if field, ok := c.Header(at, from, lower, convert.Literal(h.Value)); ok {
			t.Headers = append(t.Headers, field)
		}
	}
}

func (c *converter) body(t *v1alpha1.Template, from string, p *postData) {
	content := []byte(p.Text)
	switch {
	case strings.EqualFold(p.Encoding, "base64"):
		decoded, err := base64.StdEncoding.DecodeString(p.Text)
		if err != nil {
			c.Fail(from+".text", "is not base64, although encoding says so")
			return
		}
		content = decoded
	case p.Text == "" && len(p.Params) > 0:
		content = c.form(from, p)
	}
	if len(content) == 0 {
		return
	}
	if p.MimeType != "" && !typed(t) {
		t.Headers = append(t.Headers, v1alpha1.Header{Name: "content-type", Value: new(convert.Literal(p.MimeType))})
	}
	c.Body(t, from, "", content)
}

func typed(t *v1alpha1.Template) bool {
	return slices.ContainsFunc(t.Headers,
		func(h v1alpha1.Header) bool { return strings.EqualFold(h.Name, "content-type") })
}

// form is application/x-www-form-urlencoded of the parameters, which an archive has as they were typed.
func (c *converter) form(from string, p *postData) []byte {
	if !strings.HasPrefix(p.MimeType, "application/x-www-form-urlencoded") {
		c.Warn(from+".params", "without text cannot be made into a body of %s; the request is sent without one", p.MimeType)
		return nil
	}
	parts := make([]string, 0, len(p.Params))
	for _, one := range p.Params {
		parts = append(parts, url.QueryEscape(one.Name)+"="+url.QueryEscape(one.Value))
	}
	return []byte(strings.Join(parts, "&"))
}
