package script

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// ErrLimit is wrapped by the error of a call that was ended by Limits.
var ErrLimit = errors.New("the script's limit")

// Limits bound what scripts may use. A field that is 0 has its default.
type Limits struct {
	// Instructions of one call, and of a script's top level (10 million).
	Instructions int64
	// Time of one call (2 s). It bounds operations that take long without instructions, such as comparing long strings.
	Time time.Duration
	// Heap is how many bytes may be live in the process while a script runs, in the scripts of all Hosts and outside of
	// them (3/4 of Go's memory limit, or 1 GiB without one).
	Heap int64
	// Body is the most bytes of a body that a script makes (1 MiB).
	Body int
	// Fields is the most bytes of the header fields that a script makes, 32 bytes added for each (64 KiB).
	Fields int
	// Seed and the script's number in the Host are the seed of math.random.
	Seed uint64
}

func (l Limits) withDefaults() Limits {
	l.Instructions = cmp.Or(l.Instructions, 10_000_000)
	l.Time = cmp.Or(l.Time, 2*time.Second)
	l.Heap = cmp.Or(l.Heap, defaultHeap())
	l.Body = cmp.Or(l.Body, 1<<20)
	l.Fields = cmp.Or(l.Fields, 64<<10)
	return l
}

const (
	// stride is how many instructions pass between two looks at the clock.
	stride = 256
	// bytesPerInstruction is how many bytes a library function reads or writes in about the time of an instruction.
	bytesPerInstruction = 64
)

// budget counts instructions by being the context of the Lua states: with a context, the interpreter calls Done before
// each instruction. That counts all code, also goto loops and code below pcall, sort and gsub, and needs no timer. It
// costs about 6 ns an instruction, a third of the interpreter's own cost, which is 0.2 us for a call of a usual script.
// Counting by calls that are put into loops costs 65 ns a turn and has to know all kinds of loops (BenchmarkBudget).
type budget struct {
	context.Context
	limits Limits
	// used counts instructions. Above until, the budget looks at its limits.
	used, until int64
	started     time.Time
	// over is closed at all times: Done returns it when the call must end. why is the reason.
	over chan struct{}
	why  error
	heap heap
}

func newBudget(l Limits) *budget {
	b := &budget{Context: context.Background(), limits: l, over: make(chan struct{}), heap: newHeap(l.Heap)}
	close(b.over)
	return b
}

// begin starts a call.
func (b *budget) begin() {
	b.why, b.started = nil, time.Time{}
	b.used, b.until = 0, stride
	if b.heap.needed >= checkEvery {
		b.until = 0
	}
}

// end counts the instructions since the last look. Mostly there was none.
func (b *budget) end() {
	b.heap.needed += min(b.used-b.until+stride, stride) * bytesOfInstruction
}

// Done is part of context.Context. The interpreter calls it before each instruction.
func (b *budget) Done() <-chan struct{} {
	if b.used++; b.used <= b.until {
		return nil
	}
	return b.look()
}

func (b *budget) look() <-chan struct{} {
	if b.why != nil {
		return b.over
	}
	now := time.Now()
	if b.started.IsZero() {
		b.started = now
	}
	switch {
	case b.used > b.limits.Instructions:
		b.why = fmt.Errorf("%w of %d instructions is exceeded", ErrLimit, b.limits.Instructions)
	case now.Sub(b.started) > b.limits.Time:
		b.why = fmt.Errorf("%w of %v is exceeded", ErrLimit, b.limits.Time)
	default:
		b.why = b.heap.need(stride * bytesOfInstruction)
	}
	if b.why != nil {
		return b.over
	}
	b.until = min(b.used+stride, b.limits.Instructions)
	return nil
}

// charge counts the time for n bytes that a library function is about to read or write.
func (b *budget) charge(L *lua.LState, n int) {
	b.used += int64(n) / bytesPerInstruction
	if b.used > b.until && b.look() != nil {
		b.raise(L)
	}
}

// need ends the call if n bytes, which a function is about to allocate, do not fit into the heap.
func (b *budget) need(L *lua.LState, n int) {
	if b.why == nil {
		b.why = b.heap.need(int64(n))
	}
	if b.why != nil {
		b.raise(L)
	}
}

// reserve is need and charge.
func (b *budget) reserve(L *lua.LState, n int) {
	b.need(L, n)
	b.charge(L, n)
}

// checkString raises an error if a string gets longer than a script may make it.
func checkString(L *lua.LState, n int) {
	if n > maxString {
		L.RaiseError("a string of %d bytes is longer than the %d allowed", n, maxString)
	}
}

// reserveString is checkString and reserve.
func (b *budget) reserveString(L *lua.LState, n int) {
	checkString(L, n)
	b.reserve(L, n)
}

func (b *budget) raise(L *lua.LState) {
	b.until = 0
	L.RaiseError("%s", b.why.Error())
}

// Err is the message of the error that the interpreter raises.
func (b *budget) Err() error { return b.why }
