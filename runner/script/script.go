package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// maxSource is the most bytes of a script's source.
const maxSource = 256 << 10

// Script is a compiled script. It is read-only, so all workers can use it.
type Script struct {
	name      string
	proto     *lua.FunctionProto
	defines   map[string]bool
	wantsBody bool
}

// Compile compiles a script. It runs the top level once, under the default limits, to find the functions that the
// script defines. name is in all messages, for example "templates[2].script.lua". A syntax error is "name:line: ...".
func Compile(name, source string) (*Script, error) {
	return compileFor(name, source, (*Script).inspect)
}

// CompileCustomizer is Compile for a script that a server runs. It defines customize_response(request_headers,
// request_body, response_headers, response_body) -> table, string. The headers are as in the compatible form. The
// script can change ":status" of the response.
func CompileCustomizer(name, source string) (*Script, error) {
	return compileFor(name, source, func(_ *Script, globals *lua.LTable) error {
		if _, ok := globals.RawGetString(customizeResponse).(*lua.LFunction); !ok {
			return fmt.Errorf("the script does not define %s", customizeResponse)
		}
		return nil
	})
}

func compileFor(name, source string, inspect func(s *Script, globals *lua.LTable) error) (*Script, error) {
	proto, err := compile(name, source)
	if err != nil {
		return nil, err
	}
	s := &Script{name: name, proto: proto, defines: map[string]bool{}}
	h, err := NewHost([]*Script{s}, Limits{})
	if err != nil {
		return nil, err
	}
	defer h.Close()
	if err := inspect(s, h.states[0].L.G.Global); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

func (s *Script) inspect(globals *lua.LTable) error {
	for _, name := range []string{makeRequest, validateResponse, onRequest, onResponse} {
		fn, ok := globals.RawGetString(name).(*lua.LFunction)
		if !ok {
			continue
		}
		s.defines[name] = true
		s.wantsBody = s.wantsBody || takesBody(name, fn)
	}
	switch {
	case len(s.defines) == 0:
		return fmt.Errorf("the script defines none of %s, %s, %s and %s", makeRequest, validateResponse, onRequest,
			onResponse)
	case s.defines[makeRequest] && s.defines[onRequest]:
		return fmt.Errorf("the script defines both %s and %s: define only one function for requests", makeRequest, onRequest)
	case s.defines[validateResponse] && s.defines[onResponse]:
		return fmt.Errorf("the script defines both %s and %s: define only one function for responses", validateResponse,
			onResponse)
	}
	if s.defines[onRequest] || s.defines[onResponse] {
		s.wantsBody = s.wantsBody || mentions(s.proto, "body")
	}
	return nil
}

// takesBody reports whether a function takes the payload: the second parameter of the compatible functions.
func takesBody(name string, fn *lua.LFunction) bool {
	if name != makeRequest && name != validateResponse {
		return false
	}
	return fn.IsG || fn.Proto.NumParameters > 1 || fn.Proto.IsVarArg != 0
}

// mentions reports whether a function, or one inside it, has a string as a constant.
func mentions(p *lua.FunctionProto, s string) bool {
	return slices.Contains(p.Constants, lua.LValue(lua.LString(s))) ||
		slices.ContainsFunc(p.FunctionPrototypes, func(f *lua.FunctionProto) bool { return mentions(f, s) })
}

// ChangesRequests reports whether the script changes requests.
func (s *Script) ChangesRequests() bool { return s.defines[makeRequest] || s.defines[onRequest] }

// Validates reports whether the script judges responses.
func (s *Script) Validates() bool { return s.defines[validateResponse] || s.defines[onResponse] }

// WantsBody reports whether the script can read bodies of responses: a compatible function takes the payload, or a
// script of the native form contains the word "body". Other scripts can get responses without their bodies.
func (s *Script) WantsBody() bool { return s.wantsBody }

func compile(name, source string) (proto *lua.FunctionProto, err error) {
	if len(source) > maxSource {
		return nil, fmt.Errorf("%s: the source has %d bytes, more than %d", name, len(source), maxSource)
	}
	defer func() {
		// The parser and the compiler panic on some inputs.
		if r := recover(); r != nil {
			proto, err = nil, fmt.Errorf("%s: the script cannot be compiled: %v", name, r)
		}
	}()
	chunk, err := parse.Parse(strings.NewReader(source), name)
	if err != nil {
		return nil, syntaxError(name, source, err)
	}
	if chunk, err = guard(chunk); err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	proto, err = lua.Compile(chunk, name)
	if bad := (*lua.CompileError)(nil); errors.As(err, &bad) {
		return nil, fmt.Errorf("%s:%d: %s", name, bad.Line, bad.Message)
	}
	return proto, err
}

func syntaxError(name, source string, err error) error {
	var bad *parse.Error
	if !errors.As(err, &bad) {
		return fmt.Errorf("%s: %w", name, err)
	}
	if bad.Pos.Line == parse.EOF {
		return fmt.Errorf("%s:%d: %s at the end", name, 1+strings.Count(source, "\n"), bad.Message)
	}
	return fmt.Errorf("%s:%d: %s near %q", name, bad.Pos.Line, bad.Message, shorten(bad.Token))
}
