package script

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/h2surge/h2surge/internal/octet"
)

// spec is one directive of string.format. precision is -1 if it is absent.
type spec struct {
	flags            string
	width, precision int
	verb             byte
}

// strFormat has the directives of Lua 5.1.
func (s *state) strFormat(L *lua.LState) int {
	format := arg(L, 1)
	var out strings.Builder
	for n := 2; format != ""; {
		i := strings.IndexByte(format, '%')
		if i < 0 {
			i = len(format)
		}
		checkString(L, out.Len()+i)
		out.WriteString(format[:i])
		format = format[i:]
		if format == "" {
			break
		}
		if strings.HasPrefix(format, "%%") {
			out.WriteByte('%')
			format = format[2:]
			continue
		}
		var d spec
		d, format = parseSpec(L, format[1:])
		part := s.formatArg(L, d, n)
		checkString(L, out.Len()+len(part))
		out.WriteString(part)
		n++
	}
	s.budget.reserve(L, out.Len())
	L.Push(lua.LString(out.String()))
	return 1
}

// parseSpec reads a directive after its "%". Width and precision have two digits at most, as in Lua.
func parseSpec(L *lua.LState, s string) (spec, string) {
	rest := strings.TrimLeft(s, "-+ #0")
	d := spec{flags: s[:len(s)-len(rest)], precision: -1}
	d.width, rest = twoDigits(rest)
	d.width = max(d.width, 0)
	if strings.HasPrefix(rest, ".") {
		d.precision, rest = twoDigits(rest[1:])
		d.precision = max(d.precision, 0)
	}
	if rest == "" || len(d.flags) > 5 || octet.IsDigit(rest[0]) {
		L.RaiseError("invalid format (flags, width or precision too long, or no directive)")
	}
	d.verb = rest[0]
	return d, rest[1:]
}

func twoDigits(s string) (int, string) {
	n := 0
	for n < 2 && n < len(s) && octet.IsDigit(s[n]) {
		n++
	}
	if n == 0 {
		return -1, s
	}
	v, _ := strconv.Atoi(s[:n])
	return v, s[n:]
}

func (s *state) formatArg(L *lua.LState, d spec, n int) string {
	if n > L.GetTop() {
		L.ArgError(n, "no value")
	}
	switch d.verb {
	case 'c':
		return d.pad(string([]byte{byte(intArg(L, n))}))
	case 'd', 'i':
		return d.integer('d', intArg(L, n))
	case 'u', 'o', 'x', 'X':
		verb := d.verb
		if verb == 'u' {
			verb = 'd'
		}
		return d.integer(verb, uint64(intArg(L, n)))
	case 'e', 'E', 'f', 'g', 'G':
		f, ok := number(L.Get(n))
		if !ok {
			L.TypeError(n, lua.LTNumber)
		}
		return d.float(f)
	case 'q':
		return quoted(arg(L, n))
	case 's':
		str, _ := text(s.display(L, L.Get(n)))
		if d.precision >= 0 {
			str = str[:min(d.precision, len(str))]
		}
		return d.pad(str)
	}
	L.RaiseError("invalid option '%%%c' to 'format'", d.verb)
	return ""
}

// verbatim is the directive for package fmt.
func (d spec) verbatim(verb byte) string {
	out := "%" + d.flags
	if d.width > 0 {
		out += strconv.Itoa(d.width)
	}
	if d.precision >= 0 {
		out += "." + strconv.Itoa(d.precision)
	}
	return out + string(rune(verb))
}

func (d spec) integer(verb byte, v any) string {
	if verb == 'd' {
		d.flags = strings.ReplaceAll(d.flags, "#", "") // C ignores it, Go does not
	}
	return fmt.Sprintf(d.verbatim(verb), v)
}

func (d spec) float(f float64) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return d.pad(numberText(lua.LNumber(f)))
	}
	if d.precision < 0 {
		d.precision = 6
	}
	return fmt.Sprintf(d.verbatim(d.verb), f)
}

// pad adds spaces up to the width in bytes. Package fmt would count characters.
func (d spec) pad(s string) string {
	fill := d.width - len(s)
	if fill <= 0 {
		return s
	}
	if strings.Contains(d.flags, "-") {
		return s + strings.Repeat(" ", fill)
	}
	return strings.Repeat(" ", fill) + s
}

// quoted returns a string literal of Lua.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\', '\n':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\r':
			b.WriteString(`\r`)
		case 0:
			b.WriteString(`\000`)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
