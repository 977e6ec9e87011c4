package compile

import (
	"bytes"
	"slices"
	"strings"
)

// trapLines is how many lines above an error are searched for its cause.
const trapLines = 20

// flowTrap returns the number of the line with a value such as ${token} inside { } or [ ] without quotes, and that line
// with quotes. YAML takes the brace after the dollar sign for an object, and its error is about this line or a later
// one. n is the line of the error. The line is the cause only if its correction moves the error or removes it.
func (d *document) flowTrap(n int) (line int, corrected string) {
	lines := bytes.Split(d.source, []byte("\n"))
	n = min(n, len(lines))
	for k := n; k > max(0, n-trapLines); k-- {
		for depth := range 2 { // the bracket can be in a line above
			fixed, isTrap := quoted(string(lines[k-1]), depth)
			if !isTrap {
				continue
			}
			changed := slices.Concat(lines[:k-1], [][]byte{[]byte(fixed)}, lines[k:])
			other := &document{source: bytes.Join(changed, []byte("\n"))}
			if next := other.rejected(true); next == 0 || next > n {
				return k, strings.TrimSpace(fixed)
			}
		}
	}
	return 0, ""
}

// quoted returns a line with quotes around the values that have a placeholder and are inside { } or [ ], and whether
// there are any. A JSON object in place of a text gets quotes as a whole. depth is the number of brackets around the
// line.
func quoted(line string, depth int) (fixed string, isTrap bool) {
	var out strings.Builder
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == '#' && (i == 0 || line[i-1] == ' '):
			return out.String() + line[i:], isTrap
		case c == '"' || c == '\'':
			end := quotedEnd(line, i)
			out.WriteString(line[i:end])
			i = end
		case c == '{' && i+1 < len(line) && line[i+1] == '"' && depth == 0 && strings.Contains(line[i:], "${"):
			end := valueEnd(line, i)
			out.WriteString("'" + strings.ReplaceAll(line[i:end], "'", "''") + "'")
			i, isTrap = end, true
		case c == '{' || c == '[':
			depth++
			out.WriteByte(c)
			i++
		case c == '}' || c == ']':
			depth--
			out.WriteByte(c)
			i++
		case c == ' ' || c == ',' || depth == 0 || !startsValue(line, i):
			out.WriteByte(c)
			i++
		default:
			end := valueEnd(line, i)
			value := strings.TrimRight(line[i:end], " ")
			if strings.Contains(value, "${") {
				value, isTrap = `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value)+`"`, true
			}
			out.WriteString(value)
			i += max(len(strings.TrimRight(line[i:end], " ")), 1)
		}
	}
	return out.String(), isTrap
}

// startsValue reports whether a value or an item begins at i: after a colon, a bracket or a comma.
func startsValue(line string, i int) bool {
	before := strings.TrimRight(line[:i], " ")
	return before == "" || strings.HasSuffix(before, "[") || strings.HasSuffix(before, ",") || strings.HasSuffix(before,
		":") && line[i-1] == ' '
}

// valueEnd returns where the value that begins at i ends: before a comma or a bracket that is not part of it.
func valueEnd(line string, i int) int {
	depth := 0
	for j := i; j < len(line); j++ {
		switch line[j] {
		case '"', '\'':
			if depth > 0 {
				j = quotedEnd(line, j) - 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return j
			}
			if depth == 0 && (line[i] == '{' || line[i] == '[') {
				return j + 1
			}
		case ',':
			if depth == 0 {
				return j
			}
		case ':':
			if depth == 0 && j+1 < len(line) && line[j+1] == ' ' {
				return j // it was a key
			}
		}
	}
	return len(line)
}

// quotedEnd returns where the text in quotes that begins at i ends.
func quotedEnd(line string, i int) int {
	for j := i + 1; j < len(line); j++ {
		switch {
		case line[j] == '\\' && line[i] == '"':
			j++
		case line[j] == line[i]:
			return j + 1
		}
	}
	return len(line)
}
