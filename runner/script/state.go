package script

import (
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// state is one script in one Host. L is nil before open and after drop.
type state struct {
	script *Script
	number int // its index in the Host
	json   jsonLibrary
	objects
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
	L := lua.NewState(lua.Options{
		SkipOpenLibs: true, CallStackSize: callStack, RegistrySize: stackSlots, RegistryMaxSize: maxStackSlots,
		RegistryGrowStep: stackSlots,
	})
	L.SetContext(s.budget)
	s.objects.open(L, s.budget)
	s.openLibraries()
	s.L.Push(s.L.NewFunctionFromProto(s.script.proto))
	guards := s.budget.guards()
	for _, fn := range guards {
		s.L.Push(s.L.NewFunction(fn))
	}
	err := s.run(len(guards), 0)
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
	*s = state{script: s.script, number: s.number, objects: objects{budget: s.budget}}
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

// call calls a global function. The script can replace it from call to call.
func (s *state) call(name string, args ...lua.LValue) (first, second lua.LValue, err error) {
	fn, ok := s.L.G.Global.RawGetString(name).(*lua.LFunction)
	if !ok {
		return nil, nil, fmt.Errorf("%s: %s is no longer a function", s.script.name, name)
	}
	s.L.Push(fn)
	for _, a := range args {
		s.L.Push(a)
	}
	if err := s.run(len(args), 2); err != nil {
		return nil, nil, err
	}
	first, second = s.L.Get(-2), s.L.Get(-1)
	s.L.SetTop(0)
	return first, second, nil
}
