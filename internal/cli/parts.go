package cli

import (
	"encoding/hex"
	"strings"

	"github.com/h2surge/h2surge/internal/multipart"
)

// partsText returns a multipart content for readers: a line for each part, and its content, in hexadecimal digits
// unless it is text. show masks secrets. ok is false if the content is not multipart.
func partsText(contentType string, content []byte, show func(string) string) (text string, ok bool) {
	r, err := multipart.NewReader([]byte(contentType), content)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	for {
		p, more, err := r.Next()
		if err != nil {
			return "", false
		}
		if !more {
			return b.String(), true
		}
		b.WriteString("part " + string(p.MediaType()))
		if id := p.ContentID(); len(id) > 0 {
			b.WriteString(", Content-ID " + string(id))
		}
		shown := show(string(p.Body))
		if shown == string(p.Body) && !isText(p.Body) {
			shown = "hex: " + hex.EncodeToString(p.Body)
		}
		b.WriteString("\n" + strings.TrimSuffix(shown, "\n") + "\n")
	}
}

// contentType returns the value of the first field with this name.
func contentType(fields []triedField) string {
	for _, f := range fields {
		if strings.EqualFold(f.Name, "content-type") {
			return f.Value
		}
	}
	return ""
}
