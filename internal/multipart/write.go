package multipart

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/h2surge/h2surge/internal/octet"
)

// Boundary returns a boundary that occurs in none of the texts, which are the constant texts of a content. It is a hash
// of the seed and the name of the content, not of the texts: they can be secret, and a boundary is shown. It has 128
// bits, so that a text that becomes known later does not contain it.
func Boundary(seed uint64, name string, texts ...[]byte) string {
	for try := 0; ; try++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s", seed, try, name))
		boundary := "h2surge-" + hex.EncodeToString(sum[:16])
		if !occurs(boundary, texts) {
			return boundary
		}
	}
}

func occurs(boundary string, texts [][]byte) bool {
	for _, t := range texts {
		if strings.Contains(string(t), boundary) {
			return true
		}
	}
	return false
}

// Type returns the Content-Type of a multipart/related content (RFC 2387 3). rootType is the Content-Type of the first
// part, and rootID its Content-ID, or empty.
func Type(boundary, rootType, rootID string) string {
	kind, _, _ := strings.Cut(rootType, ";")
	out := "multipart/related; boundary=" + boundary + `; type="` + strings.TrimSpace(kind) + `"`
	if rootID != "" {
		out += `; start="` + rootID + `"`
	}
	return out
}

// Before returns the octets before the content of a part: the delimiter and the header. first: there is no part before
// it.
func Before(boundary, contentType, contentID string, first bool) string {
	out := "--" + boundary + "\r\nContent-Type: " + contentType + "\r\n"
	if contentID != "" {
		out += "Content-ID: " + contentID + "\r\n"
	}
	if !first {
		out = "\r\n" + out
	}
	return out + "\r\n"
}

// End returns the octets after the content of the last part.
func End(boundary string) string { return "\r\n--" + boundary + "--\r\n" }

// TypeProblem returns what is wrong with the Content-Type of a part, or an empty text.
func TypeProblem(contentType string) string {
	kind, _, _ := strings.Cut(contentType, ";")
	main, sub, found := strings.Cut(strings.TrimSpace(kind), "/")
	if !found || !octet.IsToken(main) || !octet.IsToken(sub) || !octet.IsFieldText(contentType) {
		return "must be a media type such as application/json (RFC 2045 5.1)"
	}
	if strings.EqualFold(main, "multipart") {
		return "must not be multipart: a part in a part is not supported"
	}
	return ""
}

// IDProblem returns what is wrong with a Content-ID that is written, or an empty text.
func IDProblem(id string) string {
	for i := range len(id) {
		if c := id[i]; c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return "must have printable ASCII characters only, without spaces, quotation marks and backslashes"
		}
	}
	return ""
}
