package maock

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/h2surge/h2surge/internal/convert"
)

// texts fills the placeholders of one response with placeholders.
type texts struct {
	c     *converter
	uuids int
}

// fill is fillWith for an object whose placeholder is not read yet.
func (t *texts) fill(o *convert.Object, text string) string {
	return t.fillWith(o, text, o.Text("placeholder"))
}

// fillWith puts the n-th argument in the place of the n-th placeholder.
func (t *texts) fillWith(o *convert.Object, text, placeholder string) string {
	args := o.List("arguments")
	parts := []string{text}
	if placeholder != "" {
		parts = strings.Split(text, placeholder)
	}
	if len(parts)-1 != len(args) {
		t.c.Fail(o.At("arguments"), "there are %d for %d placeholders", len(args), len(parts)-1)
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
func (t *texts) argument(o *convert.Object) string {
	defer o.End()
	kind, from := o.Text("type-of-value"), o.Text("value-identifier")
	filters := t.filters(o)
	switch kind {
	case "JsonPointer":
		if strings.Contains(from, "}") {
			t.c.Warn(o.At("value-identifier"), "%q: a } has no counterpart; nothing is put there", from)
			return ""
		}
		if !t.c.checkPointer(o.At("value-identifier"), from) {
			return ""
		}
		return "${json:" + from + filters + "}"
	case "Header":
		if from == "" || strings.ContainsAny(from, "{} ") {
			t.c.Fail(o.At("value-identifier"), "%q is not the name of a header", from)
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
	t.c.Fail(o.At("type-of-value"), "%q; allowed: JsonPointer, Header, RandomHex, TimeStamp, Pseudo-UUID, RawPayload",
		kind)
	return ""
}

// filters are what the regular expression and the range of an argument become. maock takes all that
// the expression matches, whatever its groups.
func (t *texts) filters(o *convert.Object) string {
	out := ""
	if expr := o.Text("regex"); expr != "" && expr != ".*" {
		if _, err := regexp.Compile(expr); err != nil || strings.Contains(expr, "'") {
			t.c.Warn(o.At("regex"), "%q has no counterpart: the whole value is taken", expr)
		} else {
			out += "|match('(" + expr + ")')"
		}
	}
	start, length := o.Whole("sub-string-start", 0), o.Whole("sub-string-length", -1)
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
		t.c.Warn("Pseudo-UUID", "a part of a UUID other than the first of a response becomes random digits")
		return "${random.hex(32)" + filters + "}"
	}
	return "${random.hex(8)}-${random.hex(4)}-4${random.hex(3)}-a${random.hex(3)}-${random.hex(12)}"
}
