package curl

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/h2surge/h2surge/internal/octet"
)

// content returns the body of the data flags, the flag of its first part, and its content-type.
func (c *converter) content() (kind, flag string, content []byte) {
	if len(c.all["--form"])+len(c.all["--form-string"]) > 0 {
		kind, content = c.form()
		return kind, "--form", content
	}
	for _, g := range c.given {
		part, is := c.data(g.Name, g.Value)
		if !is {
			continue
		}
		switch {
		case flag == "":
			flag = g.Name
		case g.Name != "--json":
			content = append(content, '&')
		}
		if g.Name != OwnData {
			kind = "application/x-www-form-urlencoded"
		}
		content = append(content, part...)
	}
	if c.has("--json") {
		kind = "application/json"
	}
	return kind, flag, content
}

// data returns the content that a flag adds to the body.
func (c *converter) data(name, value string) (content []byte, is bool) {
	file, isFile := strings.CutPrefix(value, "@")
	switch name {
	case "--data-raw":
		return []byte(value), true
	case "--data-urlencode":
		return c.urlEncoded(value), true
	case "--data", "--data-ascii", "--data-binary", "--json", OwnData:
		if !isFile {
			return []byte(value), true
		}
		content, _ = c.Read(name, file)
		if name == "--data" || name == "--data-ascii" {
			content = slices.DeleteFunc(content, func(b byte) bool { return b == '\r' || b == '\n' || b == 0 })
		}
		return content, true
	}
	return nil, false
}

// urlEncoded is CONTENT, =CONTENT, NAME=CONTENT, @FILE or NAME@FILE.
func (c *converter) urlEncoded(value string) []byte {
	i := strings.IndexAny(value, "=@")
	if i < 0 {
		return percent(nil, []byte(value))
	}
	name, content := value[:i], []byte(value[i+1:])
	if value[i] == '@' {
		content, _ = c.Read("--data-urlencode", value[i+1:])
	}
	out := []byte(name)
	if name != "" {
		out = append(out, '=')
	}
	return percent(out, content)
}

func percent(dst, content []byte) []byte {
	for _, b := range content {
		if octet.IsUnreserved(b) {
			dst = append(dst, b)
		} else {
			dst = octet.AppendPercent(dst, b)
		}
	}
	return dst
}

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
	kind, filename := "", ""
	for {
		i := strings.LastIndex(rest, ";")
		key, parameter, _ := strings.Cut(rest[i+1:], "=")
		key = strings.TrimSpace(key)
		if i < 0 || key != "type" && key != "filename" {
			break
		}
		if key == "type" {
			kind = parameter
		} else {
			filename = strings.Trim(parameter, `"`)
		}
		rest = rest[:i]
	}
	body = []byte(strings.Trim(rest, `"`))
	if file, is := strings.CutPrefix(rest, "@"); is {
		file = strings.Trim(file, `"`)
		body, _ = c.Read(flag, file)
		filename = first(filename, filepath.Base(file))
		kind = first(kind, first(kinds[strings.ToLower(filepath.Ext(file))], "application/octet-stream"))
	} else if file, is := strings.CutPrefix(rest, "<"); is {
		body, _ = c.Read(flag, strings.Trim(file, `"`))
	}
	if filename != "" {
		head += fmt.Sprintf(`; filename="%s"`, quote(filename))
	}
	if kind != "" {
		head += "\r\ncontent-type: " + strings.Map(func(r rune) rune {
			if r < ' ' {
				return -1
			}
			return r
		}, kind)
	}
	return head, body
}

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
