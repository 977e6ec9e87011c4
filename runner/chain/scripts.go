package chain

import (
	"fmt"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	syntax "github.com/h2surge/h2surge/internal/placeholder"
	"github.com/h2surge/h2surge/runner/script"
)

// script compiles the script of a step. buildStep sets what the step must keep for it.
func (b *builder) script(in *rv.Script, s *Step) {
	if in == nil {
		return
	}
	b.in("script")
	source, err := b.res.content(&in.Content)
	if err != nil {
		b.fail(err)
		return
	}
	compiled, err := script.Compile(in.Name, string(source))
	if err != nil {
		b.fail(err)
		return
	}
	s.Script = len(b.g.Scripts)
	b.g.Scripts = append(b.g.Scripts, compiled)
	b.scriptNames(string(source), s)
}

// scriptNames sets the names that vars can read: all captures, and the variables whose names occur in the source. The
// instance draws values only for those variables.
func (b *builder) scriptNames(source string, s *Step) {
	s.names = map[string]text{}
	for i, name := range b.g.Globals {
		s.names[name] = text{{kind: pieceGlobal, index: i}}
	}
	for i, v := range b.g.variables {
		if hasWord(source, v.name) {
			b.scriptVariable(i, v, s)
		}
	}
	for i, name := range b.captures {
		s.names[name] = text{{kind: pieceCapture, index: i}}
	}
}

// scriptVariable adds a variable. The columns of a table have names such as users.id.
func (b *builder) scriptVariable(i int, v *variable, s *Step) {
	columns := []string{""}
	if t, ok := v.values.(columnar); ok {
		columns = t.Columns()
	}
	for _, column := range columns {
		name := v.name
		if column != "" {
			name += "." + column
		}
		s.names[name] = text(nil).add(b.variable(i, column))
	}
}

// hasWord reports whether a name occurs in a source, and not as a part of another name.
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

// remember marks a chain in which a script makes requests. The script gets the previous exchange, which can be that of
// any step.
func (g *Program) remember(c *Chain) {
	body := false
	steps := g.Steps[c.First : c.First+c.Len]
	for i := range steps {
		if n := steps[i].Script; n >= 0 && g.Scripts[n].ChangesRequests() {
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

// inspectForScript makes the step keep everything that a script can read. A body that is longer than MaxBody is a
// failure only if the script checks the response.
func (s *Inspection) inspectForScript(body bool) {
	if !s.Inspect {
		s.inspect()
	}
	s.WantRequest, s.WantFields, s.WantHeaders = true, true, true
	s.WantBody = s.WantBody || body
}

// Values implements script.Values for an instance. A value is valid until the next one is read.
type Values struct {
	Instance *Instance
	// Step is the step of the script.
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

// slot returns the capture if the text consists of one capture.
func (t text) slot() (slot int, ok bool) {
	if len(t) != 1 || t[0].kind != pieceCapture || len(t[0].functions) > 0 {
		return 0, false
	}
	return t[0].index, true
}
