package chain

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// traceparents makes values of the traceparent header field (W3C Trace Context 3.2). A drawn value is the number of a
// slot, which occurs once in the test. Different numbers have different trace ids, because the first 64 bits of the
// trace id are a bijection of the number. The other bits depend on the salt of the worker, too.
type traceparents struct {
	seed uint64
	// below is the ratio in units of 2^-63: a trace is sampled if bits 1 to 63 of its id are below it. Samplers of
	// OpenTelemetry with the same ratio (TraceIDRatioBased) choose the same traces.
	below uint64
}

func newTraceparents(v *rv.Variable, seed uint64) (*traceparents, error) {
	ratio := v.Traceparent.Ratio
	if !(ratio >= 0 && ratio <= 1) || v.Scope != rv.ScopeStep {
		return nil, rv.InField("traceparent", fmt.Errorf("ratio %v and scope %q are not a ratio from 0 to 1 and scope step",
			ratio, v.Scope))
	}
	return &traceparents{seed: seed, below: uint64(ratio * (1 << 63))}, nil
}

func (*traceparents) Plain() bool { return true }

// append implements values. It has no salt; texts use piece.trace.
func (t *traceparents) Append(dst []byte, v int64, _ int) []byte { return t.at(v, 0).append(dst) }

// at returns the value of a number. No id is zero, which is not valid (W3C Trace Context 3.2.2).
func (t *traceparents) at(v int64, salt uint64) traceparent {
	high := mix(uint64(v) ^ t.seed)
	low := mix(high+golden^salt) | 1
	return traceparent{high: high, low: low, parent: mix(low+golden^t.seed) | 1, sampled: low>>1 < t.below}
}

// traceparent is a value of the header field.
type traceparent struct {
	high, low, parent uint64
	sampled           bool
}

func (t traceparent) append(dst []byte) []byte {
	id := t.id()
	dst = hex.AppendEncode(append(dst, "00-"...), id[:])
	var parent [8]byte
	binary.BigEndian.PutUint64(parent[:], t.parent)
	dst = hex.AppendEncode(append(dst, '-'), parent[:])
	if t.sampled {
		return append(dst, "-01"...)
	}
	return append(dst, "-00"...)
}

func (t traceparent) id() (id [16]byte) {
	binary.BigEndian.PutUint64(id[:8], t.high)
	binary.BigEndian.PutUint64(id[8:], t.low)
	return id
}

// trace returns the value that the instance has drawn for a pieceTrace.
func (p *piece) trace(in *Instance) traceparent {
	t, _ := p.values.(*traceparents)
	return t.at(in.cells[p.index], in.src.variables[p.source].salt)
}

// addTrace makes the first traceparent of a step the trace of its requests.
func (s *Step) addTrace(p *piece) {
	if s.trace == nil {
		first := *p
		s.trace = &first
	}
}

// Traced reports whether the requests of the step have a traceparent.
func (s *Step) Traced() bool { return s.trace != nil }

// Trace returns the trace id of the last request of a traced step in an instance, and whether it has the sampled flag.
func (s *Step) Trace(in *Instance) (id [16]byte, sampled bool) {
	t := s.trace.trace(in)
	return t.id(), t.sampled
}
