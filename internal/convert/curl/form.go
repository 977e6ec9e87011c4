package curl

import (
	"bytes"
	"cmp"
	"fmt"
	"mime"
	"path/filepath"
	"strings"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// form is multipart/form-data (RFC 7578) of the flags -F and --form-string.
func (c *converter) form() (kind string, content []byte) {
	type part struct {
		head string
		body []byte
	}
	var parts []part
	for _, g := range c.given {
		if g.Name == "--form" || g.Name == "--form-string" {
			head, body := c.formPart(g.Name, g.Value)
			parts = append(parts, part{head, body})
		}
	}
	boundary := "h2surge-form-boundary"
	for n := 1; n > 0; { // no part has the boundary in it
		n = 0
		for _, p := range parts {
			n += bytes.Count(p.body, []byte(boundary))
		}
		if n > 0 {
			boundary += "-x"
		}
	}
	var out bytes.Buffer
	for _, p := range parts {
		fmt.Fprintf(&out, "--%s\r\n%s\r\n\r\n%s\r\n", boundary, p.head, p.body)
	}
	fmt.Fprintf(&out, "--%s--\r\n", boundary)
	return "multipart/form-data; boundary=" + boundary, out.Bytes()
}

// formPart is name=value, name=@FILE or name=<FILE, with ;type= and ;filename= behind it.
func (c *converter) formPart(flag, value string) (head string, body []byte) {
	name, rest, found := strings.Cut(value, "=")
	if !found || name == "" {
		c.Fail(flag, "must be of the form name=value")
		return "", nil
	}
	head = fmt.Sprintf(`content-disposition: form-data; name="%s"`, quote(name))
	if flag == "--form-string" {
		return head, []byte(rest)
	}
	v := c.formValue(flag, rest)
	if v.filename != "" {
		head += fmt.Sprintf(`; filename="%s"`, quote(v.filename))
		v.kind = cmp.Or(v.kind, kindOf(v.filename), v.fallback)
	}
	if v.kind != "" {
		head += "\r\ncontent-type: " + strings.Map(func(r rune) rune {
			if r < ' ' {
				return -1
			}
			return r
		}, v.kind)
	}
	return head, v.body
}

// kindOf is the type of a file, by its name; empty: curl knows none.
func kindOf(file string) string { return kinds[strings.ToLower(filepath.Ext(file))] }

// kinds are the types that curl knows by the ending of a file.
var kinds = map[string]string{
	".gif": "image/gif", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".svg": "image/svg+xml",
	".txt": "text/plain",
	".htm": "text/html", ".html": "text/html", ".pdf": "application/pdf", ".xml": "application/xml",
}

// quote is a text of a form in quotation marks, as browsers write it.
func quote(s string) string {
	return strings.NewReplacer("\"", "%22", "\r", "%0D", "\n", "%0A").Replace(s)
}

// bound sets the boundary of the form in a content-type of the flags.
func bound(headers []v1alpha1.Header, boundary string) {
	for _, h := range headers {
		if strings.EqualFold(h.Name, "content-type") {
			*h.Value = bounded(*h.Value, boundary)
		}
	}
}

// bounded is a content-type with the boundary, if it is multipart: without it, a server cannot find the parts.
func bounded(kind, boundary string) string {
	name, parameters, err := mime.ParseMediaType(kind)
	if err != nil || !strings.HasPrefix(name, "multipart/") {
		return kind
	}
	parameters["boundary"] = boundary
	return mime.FormatMediaType(name, parameters)
}
