package chain

import (
	"fmt"
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
		part := rv.Part{Literal: p.Literal}
		if p.Ref != nil {
			if part, err = b.resolve(p.Ref); err != nil {
				b.fail(err)
				continue
			}
		}
		out = out.add(b.part(&part))
	}
	return out
}

// resolve returns what a name refers to: a capture of the chain, a variable, or a capture of setup.
func (b *builder) resolve(ref *syntax.Reference) (rv.Part, error) {
	part := rv.Part{
		Capture:  1 + slices.Index(b.captures, ref.Name),
		Variable: 1 + slices.IndexFunc(b.g.variables, func(v *variable) bool { return v.name == ref.Name }),
		Global:   1 + slices.Index(b.g.Globals, ref.Name),
		Column:   ref.Column,
	}
	if answer := slices.Index(b.captures, ref.Name+"."+ref.Column); answer >= 0 {
		part.Capture, part.Column = 1+answer, ""
	}
	switch {
	case ref.Listener != "":
		i := slices.IndexFunc(b.g.Listeners, func(l Listener) bool { return l.Name == ref.Listener })
		if i < 0 {
			return part, fmt.Errorf("${listener.%s}: there is no such listener", ref.Listener)
		}
		part = rv.Part{Listener: i + 1, Column: ref.Column}
	case ref.Traceparent != nil:
		return part, fmt.Errorf("${%s}: traceparent is not possible in a text outside the manifest", ref.Name)
	case part.Capture > 0:
		part.Variable, part.Global = 0, 0
	case part.Variable > 0:
		part.Global = 0
	case part.Global == 0:
		return part, fmt.Errorf("${%s} is not a variable or a capture of the chain", ref.Name)
	}
	if part.Column != "" && part.Variable == 0 {
		return part, fmt.Errorf("${%s.%s}: only variables of type csv have columns", ref.Name, ref.Column)
	}
	for _, f := range ref.Functions {
		out := rv.Function{Name: f.Name, Width: f.Width, Fill: f.Fill}
		if f.Key != nil {
			key, err := b.resolve(f.Key)
			if err != nil {
				return part, err
			}
			out.Key = &key
		}
		part.Functions = append(part.Functions, out)
	}
	return part, nil
}
