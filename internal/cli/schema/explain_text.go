package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/mask"
)

// explain is the text about a field.
func (f explained) explain(recursive bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "KIND:     %s\nVERSION:  %s\n\n", f.kind.name, v1alpha1.GroupVersion)
	if f.path != "" {
		fmt.Fprintf(&b, "FIELD: %s <%s>%s\n\n", f.path, f.typeName(), mark(f.required))
	}
	section(&b, "VALUES", f.bounds())
	section(&b, "DESCRIPTION", wrapped(f.Description, command.UsageWidth-4))
	section(&b, "RULES", f.rules())
	inside := f.inside()
	if len(inside.Properties) == 0 {
		return strings.TrimSuffix(b.String(), "\n")
	}
	b.WriteString("FIELDS:\n")
	if recursive {
		tree(&b, inside, "  ")
		return b.String()
	}
	for _, name := range inside.names {
		s := inside.Properties[name]
		fmt.Fprintf(&b, "  %s <%s>%s\n    %s\n", name, s.typeName(), mark(slices.Contains(inside.Required, name)),
			summary(s.Description))
	}
	return b.String()
}

// rules are those about a value and the fields below it, whose rules name the field. Rules about changes of a value are
// in descriptions.
func (f explained) rules() (out []string) {
	messages := slices.Clone(f.about)
	for _, s := range []*openAPI{f.openAPI, f.inside()} {
		for _, r := range s.Rules {
			if r.Message != "" && !strings.Contains(r.Rule, "oldSelf") {
				messages = append(messages, r.text())
			}
		}
	}
	for i, message := range messages {
		if slices.Contains(messages[:i], message) {
			continue
		}
		for i, line := range wrapped(message, command.UsageWidth-6) {
			out = append(out, [2]string{"- ", "  "}[min(i, 1)]+line)
		}
	}
	return out
}

// text is the message after the name of the field that it is about, unless it has the name.
func (r *celRule) text() string {
	field := strings.TrimPrefix(r.FieldPath, ".")
	if field == "" || strings.Contains(r.Message, field[strings.LastIndexByte(field, '.')+1:]) {
		return r.Message
	}
	return field + ": " + r.Message
}

func mark(required bool) string {
	if required {
		return " -required-"
	}
	return ""
}

func section(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	b.WriteString(title + ":\n")
	for _, line := range lines {
		b.WriteString(strings.TrimRight("    "+line, " ") + "\n")
	}
	b.WriteString("\n")
}

func tree(b *strings.Builder, s *openAPI, indent string) {
	for _, name := range s.names {
		child := s.Properties[name]
		fmt.Fprintf(b, "%s%s <%s>%s\n", indent, name, child.typeName(), mark(slices.Contains(s.Required, name)))
		tree(b, child.inside(), indent+"  ")
	}
}

// bounds says which values are possible, of lists for their items too.
func (s *openAPI) bounds() (out []string) {
	between := func(least, most, what string) {
		switch {
		case least != "" && most != "":
			out = append(out, fmt.Sprintf("%s to %s%s", least, most, what))
		case least != "":
			out = append(out, fmt.Sprintf("at least %s%s", least, what))
		case most != "":
			out = append(out, fmt.Sprintf("at most %s%s", most, what))
		}
	}
	if len(s.Enum) > 0 {
		var names []string
		for _, v := range s.Enum {
			names = append(names, inJSON(v))
		}
		out = append(out, "one of "+strings.Join(names, ", "))
	}
	between(s.Minimum.String(), s.Maximum.String(), "")
	between(number(s.MinLength), number(s.MaxLength), " characters")
	between(number(s.MinItems), number(s.MaxItems), " items")
	between(number(s.MinFields), number(s.MaxFields), " fields")
	if s.Pattern != "" {
		out = append(out, "matches "+s.Pattern)
	}
	if s.Default != nil {
		out = append(out, "default "+inJSON(s.Default))
	}
	if s.Items != nil {
		for _, line := range s.Items.bounds() {
			out = append(out, "each item: "+line)
		}
	}
	return out
}

func inJSON(v any) string {
	b, _ := json.Marshal(v) // it comes from JSON
	return string(b)
}

func number(n *int64) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

// summary is the first sentence, cut at the width of a line.
func summary(description string) string {
	first, _, _ := strings.Cut(description, "\n\n")
	first = mask.Line(first)
	if i := strings.Index(first, ". "); i > 0 {
		first = first[:i+1]
	}
	if width := command.UsageWidth - 4; len(first) > width {
		cut := strings.LastIndex(first[:width-3], " ")
		first = strings.TrimRight(first[:cut], ",;: ") + " ..."
	}
	return first
}

// wrapped breaks paragraphs into lines.
func wrapped(text string, width int) (out []string) {
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			out = append(out, "")
		}
		line := ""
		for _, word := range strings.Fields(paragraph) {
			if line != "" && len(line)+1+len(word) > width {
				out, line = append(out, line), ""
			}
			line = strings.TrimPrefix(line+" "+word, " ")
		}
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}
