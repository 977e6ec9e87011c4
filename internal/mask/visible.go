package mask

import (
	"strconv"
	"strings"
	"unicode"
)

// Line returns a text in one line, as Visible shows it: each sequence of white space is a blank.
func Line(s string) string { return Visible(strings.Join(strings.Fields(s), " ")) }

// Visible replaces each character that would steer a terminal by its escape in Go, such as \x1b: all that cannot be
// printed, except ends of lines and tabs. It is for texts that come from other machines.
func Visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}
