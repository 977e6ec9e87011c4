package rules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/h2surge/h2surge/internal/multipart"
	"github.com/h2surge/h2surge/internal/octet"
)

// jsonBody returns the JSON of the request: its content or, in multipart content, the first part that is JSON (3GPP TS
// 29.518 section 6.1.2.4 adds N1 and N2 messages as further parts).
func (c *Call) jsonBody() (doc []byte, ok bool) {
	switch c.json {
	case unknown:
		c.json, c.doc = no, nil
		if json.Valid(c.body) {
			c.json, c.doc = yes, c.body
		} else if part := c.jsonPart(); part != nil {
			c.json, c.doc = yes, part
		}
	case no:
		return nil, false
	}
	return c.doc, c.json == yes
}

func (c *Call) jsonPart() []byte {
	kind, _ := c.header("content-type", 0)
	r, err := multipart.NewReader(kind, c.body)
	if err != nil {
		return nil
	}
	for {
		p, more, err := r.Next()
		if err != nil || !more {
			return nil
		}
		if bytes.Contains(p.MediaType(), []byte("json")) && json.Valid(p.Body) {
			return p.Body
		}
	}
}

// joinParts makes one text of all parts, with the delimiters as literals, and its content-type. There must be a part.
func (s *source) joinParts(path string, parts []Part, sc scope, dir string) (body text, kind string) {
	contents := make([]text, len(parts))
	var literals [][]byte
	for i := range parts {
		contents[i] = s.compilePart(fmt.Sprintf("%s.parts[%d]", path, i), &parts[i], sc, dir)
		for _, p := range contents[i].pieces {
			literals = append(literals, []byte(p.literal))
		}
	}
	boundary := multipart.Boundary(0, path, literals...)
	for i := range parts {
		before := multipart.Before(boundary, parts[i].ContentType, parts[i].ContentID, i == 0)
		body.pieces = append(append(body.pieces, piece{literal: before}), contents[i].pieces...)
	}
	body.pieces = append(body.pieces, piece{literal: multipart.End(boundary)})
	return body, multipart.Type(boundary, parts[0].ContentType, parts[0].ContentID)
}

// compilePart returns the content of a part.
func (s *source) compilePart(path string, spec *Part, sc scope, dir string) text {
	if problem := multipart.TypeProblem(spec.ContentType); problem != "" && s.isRead(path+".contentType") {
		s.add(path+".contentType", "%s", problem)
	}
	if problem := multipart.IDProblem(spec.ContentID); problem != "" {
		s.add(path+".contentID", "%s", problem)
	}
	content := spec.Body
	switch {
	case spec.Body != "" && (spec.BodyHex != "" || spec.BodyFile != "") || spec.BodyHex != "" && spec.BodyFile != "":
		s.add(path, "at most one of body, bodyHex and bodyFile is possible")
	case spec.BodyHex != "":
		digits := strings.Join(strings.Fields(spec.BodyHex), "")
		if len(digits)%2 != 0 || !octet.IsHex(digits) {
			s.add(path+".bodyHex", "must be an even number of hexadecimal digits, with white space between them")
		}
		return text{pieces: []piece{{literal: string(octet.AppendHexDecoded(nil, []byte(digits)))}}}
	case spec.BodyFile != "":
		content, _ = s.readText(path+".bodyFile", spec.BodyFile, dir)
	}
	sc.json = strings.Contains(spec.ContentType, "json")
	t, err := parseText(content, sc)
	s.addAll(path+".body", err)
	return t
}
