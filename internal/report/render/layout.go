package render

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxPrintable is the longest name that printable returns, in columns.
const maxPrintable = 60

// printable quotes a name that is not plain ASCII: it may come from a target, and must not steer a
// terminal.
func printable(name string) string {
	plain := strings.IndexFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
	if !plain || name == "" {
		name = strconv.QuoteToASCII(name)
	}
	if len(name) > maxPrintable {
		name = name[:maxPrintable-3] + "..."
	}
	return name
}

// finish writes what b has, unless there was an error. What names the contents, for errors.
func finish(w io.Writer, b *bytes.Buffer, what string, err error) error {
	if err == nil {
		_, err = w.Write(b.Bytes())
	}
	if err != nil {
		return fmt.Errorf("writing the %s: %w", what, err)
	}
	return nil
}

func section(b *bytes.Buffer, title string) {
	b.WriteByte('\n')
	line(b, "%s", title)
}

// line leaves no blanks at the end.
func line(b *bytes.Buffer, format string, args ...any) {
	b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " "))
	b.WriteByte('\n')
}

// behind writes a line that starts with begin, and wraps the text. Further lines are indented to the start of the text.
func behind(b *bytes.Buffer, begin, text string) {
	var body bytes.Buffer
	wrap(&body, strings.Repeat(" ", len(begin)), text)
	b.WriteString(begin + strings.TrimLeft(body.String(), " "))
}

// sentence is text that a target may have a part in, with everything escaped that is not plain ASCII.
func sentence(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0 {
		return s
	}
	return strings.Trim(strconv.QuoteToASCII(s), `"`)
}

// wrap breaks text between words so that no line is longer than columns, unless a word is. Below
// a small indent the lines after the first stand two columns further in.
func wrap(b *bytes.Buffer, indent, text string) {
	for first := true; text != ""; first = false {
		in := indent
		if !first && len(indent) < 4 {
			in += "  "
		}
		n := breakAt(text, columns-len(in))
		line(b, "%s%s", in, text[:n])
		text = strings.TrimLeft(text[n:], " ")
	}
}

// breakAt is the length of the part of text that fits into width.
func breakAt(text string, width int) int {
	if len(text) <= width {
		return len(text)
	}
	if n := strings.LastIndexByte(text[:width+1], ' '); n > 0 {
		return n
	}
	if n := strings.IndexByte(text, ' '); n > 0 {
		return n
	}
	return len(text)
}
