package rules

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"strings"
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
	if !bytes.HasPrefix(kind, []byte("multipart/")) {
		return nil
	}
	_, params, err := mime.ParseMediaType(string(kind))
	if err != nil || params["boundary"] == "" {
		return nil
	}
	r := multipart.NewReader(bytes.NewReader(c.body), params["boundary"])
	for {
		part, err := r.NextRawPart()
		if err != nil {
			return nil
		}
		if !strings.Contains(part.Header.Get("Content-Type"), "json") {
			continue
		}
		if doc, err := io.ReadAll(part); err == nil && json.Valid(doc) {
			return doc
		}
	}
}
