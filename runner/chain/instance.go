package chain

import "slices"

// Instance has the values of the variables and the captures of one run through a chain. It belongs to one worker. Start
// uses it again for another run.
type Instance struct {
	src   *Sources
	Chain int32
	// Step is the position of the next step in the chain.
	Step int16
	// phase of the chain.
	phase phase
	// plain is true if the fields below are empty, and stay so until the next Start.
	plain bool

	// cells are the drawn values: one for each variable of scope instance, and one for each variable
	// of scope step in each step.
	cells      []int64
	captures   []captured
	buf        []byte
	references []reference
}

// captured is the part of Instance.buf that belongs to a slot.
type captured struct {
	from, to uint32
	set      bool
}

// MaxCaptured bounds the octets of all captured values of an instance, so that a peer cannot fill the memory. A value
// that does not fit counts as not captured.
const MaxCaptured = 64 << 10

// Start begins a new run of a chain and draws its variables. wall is the time in nanoseconds since 1970. The instance
// uses src from now on. It returns true if this run and the one before are of plain chains: there are no values to
// forget, and Start has changed one cache line only.
func (in *Instance) Start(g *Program, chain int, src *Sources, wall int64) (plain bool) {
	c := &g.Chains[chain]
	in.Chain, in.Step, in.src, in.phase = int32(chain), 0, src, phaseOf(c.Phase)
	if in.plain && c.plain {
		return true
	}
	in.plain = c.plain
	in.cells = slices.Grow(in.cells[:0], c.cells)[:c.cells]
	clear(in.cells)
	in.draw(c.draws, wall)
	for _, v := range c.settles {
		src.variables[v].settle(wall)
	}
	in.forget(c.Captures)
	return false
}

// BeginStep draws the variables of scope step for a request, which keeps them until the next
// BeginStep of the same step.
func (in *Instance) BeginStep(s *Step, wall int64) {
	if len(s.draws) > 0 {
		in.draw(s.draws, wall)
	}
}

func (in *Instance) draw(draws []draw, wall int64) {
	for _, d := range draws {
		in.cells[d.cell] = in.src.variables[d.variable].next(in.phase, wall)
	}
}

func (in *Instance) forget(captures int) {
	in.captures = slices.Grow(in.captures[:0], captures)[:captures]
	clear(in.captures)
	in.buf, in.references = in.buf[:0], in.references[:0]
}

// Capture keeps a copy of value in a slot. It returns false if MaxCaptured is reached. value must not be a captured
// value of the instance.
func (in *Instance) Capture(slot int, value []byte) bool {
	c := &in.captures[slot]
	in.dropReference(slot)
	if n := len(value); c.set && n <= int(c.to-c.from) {
		copy(in.buf[c.from:], value)
		c.to = c.from + uint32(n)
		return true
	}
	*c = captured{}
	if len(in.buf)+len(value) > MaxCaptured {
		in.compact()
	}
	if len(in.buf)+len(value) > MaxCaptured {
		return false
	}
	from := len(in.buf)
	in.buf = append(in.buf, value...)
	*c = captured{uint32(from), uint32(len(in.buf)), true}
	return true
}

// CaptureMore adds a line of a field to the value in a slot, which has the earlier lines. It returns false if
// MaxCaptured is reached. The slot then has no value, also after further lines: they are only a part of the value.
func (in *Instance) CaptureMore(slot int, line []byte) bool {
	if !in.captures[slot].set {
		return false
	}
	joined := append(append(in.src.value[:0], in.Captured(slot)...), ", "...)
	in.src.value = append(joined, line...)
	return in.Capture(slot, in.src.value)
}

// compact frees the memory of replaced values. Steps that are repeated often need it.
func (in *Instance) compact() {
	kept := make([]byte, 0, len(in.buf))
	for i := range in.captures {
		c := &in.captures[i]
		from := len(kept)
		kept = append(kept, in.buf[c.from:c.to]...)
		c.from, c.to = uint32(from), uint32(len(kept))
	}
	in.buf = append(in.buf[:0], kept...)
}

// release makes a slot empty again.
func (in *Instance) release(slot int) {
	in.captures[slot] = captured{}
	in.dropReference(slot)
}

// Has reports whether a slot has a value. An empty value does not count.
func (in *Instance) Has(slot int) bool { return in.captures[slot].to > in.captures[slot].from }

// Captured returns the value in a slot, valid until the next Capture or Start.
func (in *Instance) Captured(slot int) []byte {
	c := in.captures[slot]
	return in.buf[c.from:c.to]
}

// Activation is a step of an instance that has started and has no outcome yet. It is in one of three phases: a pause
// (think time or backoff), waiting for a slot, or a request. An instance has several activations at a time only in a
// parallel group.
type Activation struct {
	// Instance is the index of the instance among those of its worker.
	Instance int32
	// Step is an index into Program.Steps.
	Step int32
	// Attempt is the number of earlier attempts of the step, all of which failed.
	Attempt uint8
	// Hop is the number of redirects that the attempt has followed.
	Hop uint8
}
