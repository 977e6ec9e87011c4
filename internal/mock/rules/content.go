package rules

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/h2surge/h2surge/internal/multipart"
)

// field is a header field of a response or of a notification.
type field struct {
	name   string
	prefix []byte // the encoded name
	value  text
}

// compileFields returns the header fields, and the content type among them: "" if the file has none, and "?" if it has
// placeholders. nameProblem returns the error in a name, or "".
func (s *source) compileFields(path string, headers []Header, nameProblem func(string) string,
	sc scope) (fields []field, kind string) {
	for i := range headers {
		h := &headers[i]
		value := s.compileHeader(fmt.Sprintf("%s.headers[%d]", path, i), h, nameProblem, sc)
		if h.Name == "content-type" {
			constant, _ := value.constant()
			kind = cmp.Or(constant, "?")
		}
		fields = append(fields, field{h.Name, literalPrefix(h.Name), value})
	}
	return fields, kind
}

// withType adds a content type to fields that have none.
func withType(fields []field, kind string) []field {
	for _, f := range fields {
		if f.name == "content-type" {
			return fields
		}
	}
	if kind == "" {
		return fields
	}
	return append(fields, field{"content-type", literalPrefix("content-type"), text{pieces: []piece{{literal: kind}}}})
}

// content is what the file says about the content of a response or of a notification.
type content struct {
	body     *string
	bodyFile string
	parts    []Part
}

// compileContent returns the content, and its type, which is that of the parts if there are any. A body that is nil is
// not in the file. Notifications have the status 0.
func (s *source) compileContent(path string, from content, kind string, status int, sc scope, dir string) (body *text,
	contentType string) {
	written := ""
	switch {
	case from.parts != nil:
		return s.compileParts(path, from, kind, status, sc, dir)
	case from.body != nil && from.bodyFile != "":
		s.add(path+".bodyFile", "cannot be used with body")
		return nil, kind
	case from.body != nil:
		written, path = *from.body, path+".body"
	case from.bodyFile != "":
		path += ".bodyFile"
		written, _ = s.readText(path, from.bodyFile, dir)
	default:
		return nil, kind
	}
	if written != "" && noContent(status) {
		s.add(path, "a response with status %d has no body (RFC 9110 section 6.4.1)", status)
	}
	sc.json = strings.Contains(kind, "json") || sc.called
	t, err := parseText(written, sc)
	s.addAll(path, err)
	return &t, kind
}

func (s *source) compileParts(path string, from content, kind string, status int, sc scope, dir string) (body *text,
	contentType string) {
	switch {
	case from.body != nil || from.bodyFile != "":
		s.add(path+".parts", "cannot be used with body or bodyFile")
	case kind != "":
		s.add(path+".headers", "content-type is set from the parts; remove it, or set contentType of the parts")
	case noContent(status):
		s.add(path+".parts", "a response with status %d has no body (RFC 9110 section 6.4.1)", status)
	case len(from.parts) == 0 || len(from.parts) > multipart.MaxParts:
		s.add(path+".parts", "must have 1 to %d entries", multipart.MaxParts)
	}
	if len(from.parts) == 0 {
		return nil, kind
	}
	joined, kind := s.joinParts(path, from.parts, sc, dir)
	return &joined, kind
}
