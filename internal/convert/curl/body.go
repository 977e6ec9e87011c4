package curl

import (
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

// uploaded is a path to which -T uploads a file. As in curl, it gets the name of the file if it ends with a slash.
func uploaded(path, file string) string {
	if file == "-" || file == "." || strings.Contains(path, "?") || !strings.HasSuffix(path, "/") {
		return path
	}
	return path + string(percent(nil, []byte(file[strings.LastIndexAny(file, `/\`)+1:])))
}
