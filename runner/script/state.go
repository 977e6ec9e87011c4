package script

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// state is one script in one Host. L is nil before open and after drop.
type state struct {
	script *Script
	number int // its index in the Host
	budget *budget
	L      *lua.LState
	rng    *rand.Rand
	match  matcher
	json   jsonLibrary
	spare  *bytes.Buffer // of gsub
	// values are those of the chain instance, nil outside of a call.
	values Values

	compat compat
	native native
}

const (
	callStack = 200
	// stackSlots is what the Lua stack begins with; it grows up to maxStackSlots.
	stackSlots, maxStackSlots = 512, 64 << 10
)

func init() {
	// Numbers from here on are keys of a table's hash part. With the package's default, one assignment fills a gigabyte.
	// It is a variable of the package, which nothing else in this program uses.
	lua.MaxArrayIndex = 1 << 20
}

// open makes the Lua state and runs the script's top level.
func (s *state) open() error {
	s.rng = newRandom(s.budget.limits.Seed, uint64(s.number))
	s.L = lua.NewState(lua.Options{
		SkipOpenLibs: true, CallStackSize: callStack, RegistrySize: stackSlots, RegistryMaxSize: maxStackSlots,
		RegistryGrowStep: stackSlots,
	})
	s.L.SetContext(s.budget)
	s.openLibraries()
	s.openProxies()
	s.L.Push(s.L.NewFunctionFromProto(s.script.proto))
	guard := []lua.LGFunction{s.concat, s.setIndex, s.newKey, s.all, s.tailCall}
	for _, fn := range guard {
		s.L.Push(s.L.NewFunction(fn))
	}
	err := s.run(len(guard), 0)
	if err != nil {
		s.drop()
	}
	return err
}

// drop forgets the Lua state and all that refers to it.
func (s *state) drop() {
	if s.L != nil {
		s.L.Close()
	}
	*s = state{script: s.script, number: s.number, budget: s.budget}
}

// run calls the function below the nargs arguments on the stack, under the budget.
func (s *state) run(nargs, nret int) error {
	s.budget.begin()
	err := s.L.PCall(nargs, nret, nil)
	s.budget.end()
	if err == nil {
		return nil
	}
	err = s.explain(err)
	if s.budget.heap.ending {
		s.drop()
		s.budget.heap.ended()
	} else {
		s.L.SetTop(0)
	}
	return err
}

// explain makes an error that names the script. If the budget is used up, that is the reason.
func (s *state) explain(err error) error {
	msg := err.Error()
	var api *lua.ApiError
	if errors.As(err, &api) {
		if m, ok := text(api.Object); ok {
			msg = m
		} else {
			msg = "the error is a " + api.Object.Type().String()
		}
	}
	if !strings.HasPrefix(msg, s.script.name+":") {
		msg = s.script.name + ": " + msg
	}
	if why := s.budget.why; why != nil {
		place, ok := strings.CutSuffix(msg, why.Error())
		if !ok || place != clip(place) {
			place = s.script.name + ": "
		}
		return fmt.Errorf("%s%w", place, why)
	}
	return errors.New(clip(msg))
}

// clip bounds the length of a message.
func clip(msg string) string {
	const most = 1024
	if len(msg) > most {
		return msg[:most] + "..."
	}
	return msg
}

// fail is an error about what a script returned.
func (s *state) fail(function, format string, args ...any) error {
	return fmt.Errorf("%s: %s: %w", s.script.name, function, fmt.Errorf(format, args...))
}

// function returns a global function. The script can replace it from call to call.
func (s *state) function(name string) (*lua.LFunction, error) {
	fn, ok := s.L.G.Global.RawGetString(name).(*lua.LFunction)
	if !ok {
		return nil, fmt.Errorf("%s: %s is no longer a function", s.script.name, name)
	}
	return fn, nil
}

// concat is the operator "..", see guard.go.
func (s *state) concat(L *lua.LState) int {
	n := L.GetTop()
	size, plain := 0, true
	for i := 1; i <= n; i++ {
		switch v := L.Get(i).(type) {
		case lua.LString:
			size += len(v)
		case lua.LNumber:
			size += 24
		default:
			plain = false
		}
	}
	s.budget.reserveString(L, size)
	if !plain {
		return s.concatMeta(L, n)
	}
	var b strings.Builder
	b.Grow(size)
	for i := 1; i <= n; i++ {
		switch v := L.Get(i).(type) {
		case lua.LString:
			b.WriteString(string(v))
		case lua.LNumber:
			var buf [32]byte
			b.Write(appendNumber(buf[:0], float64(v)))
		}
	}
	L.Push(lua.LString(b.String()))
	return 1
}

// concatMeta concatenates as the interpreter does, with __concat and its errors.
func (s *state) concatMeta(L *lua.LState, n int) int {
	rhs := L.Get(n)
	for i := n - 1; i >= 1; i-- {
		lhs := L.Get(i)
		a, okA := text(lhs)
		b, okB := text(rhs)
		if okA && okB {
			s.budget.reserveString(L, len(a)+len(b))
			rhs = lua.LString(a + b)
			continue
		}
		rhs = s.callConcat(L, lhs, rhs)
	}
	L.Push(rhs)
	return 1
}

func (s *state) callConcat(L *lua.LState, lhs, rhs lua.LValue) lua.LValue {
	op := L.GetMetaField(lhs, "__concat")
	if op == lua.LNil {
		op = L.GetMetaField(rhs, "__concat")
	}
	if op == lua.LNil {
		bad := lhs
		if _, ok := text(lhs); ok {
			bad = rhs
		}
		L.RaiseError("attempt to concatenate a %s value", bad.Type())
	}
	L.Push(op)
	L.Push(lhs)
	L.Push(rhs)
	L.Call(2, 1)
	v := L.Get(-1)
	L.Pop(1)
	return v
}

// setIndex is t[k] = v. See guard.go.
func (s *state) setIndex(L *lua.LState) int {
	t, key, value := L.Get(1), L.Get(2), L.Get(3)
	if tb, ok := t.(*lua.LTable); ok {
		if n, ok := key.(lua.LNumber); ok && n > smallIndex {
			s.stretch(L, tb, n)
		}
	}
	L.SetTable(t, key, value)
	return 0
}

// stretch reserves what an assignment to t[n] adds to the array: twice the gap, as the array grows by copies.
func (s *state) stretch(L *lua.LState, t *lua.LTable, n lua.LNumber) {
	if n >= lua.LNumber(lua.MaxArrayIndex) {
		return
	}
	if gap := int(n) - t.Len(); gap > smallIndex {
		s.budget.reserve(L, 2*gap*slotBytes)
	}
}

// newKey returns a key after a check that an empty table can have it, see guard.go.
func (s *state) newKey(L *lua.LState) int {
	if n, ok := L.Get(1).(lua.LNumber); ok && n > smallIndex && n < lua.LNumber(lua.MaxArrayIndex) {
		s.budget.need(L, 2*int(n)*slotBytes)
	}
	L.SetTop(1)
	return 1
}

// all returns its arguments, after a check that they fit into a new list. See guard.go.
func (s *state) all(L *lua.LState) int {
	s.budget.reserve(L, 2*L.GetTop()*slotBytes)
	return L.GetTop()
}

// tailCall counts instructions for the line that a tail call has in the trace of an error.
func (s *state) tailCall(L *lua.LState) int {
	s.budget.charge(L, 16*bytesPerInstruction)
	return 0
}

// arg returns an argument that is a string or a number.
func arg(L *lua.LState, n int) string {
	v, ok := text(L.Get(n))
	if !ok {
		L.TypeError(n, lua.LTString)
	}
	return v
}

// intArg returns an argument that is a number or the text of one, cut to an integer.
func intArg(L *lua.LState, n int) int {
	v := L.Get(n)
	if f, ok := number(v); ok {
		return clampInt(f)
	}
	L.TypeError(n, lua.LTNumber)
	return 0
}

func optInt(L *lua.LState, n, def int) int {
	if L.Get(n) == lua.LNil {
		return def
	}
	return intArg(L, n)
}

func number(v lua.LValue) (float64, bool) {
	switch v := v.(type) {
	case lua.LNumber:
		return float64(v), true
	case lua.LString:
		return parseNumber(string(v))
	}
	return 0, false
}

// clampInt returns f, or the nearest bound of +-2^53.
func clampInt(f float64) int {
	const most = 1 << 53
	switch {
	case math.IsNaN(f):
		return 0
	case f > most:
		return most
	case f < -most:
		return -most
	}
	return int(f)
}

func newRandom(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }
