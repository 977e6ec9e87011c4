package chain

// Instance is one run through a chain: its variables' values and what it captured. It is owned by
// one worker and used again for another run by Begin.
type Instance struct {
	Chain int32
	// Step is the position of the next step in the chain.
	Step int32

	variables []int64
	captures  []span
	buf       []byte
}

// span is a piece of Instance.buf; length 0 means not captured.
type span struct{ from, to uint32 }

// MaxCaptured bounds the bytes one instance keeps of captured values, so that a peer cannot fill
// the memory. What does not fit counts as not captured.
const MaxCaptured = 64 << 10

// Begin makes the instance a new run of a chain and draws its variables.
func (in *Instance) Begin(g *Program, chain int, cursors []Cursor) {
	c := &g.Chains[chain]
	in.Chain, in.Step = int32(chain), 0
	in.variables = in.variables[:0]
	for _, v := range c.Variables {
		in.variables = append(in.variables, cursors[v].Next())
	}
	in.captures = in.captures[:0]
	for range c.Captures {
		in.captures = append(in.captures, span{})
	}
	in.buf = in.buf[:0]
}

// Capture keeps a copy of value in a slot. It returns false when there is no room.
func (in *Instance) Capture(slot int, value []byte) bool {
	from := len(in.buf)
	if from+len(value) > MaxCaptured {
		return false
	}
	in.buf = append(in.buf, value...)
	in.captures[slot] = span{uint32(from), uint32(len(in.buf))}
	return true
}

// Has says whether a slot has a value; an empty one counts as none.
func (in *Instance) Has(slot int) bool { return in.captures[slot].to > in.captures[slot].from }

// Captured returns the value in a slot, valid until the next Capture or Begin.
func (in *Instance) Captured(slot int) []byte {
	s := in.captures[slot]
	return in.buf[s.from:s.to]
}

func (in *Instance) appendVariable(dst []byte, g *Program, i int) []byte {
	v := g.Chains[in.Chain].Variables[i]
	return g.Variables[v].append(dst, in.variables[i])
}
