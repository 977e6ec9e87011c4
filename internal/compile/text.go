package compile

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	syntax "github.com/h2surge/h2surge/internal/placeholder"
)

// text is a parsed text and its path. The meaning of a name in it can differ from step to step.
type text struct {
	path   *field.Path
	pieces []syntax.Piece
	// valid reports whether a value or a literal is allowed; nil: all are.
	valid func(string) bool
	// place describes the field in messages about valid.
	place string
}

// text parses a text and checks its literals and the names in it. A text that cannot be parsed
// has no pieces.
func (c *compiler) text(path *field.Path, s string, valid func(string) bool, place string) text {
	out := text{path: path, valid: valid, place: place}
	pieces, err := syntax.Parse(s)
	if err != nil {
		c.fail(path, "%s", err.Error())
		return out
	}
	out.pieces = pieces
	for _, p := range pieces {
		if p.Ref != nil {
			c.reference(out, p.Ref)
		} else if valid != nil && !valid(p.Literal) {
			c.fail(path, "has a character that is not possible in %s", place)
		}
	}
	return out
}

// reference checks a name that a text reads: a capture is resolved step by step, a variable's
// values must be possible where the text stands.
func (c *compiler) reference(t text, ref *syntax.Reference) {
	for _, f := range ref.Functions {
		if f.Key != nil {
			c.reference(text{path: t.path}, f.Key)
		}
		for _, argument := range f.Arguments {
			c.reference(text{path: t.path}, argument)
		}
		c.usimKeys(t.path, &f)
	}
	if ref.Traceparent != nil {
		c.traceparent(ref)
		return
	}
	if ref.Listener != "" {
		c.listenerURL(t.path, ref)
		return
	}
	i, isVariable := c.variableIndex[ref.Name]
	answer := c.answer(i, ref)
	switch {
	case isVariable && answer != "":
		c.usims.read[answer], c.captured[answer] = true, true
	case !isVariable && !c.captured[ref.Name]:
		c.undefined(t.path, ref.Name)
	case !isVariable && ref.Column != "":
		c.fail(t.path, "capture %q has no columns; write ${%s}", ref.Name, ref.Name)
	case isVariable:
		c.variableRead[ref.Name] = true
		if c.column(t.path, i, ref) && t.valid != nil {
			c.insertable(t, i, ref)
		}
	}
}

// traceparent adds the variable of a traceparent(ratio) to the plan, once for each ratio. Its values are possible
// everywhere.
func (c *compiler) traceparent(ref *syntax.Reference) {
	if _, known := c.variableIndex[ref.Name]; known {
		return
	}
	c.variableIndex[ref.Name] = len(c.plan.Variables)
	c.plan.Variables = append(c.plan.Variables, rv.Variable{Name: ref.Name, Scope: rv.ScopeStep,
		Traceparent: ref.Traceparent})
}

// column checks that a reference has a column if its variable, number i, has some.
func (c *compiler) column(path *field.Path, i int, ref *syntax.Reference) bool {
	table := c.tables[i]
	switch {
	case table == nil && c.structure.wrong(specPath.Child("variables").Index(i).String()): // its kind is not known
	case table == nil && ref.Column != "":
		c.fail(path, "variable %q has no columns; write ${%s}", ref.Name, ref.Name)
	case table != nil && ref.Column == "":
		c.fail(path, "variable %q is a table; write ${%s.column} with the name of a column", ref.Name, ref.Name)
	case table != nil && table.absent[ref.Column] != "":
		c.fail(path, "variable %q has no column %q: %s", ref.Name, ref.Column, table.absent[ref.Column])
	case table != nil && table.computed && slices.Contains(rv.Answers(), rv.Answer(ref.Column)):
		c.fail(path, "no step has expect.usim: %s, so there is no ${%s.%s}", ref.Name, ref.Name, ref.Column)
	case table != nil && table.columns != nil && table.index(ref.Column) < 0:
		c.fail(path, "variable %q has no column %q", ref.Name, ref.Column)
	default:
		return true
	}
	return false
}

// insertable checks what is known of a variable's values against the place they are inserted in.
// Runners check the rest.
func (c *compiler) insertable(t text, i int, ref *syntax.Reference) {
	c.judge(t.path, insertion{i, ref.Column, signature(ref.Functions), t.place}, func(values []known) string {
		if len(values) == 0 { // what it has is possible everywhere, or only known to runners
			values = []known{{"0", "value", -1}}
		}
		for _, k := range values {
			if !t.valid(applied(ref.Functions, k.value)) {
				return fmt.Sprintf("its %s has a character that is not possible in %s", k.name(), t.place)
			}
		}
		return ""
	})
}

// usimKeys checks the arguments of resStar whose values are known: K and OPc are keys.
func (c *compiler) usimKeys(path *field.Path, f *syntax.Function) {
	if f.Name != rv.FunctionRESStar {
		return
	}
	for _, key := range f.Arguments[:2] {
		c.knownKey(path, string(f.Name), key)
	}
}

// knownKey checks the values of a reference that user uses as keys, if they are known. Those of subscribers are checked
// elsewhere.
func (c *compiler) knownKey(path *field.Path, user string, key *syntax.Reference) {
	i, isVariable := c.variableIndex[key.Name]
	if !isVariable || c.plan.Variables[i].Subscribers != nil || !c.hasColumn(i, key) {
		return
	}
	c.judge(path, insertion{i, key.Column, "", user}, func(values []known) string {
		for _, k := range values {
			if _, err := rv.Key([]byte(k.value)); err != nil {
				return fmt.Sprintf("its %s %v, because %s uses it as a key", k.name(), err, user)
			}
		}
		return ""
	})
}

// hasColumn reports whether a reference to variable i names a column that the variable has, or no column if the
// variable has none.
func (c *compiler) hasColumn(i int, ref *syntax.Reference) bool {
	table := c.tables[i]
	return (table != nil) == (ref.Column != "") && (table == nil || table.index(ref.Column) >= 0)
}

// maxHints is how many errors a spec may have before no similar names are searched for more of them.
const maxHints = 100

// undefined reports a name that is neither a variable nor a capture.
func (c *compiler) undefined(path *field.Path, name string) {
	if len(c.errs) >= maxHints {
		c.fail(path, "variable %q is not defined", name)
		return
	}
	names := slices.Concat(slices.Collect(maps.Keys(c.variableIndex)), slices.Collect(maps.Keys(c.captured)))
	slices.Sort(names)
	near := didYouMean(name, names)
	c.hidden = c.hidden || near != "" // The text means to read a variable or capture that then seems to be unread.
	if _, is := c.listenerIndex[name]; is {
		near = "; the URL of the listener is ${listener." + name + ".url}"
	}
	c.fail(path, "variable %q is not defined%s", name, near)
}
