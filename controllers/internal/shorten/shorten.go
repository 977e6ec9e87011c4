// Package shorten bounds texts of conditions and events.
package shorten

import "strings"

// To cuts a text to n bytes, at the end of a character.
func To(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-3], "") + "..."
}
