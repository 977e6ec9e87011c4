package script

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/h2surge/h2surge/internal/octet"
)

// directive is one of string.format, for package fmt: text is all before the verb, such as %-5.2. precision is -1 if it
// is absent.
type directive struct {
	text             string
	width, precision int
	verb             byte
}

// format has the directives of Lua 5.1.
func (s *stringLibrary) format(L *lua.LState) int {
	rest, n := arg(L, 1), 1
	var out strings.Builder
	for {
		before, after, found := strings.Cut(rest, "%")
		checkString(L, out.Len()+len(before))
		out.WriteString(before)
		if !found {
			break
		}
		if rest = strings.TrimPrefix(after, "%"); rest != after {
			out.WriteByte('%')
			continue
		}
		var d directive
		d, rest = parseDirective(L, after)
		n++
		part := d.format(L, n)
		checkString(L, out.Len()+len(part))
		out.WriteString(part)
	}
	s.reserve(L, out.Len())
	return pushString(L, out.String())
}

// parseDirective reads a directive after its "%". Width and precision have two digits at most, as in Lua.
func parseDirective(L *lua.LState, s string) (directive, string) {
	rest := strings.TrimLeft(s, "-+ #0")
	flags := len(s) - len(rest)
	d := directive{precision: -1}
	d.width, rest = twoDigits(rest)
	if strings.HasPrefix(rest, ".") {
		d.precision, rest = twoDigits(rest[1:])
	}
	if rest == "" || flags > 5 || octet.IsDigit(rest[0]) {
		L.RaiseError("invalid format (flags, width or precision too long, or no directive)")
	}
	d.text, d.verb = "%"+s[:len(s)-len(rest)], rest[0]
	return d, rest[1:]
}

// twoDigits reads a number of at most two digits. Without digits it is 0.
func twoDigits(s string) (int, string) {
	n := 0
	for n < 2 && n < len(s) && octet.IsDigit(s[n]) {
		n++
	}
	v, _ := strconv.Atoi("0" + s[:n])
	return v, s[n:]
}

var quoted = strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\n", "\\\n", "\r", `\r`, "\x00", `\000`)

// format writes argument n.
func (d directive) format(L *lua.LState, n int) string {
	if n > L.GetTop() {
		L.ArgError(n, "no value")
	}
	switch d.verb {
	case 'c':
		return d.pad(string([]byte{byte(intArg(L, n))}))
	case 'd', 'i': // Go does not ignore #
		return fmt.Sprintf(strings.ReplaceAll(d.text, "#", "")+"d", intArg(L, n))
	case 'u':
		return fmt.Sprintf(strings.ReplaceAll(d.text, "#", "")+"d", uint64(intArg(L, n)))
	case 'o', 'x', 'X':
		return fmt.Sprintf(d.text+string(d.verb), uint64(intArg(L, n)))
	case 'e', 'E', 'f', 'g', 'G':
		return d.float(floatArg(L, n))
	case 'q':
		return `"` + quoted.Replace(arg(L, n)) + `"`
	case 's':
		str, _ := text(display(L, L.Get(n)))
		if d.precision >= 0 {
			str = str[:min(d.precision, len(str))]
		}
		return d.pad(str)
	}
	L.RaiseError("invalid option '%%%c' to 'format'", d.verb)
	return ""
}

func (d directive) float(f float64) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return d.pad(numberText(lua.LNumber(f)))
	}
	if d.precision < 0 {
		d.text += ".6"
	}
	return fmt.Sprintf(d.text+string(d.verb), f)
}

// pad adds spaces up to the width in bytes. Package fmt would count characters.
func (d directive) pad(s string) string {
	fill := strings.Repeat(" ", max(d.width-len(s), 0))
	if strings.Contains(d.text, "-") {
		return s + fill
	}
	return fill + s
}
