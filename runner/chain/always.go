package chain

import "slices"

// always finds the first always step of the last chain, and what its always steps need.
func (b *builder) always(c *Chain) {
	steps := b.g.Steps[c.First:]
	c.Always = len(steps)
	for i := range steps {
		s := &steps[i]
		switch {
		case s.Always:
			c.Always = min(c.Always, i)
			s.needs = s.sent()
		case c.Always < i:
			b.at.Step = i + 1
			b.in("always")
			b.failf("is false after step %s, for which it is true", steps[c.Always].Name)
		}
	}
}

// sent returns the slots whose values are in the request of a step, or in the key of its notification. A field that is
// omitted if it is empty needs none.
func (s *Step) sent() (slots []int) {
	slots = s.authority.slots(s.body.slots(nil))
	for i := range s.fields {
		f := &s.fields[i]
		if slots = f.nameText.slots(slots); !f.omitEmpty {
			slots = f.value.slots(slots)
		}
	}
	if s.Await != nil {
		slots = s.Await.key.slots(slots)
	}
	slices.Sort(slots)
	return slices.Compact(slots)
}

// slots appends the slots that a text reads.
func (t text) slots(to []int) []int {
	for i := range t {
		p := &t[i]
		switch p.kind {
		case pieceCapture:
			to = append(to, p.index)
		case pieceEncoded:
			to = p.encoded.inner.slots(to)
		}
		for k := range p.functions {
			to = p.functions[k].key.slots(to)
			for _, argument := range p.functions[k].arguments {
				to = argument.slots(to)
			}
		}
	}
	return to
}

// Lacks returns whether an always step has nothing to send, because a captured value is missing or empty: the instance
// was aborted before the step that captures it.
func (s *Step) Lacks(in *Instance) bool {
	return slices.ContainsFunc(s.needs, func(slot int) bool { return !in.Has(slot) })
}
