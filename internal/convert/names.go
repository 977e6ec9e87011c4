package convert

import (
	"fmt"
	"strings"

	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/octet"
	"github.com/h2surge/h2surge/internal/placeholder"
)

// DashName makes of any text what may be the name of a LoadTest, a target, a template, a chain, a
// step or a rate.
func DashName(s string) string {
	out := mapped(strings.ToLower(s), '-', func(c byte) bool { return octet.IsLetter(c) || octet.IsDigit(c) })
	if len(out) > compile.MaxName {
		out = strings.Trim(out[:compile.MaxName], "-")
	}
	if out == "" {
		return "x"
	}
	return out
}

// WordName makes of any text what may be the name of a variable or a capture.
func WordName(s string) string {
	out := mapped(s, '_', placeholder.IsNameOctet)
	if out == "" || octet.IsDigit(out[0]) {
		out = "v" + out
	}
	if len(out) > compile.MaxName {
		out = strings.Trim(out[:compile.MaxName], "_")
	}
	return out
}

// mapped puts one filler in place of each run of other bytes, and none at the ends.
func mapped(s string, filler byte, keep func(byte) bool) string {
	var b strings.Builder
	for i := range len(s) {
		switch {
		case keep(s[i]):
			b.WriteByte(s[i])
		case b.Len() > 0 && b.String()[b.Len()-1] != filler:
			b.WriteByte(filler)
		}
	}
	return strings.Trim(b.String(), string(filler))
}

// Unique makes a name different from all others of its kind, such as "template", by a number at its
// end.
func (d *Draft) Unique(kind, name string) string {
	taken := d.names[kind]
	if taken == nil {
		taken = map[string]bool{}
		d.names[kind] = taken
	}
	separator := "-"
	if kind == "variable" {
		separator = "_"
	}
	out := name
	for n := 2; taken[out]; n++ {
		end := fmt.Sprintf("%s%d", separator, n)
		out = name[:min(len(name), compile.MaxName-len(end))] + end
	}
	taken[out] = true
	return out
}

// Literal keeps a text from being read as one with placeholders.
func Literal(s string) string { return strings.ReplaceAll(s, "$", "$$") }
