package curl

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/h2surge/h2surge/internal/lazy"
)

// formValue is the content of a part and what is said about it.
type formValue struct {
	body           []byte
	kind, filename string
	// fallback is the type of a file that no name tells.
	fallback string
}

// formValue reads what stands behind the name of a part: TEXT, @FILE or <FILE, and parameters.
func (c *converter) formValue(flag, s string) (v formValue) {
	switch {
	case strings.HasPrefix(s, "("):
		c.Fail(flag, "a form in a part is not supported")
	case strings.HasPrefix(s, "@"):
		file := c.formWords(flag, s[1:], ";,", &v)
		v.body, _ = c.Read(flag, file)
		v.filename = cmp.Or(v.filename, filepath.Base(file))
		v.fallback = cmp.Or(kindOf(file), "application/octet-stream")
	case strings.HasPrefix(s, "<"):
		v.body, _ = c.Read(flag, c.formWords(flag, s[1:], ";", &v))
		if v.filename != "" {
			c.Warn(flag, "filename= of <FILE is left out, as by curl")
			v.filename = ""
		}
	default:
		v.body = []byte(c.formWords(flag, s, ";", &v))
	}
	return v
}

// formWords returns the first word of s, and reads the parameters behind it into v, from the left, as curl does. A word
// ends at the octets of ends.
func (c *converter) formWords(flag, s, ends string, v *formValue) (data string) {
	data, s = c.formWord(flag, s, ends)
	for strings.HasPrefix(s, ";") {
		s = strings.TrimLeft(s[1:], blanks)
		switch name, value, _ := strings.Cut(s, "="); name {
		case "type":
			v.kind, s = formType(value, ends)
		case "filename":
			v.filename, s = c.formWord(flag, value, ends)
		case "headers", "encoder":
			c.Warn(flag, "%s= is left out", name)
			_, s = c.formWord(flag, value, ends)
		default:
			var unknown string
			if unknown, s = c.formWord(flag, s, ends); unknown != "" {
				c.Warn(flag, "what stands behind a semicolon is neither type= nor filename=, and left out, as by curl; "+
					"a value with semicolons needs quotation marks")
			}
		}
	}
	if s != "" {
		c.Fail(flag, "a part can have one file; give -F for each")
	}
	return data
}

const blanks = " \t\n\v\f\r"

// quoted is a word in quotation marks.
var quoted = lazy.Regexp(`(?s)^"((?:[^"\\]|\\.)*)"`)

// formWord takes a word off: one that begins with a quotation mark has an end there, too, and \" and \\ in it.
func (c *converter) formWord(flag, s, ends string) (word, rest string) {
	s = strings.TrimLeft(s, blanks)
	inside := quoted().FindStringSubmatch(s)
	if inside == nil {
		word, rest = upTo(s, ends)
		return strings.TrimRight(word, blanks), rest
	}
	behind, rest := upTo(s[len(inside[0]):], ends)
	if strings.Trim(behind, blanks) != "" {
		c.Warn(flag, "what stands behind a closing quotation mark is left out, as by curl")
	}
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(inside[1]), rest
}

// formType takes a type off, with its own parameters.
func formType(s, ends string) (kind, rest string) {
	for rest = s; ; rest = rest[1:] {
		_, rest = upTo(rest, ends)
		name, _, _ := strings.Cut(strings.TrimLeft(strings.TrimPrefix(rest, ";"), blanks), "=")
		if !strings.HasPrefix(rest, ";") || name == "filename" || name == "headers" || name == "encoder" {
			return strings.Trim(s[:len(s)-len(rest)], blanks), rest
		}
	}
}

// upTo cuts before the first octet of ends.
func upTo(s, ends string) (before, rest string) {
	if i := strings.IndexAny(s, ends); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}
