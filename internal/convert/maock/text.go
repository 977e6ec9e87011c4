package maock

import (
	"fmt"
	"regexp"
	"strings"
)

// texts fills the placeholders of one response with placeholders.
type texts struct {
	c     *converter
	uuids int
}

// fill is fillWith for an object whose placeholder is not read yet.
func (t *texts) fill(o *object, text string) string {
	return t.fillWith(o, text, o.text("placeholder"))
}

// fillWith puts the n-th argument in the place of the n-th placeholder.
func (t *texts) fillWith(o *object, text, placeholder string) string {
	args := o.list("arguments")
	parts := []string{text}
	if placeholder != "" {
		parts = strings.Split(text, placeholder)
	}
	if len(parts)-1 != len(args) {
		t.c.mistake(o.at("arguments"), "there are %d for %d placeholders", len(args), len(parts)-1)
		return ""
	}
	var out strings.Builder
	for i, part := range parts {
		out.WriteString(strings.ReplaceAll(part, "$", "$$"))
		if i < len(args) {
			out.WriteString(t.argument(args[i]))
		}
	}
	return out.String()
}

// argument returns a placeholder.
func (t *texts) argument(o *object) string {
	defer o.end()
	kind, from := o.text("type-of-value"), o.text("value-identifier")
	filters := t.filters(o)
	switch kind {
	case "JsonPointer":
		if strings.Contains(from, "}") {
			t.c.warn(o.at("value-identifier"), "%q: a } has no counterpart; nothing is put there", from)
			return ""
		}
		if !t.c.checkPointer(o.at("value-identifier"), from) {
			return ""
		}
		return "${json:" + from + filters + "}"
	case "Header":
		if from == "" || strings.ContainsAny(from, "{} ") {
			t.c.mistake(o.at("value-identifier"), "%q is not the name of a header", from)
			return ""
		}
		return "${request.header." + strings.ToLower(from) + filters + "}"
	case "RandomHex":
		return "${random.hex(1)" + filters + "}"
	case "TimeStamp":
		return "${time.imf" + filters + "}"
	case "Pseudo-UUID":
		return t.uuid(filters)
	case "RawPayload":
		return "${request.body" + filters + "}"
	}
	t.c.mistake(o.at("type-of-value"), "%q; allowed: JsonPointer, Header, RandomHex, TimeStamp, Pseudo-UUID, RawPayload",
		kind)
	return ""
}

// filters are what the regular expression and the range of an argument become. maock takes all that
// the expression matches, whatever its groups.
func (t *texts) filters(o *object) string {
	out := ""
	if expr := o.text("regex"); expr != "" && expr != ".*" {
		if _, err := regexp.Compile(expr); err != nil || strings.Contains(expr, "'") {
			t.c.warn(o.at("regex"), "%q has no counterpart: the whole value is taken", expr)
		} else {
			out += "|match('(" + expr + ")')"
		}
	}
	start, length := o.whole("sub-string-start", 0), o.whole("sub-string-length", -1)
	if start > 0 || length >= 0 {
		out += fmt.Sprintf("|slice(%d,%d)", max(start, 0), max(length, -1))
	}
	return out
}

// uuid makes each one another: ${uuid} is the same throughout a response.
func (t *texts) uuid(filters string) string {
	if t.uuids++; t.uuids == 1 {
		return "${uuid" + filters + "}"
	}
	if filters != "" {
		// The pieces below are several placeholders, which no filter spans.
		t.c.warn("Pseudo-UUID", "a part of a UUID other than the first of a response becomes random digits")
		return "${random.hex(32)" + filters + "}"
	}
	return "${random.hex(8)}-${random.hex(4)}-4${random.hex(3)}-a${random.hex(3)}-${random.hex(12)}"
}
