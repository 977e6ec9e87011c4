package chain

import (
	"fmt"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	syntax "github.com/h2surge/h2surge/internal/text"
	"github.com/h2surge/h2surge/runner/script"
)

// script compiles a step's script and finds out what it needs.
func (b *builder) script(in *rv.Script, s *Step) error {
	if in == nil {
		return nil
	}
	source, err := b.res.content(&in.Content)
	if err != nil {
		return fmt.Errorf("script.content: %w", err)
	}
	compiled, err := script.Compile(in.Name, string(source))
	if err != nil {
		return fmt.Errorf("script: %w", err)
	}
	s.Script = len(b.g.Scripts)
	b.g.Scripts = append(b.g.Scripts, compiled)
	if compiled.Validates() {
		s.inspectForScript(compiled.WantsBody())
		s.needsBody = s.WantBody
	}
	return b.scriptNames(string(source), s)
}

// scriptNames are what vars can read: all captures, and the variables whose names stand in the source,
// of which the instance draws a value.
func (b *builder) scriptNames(source string, s *Step) error {
	s.names = map[string]text{}
	for i, name := range b.g.Globals {
		s.names[name] = text{{kind: pieceGlobal, index: i}}
	}
	for i, v := range b.g.variables {
		if !hasWord(source, v.name) {
			continue
		}
		if err := b.scriptVariable(i, v, s); err != nil {
			return fmt.Errorf("script%w", err)
		}
	}
	for i, name := range b.captures {
		s.names[name] = text{{kind: pieceCapture, index: i}}
	}
	return nil
}

// scriptVariable names a table's columns as texts do: "name.column".
func (b *builder) scriptVariable(i int, v *variable, s *Step) error {
	columns := []string{""}
	if t, ok := v.values.(*table); ok {
		columns = t.columns
	}
	for _, column := range columns {
		p, err := b.variable(i, column)
		if err != nil {
			return err
		}
		name := v.name
		if column != "" {
			name += "." + column
		}
		s.names[name] = text(nil).add(p)
	}
	return nil
}

// hasWord says whether a name stands somewhere in a source, not as a part of another one.
func hasWord(source, name string) bool {
	for at := 0; ; {
		i := strings.Index(source[at:], name)
		if i < 0 || name == "" {
			return false
		}
		from, to := at+i, at+i+len(name)
		if (from == 0 || !syntax.IsNameOctet(source[from-1])) && (to == len(source) || !syntax.IsNameOctet(source[to])) {
			return true
		}
		at = from + 1
	}
}

// remember marks the chains in which a script makes requests: it is given the exchange before, which may
// be that of any step.
func (g *Program) remember(c *Chain) {
	body := false
	steps := g.Steps[c.First : c.First+c.Len]
	for i := range steps {
		if n := steps[i].Script; n >= 0 && g.Scripts[n].Makes() {
			c.Scripted = true
			body = body || g.Scripts[n].WantsBody()
		}
	}
	for i := range steps {
		if s := &steps[i]; c.Scripted {
			s.inspectForScript(body)
		}
	}
}

// inspectForScript gathers all that a script may look at. Only what is judged fails when it is cut.
func (s *Inspection) inspectForScript(body bool) {
	if !s.Inspect {
		s.inspect()
	}
	s.WantRequest, s.WantFields, s.WantHeaders = true, true, true
	s.WantBody = s.WantBody || body
}

// Values are what a script reads and sets of an instance; they implement script.Values. A value that is
// read is valid until the next one is.
type Values struct {
	Instance *Instance
	// Step is whose script it is.
	Step *Step

	buf []byte
}

// Value implements script.Values.
func (v *Values) Value(name string) ([]byte, bool) {
	t, ok := v.Step.names[name]
	if slot, isCapture := t.slot(); !ok || isCapture && !v.Instance.captures[slot].set {
		return nil, false
	}
	v.buf = t.appendTo(v.buf[:0], v.Instance)
	return v.buf, true
}

// SetValue implements script.Values.
func (v *Values) SetValue(name string, value []byte) error {
	slot, ok := v.Step.names[name].slot()
	switch {
	case !ok:
		return fmt.Errorf("vars.%s cannot be set: no step of the chain captures it", name)
	case !v.Instance.Capture(slot, value):
		return fmt.Errorf("vars.%s cannot be set: an instance can store at most %d bytes", name, MaxCaptured)
	}
	return nil
}

// slot is the capture that is the whole text.
func (t text) slot() (slot int, ok bool) {
	if len(t) != 1 || t[0].kind != pieceCapture || len(t[0].functions) > 0 {
		return 0, false
	}
	return t[0].index, true
}
