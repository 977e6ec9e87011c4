package script

import (
	"errors"
	"fmt"
	"runtime/metrics"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// ErrLimit is wrapped by the error of a call that was ended by Limits.
var ErrLimit = errors.New("the script's limit")

// Limits bound what scripts may use. A field that is 0 has its default.
type Limits struct {
	// Instructions of one call, and of a script's top level (10 million).
	Instructions int64
	// Time of one call (2 s). It is for what takes long without instructions; look at the package comment.
	Time time.Duration
	// Memory, in bytes, that all scripts of a Host may hold together (64 MiB).
	Memory int64
	// Body is the most bytes of a body that a script makes (1 MiB).
	Body int
	// Fields is the most bytes of the header fields that a script makes, 32 bytes added for each (64 KiB).
	Fields int
	// Seed is where math.random begins, for all scripts of a Host, each mixed with the script's place.
	Seed uint64
}

func (l Limits) withDefaults() Limits {
	set(&l.Instructions, 10_000_000)
	set(&l.Time, 2*time.Second)
	set(&l.Memory, 64<<20)
	set(&l.Body, 1<<20)
	set(&l.Fields, 64<<10)
	return l
}

func set[T ~int | ~int64](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}

const (
	// stride is how many instructions pass between two looks at the clock.
	stride = 256
	// sampleEvery is how many instructions pass between two looks at what the process has allocated.
	sampleEvery = 16384
	// bytesPerInstruction is what a library function goes through in about the time of an instruction.
	bytesPerInstruction = 64
)

// budget counts instructions by being the context of the Lua states: with a context, the interpreter asks Done before
// each instruction. That sees everything, also goto loops and code below pcall, sort and gsub, and needs no timer.
// It costs about 6 ns an instruction, a third of the interpreter's own cost, which is 0.2 us for a call of a usual script.
// Counting by calls that are put into loops costs 65 ns a turn and has to know all kinds of loops (BenchmarkBudget).
type budget struct {
	limits Limits
	// left counts down to the next stride, total to the end of the budget.
	left, total int64
	// unsampled are instructions since the last look at allocations, over calls.
	unsampled int64
	started   time.Time
	// over is closed at all times: what Done returns once the budget is used up. why is the reason.
	over chan struct{}
	why  error
	memory
}

func newBudget(l Limits, measure func(most int64) int64) *budget {
	b := &budget{limits: l, over: make(chan struct{})}
	close(b.over)
	b.memory = newMemory(l.Memory, measure)
	return b
}

// begin starts a call.
func (b *budget) begin() {
	b.why = nil
	b.total = b.limits.Instructions
	b.started = time.Time{}
	b.left = 0
	b.refill()
}

// end accounts for the instructions of a call that was shorter than a stride.
func (b *budget) end() {
	b.unsampled += stride - max(b.left, 0)
}

func (b *budget) refill() {
	b.left = min(stride, b.total)
	b.total -= b.left
}

// Done is asked before each instruction.
func (b *budget) Done() <-chan struct{} {
	if b.left--; b.left >= 0 {
		return nil
	}
	return b.step()
}

func (b *budget) step() <-chan struct{} {
	if b.why == nil {
		b.look()
	}
	if b.why != nil {
		return b.over
	}
	return nil
}

func (b *budget) look() {
	b.total += b.left + 1 // what was charged beyond the stride
	b.unsampled += stride
	now := time.Now()
	if b.started.IsZero() {
		b.started = now
	}
	switch {
	case b.total <= 0:
		b.why = fmt.Errorf("%w of %d instructions is exceeded", ErrLimit, b.limits.Instructions)
	case now.Sub(b.started) > b.limits.Time:
		b.why = fmt.Errorf("%w of %v is exceeded", ErrLimit, b.limits.Time)
	case b.unsampled >= sampleEvery:
		b.unsampled = 0
		b.why = b.sample()
	}
	if b.why == nil {
		b.refill()
	} else {
		b.left = 0
	}
}

// charge accounts for n bytes that a library function goes through, before it does.
func (b *budget) charge(L *lua.LState, n int) {
	b.left -= int64(n) / bytesPerInstruction
	if b.left < 0 && b.step() != nil {
		b.raise(L)
	}
}

// exhaust takes what is left.
func (b *budget) exhaust(L *lua.LState) {
	b.left, b.total = -1, 0
	b.step()
	b.raise(L)
}

// reserve charges for n bytes that are about to be allocated and checks that they fit.
func (b *budget) reserve(L *lua.LState, n int) {
	if b.why == nil {
		b.why = b.fits(int64(n))
	}
	if b.why != nil {
		b.raise(L)
	}
	b.charge(L, n)
}

// checkString is for a string that grows.
func (b *budget) checkString(L *lua.LState, n int) {
	if int64(n) > b.longest() {
		L.RaiseError("a string of %d bytes is longer than the %d allowed", n, b.longest())
	}
}

// reserveString is reserve for a string.
func (b *budget) reserveString(L *lua.LState, n int) {
	b.checkString(L, n)
	b.reserve(L, n)
}

func (b *budget) raise(L *lua.LState) {
	b.left = 0
	L.RaiseError("%s", b.why.Error())
}

// Err is the message of the error that the interpreter raises.
func (b *budget) Err() error { return b.why }

// Deadline is part of context.Context.
func (b *budget) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value is part of context.Context.
func (b *budget) Value(any) any { return nil }

// memory knows when to measure what the scripts hold.
type memory struct {
	limit int64
	// measure adds up what the scripts hold; it may stop at most.
	measure func(most int64) int64
	// allocated are bytes since the last measurement, at most what the next may wait for.
	allocated, next int64
	// before is the process's count of allocated bytes at the last sample.
	before uint64
	metric []metrics.Sample
}

func newMemory(limit int64, measure func(int64) int64) memory {
	m := memory{limit: limit, measure: measure, next: limit / 4}
	m.metric = []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(m.metric)
	m.before = m.metric[0].Value.Uint64()
	return m
}

// longest is the most bytes of one string.
func (m *memory) longest() int64 { return m.limit / 16 }

// sample looks at what the process has allocated. That others allocate too makes measurements more frequent, not
// their results larger.
func (m *memory) sample() error {
	metrics.Read(m.metric)
	now := m.metric[0].Value.Uint64()
	n := int64(now - m.before)
	m.before = now
	if m.allocated += n; m.allocated < m.next {
		return nil
	}
	return m.weigh(0)
}

// fits is an error when n more bytes are too many.
func (m *memory) fits(n int64) error {
	if m.allocated += n; m.allocated < m.next && n <= m.limit {
		return nil
	}
	return m.weigh(n)
}

func (m *memory) weigh(more int64) error {
	held := m.measure(m.limit)
	if held+more > m.limit {
		m.allocated = m.next // look again next time
		return fmt.Errorf("%w of %d bytes of memory is exceeded", ErrLimit, m.limit)
	}
	m.allocated, m.next = 0, max(m.limit/4, held)
	return nil
}
