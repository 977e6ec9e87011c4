package observe

import (
	"bytes"
	"strings"
)

// plain changes a page in OpenMetrics to the text format of Prometheus, as far as that has words for it: a counter gets
// the suffix of its samples, and timestamps and exemplars are left out.
func plain(page []byte) []byte {
	var out bytes.Buffer
	for line := range strings.SplitSeq(string(page), "\n") {
		out.WriteString(plainLine(line))
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// typesOf are the types of the text format in place of those that only OpenMetrics has.
var typesOf = map[string]string{"unknown": "untyped", "info": "untyped", "stateset": "gauge",
	"gaugehistogram": "histogram"}

func plainLine(line string) string {
	if rest, is := strings.CutPrefix(line, "# TYPE "); is {
		name, kind, _ := strings.Cut(rest, " ")
		if kind == "counter" {
			name += "_total"
		}
		if other := typesOf[kind]; other != "" {
			kind = other
		}
		return "# TYPE " + name + " " + kind
	}
	if strings.HasPrefix(line, "#") {
		return ""
	}
	series, rest := line, ""
	if end := endOfLabels(line); end > 0 {
		series, rest = line[:end], line[end:]
	} else if name, after, found := strings.Cut(line, " "); found {
		series, rest = name, " "+after
	}
	v, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	return series + " " + v
}

// endOfLabels returns the length of a line up to the brace that ends the labels; 0: there are none before the value.
func endOfLabels(line string) int {
	quoted, open := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			open = true
		case c == '}' && open:
			return i + 1
		case c == ' ' && !open:
			return 0
		}
	}
	return 0
}
