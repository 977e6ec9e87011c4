package chain

import (
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	syntax "github.com/h2surge/h2surge/internal/placeholder"
)

// content builds the body of a request or of a part.
func (b *builder) content(body rv.Text, from *rv.BodyFrom) text {
	if from == nil {
		return b.build(body)
	}
	content := b.read(&from.Content)
	if from.Raw {
		return text(nil).join(content)
	}
	pieces, err := syntax.Parse(string(content))
	if err != nil {
		b.fail(err)
	}
	var out text
	for _, p := range pieces {
		part, ok := rv.Part{Literal: p.Literal}, true
		if p.Ref != nil {
			part, ok = p.Ref.Part(b.named)
		}
		if ok {
			out = out.add(b.part(&part))
		}
	}
	return out
}

// named returns what a name refers to: a capture of the chain, a variable, or a capture of setup.
func (b *builder) named(ref *syntax.Reference) (part rv.Part, ok bool) {
	if ref.Listener != "" {
		return b.listenerOf(ref)
	}
	part = rv.Part{
		Capture:  1 + slices.Index(b.captures, ref.Name),
		Variable: 1 + slices.IndexFunc(b.g.variables, func(v *variable) bool { return v.name == ref.Name }),
		Global:   1 + slices.Index(b.g.Globals, ref.Name),
		Column:   ref.Column,
	}
	if answer := slices.Index(b.captures, ref.Name+"."+ref.Column); answer >= 0 {
		part.Capture, part.Column = 1+answer, ""
	}
	switch {
	case ref.Traceparent != nil:
		b.failf("${%s}: traceparent is not possible in a text outside the manifest", ref.Name)
		return part, false
	case part.Capture > 0:
		part.Variable, part.Global = 0, 0
	case part.Variable > 0:
		part.Global = 0
	case part.Global == 0:
		b.failf("${%s} is not a variable or a capture of the chain", ref.Name)
		return part, false
	}
	if part.Column != "" && part.Variable == 0 {
		b.failf("${%s.%s}: only variables of type csv have columns", ref.Name, ref.Column)
		return part, false
	}
	return part, true
}

// listenerOf returns the URL, the host or the port of a listener.
func (b *builder) listenerOf(ref *syntax.Reference) (part rv.Part, ok bool) {
	i := slices.IndexFunc(b.g.Listeners, func(l Listener) bool { return l.Name == ref.Listener })
	if i < 0 {
		b.failf("${listener.%s}: there is no such listener", ref.Listener)
	}
	return rv.Part{Listener: i + 1, Column: ref.Column}, i >= 0
}
