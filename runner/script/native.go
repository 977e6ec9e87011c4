package script

import (
	"fmt"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// native has what calls of the native form use. The proxies are made once.
type native struct {
	req, prev, res proxy
	// work is the request while a script changes it.
	work         Message
	nextFunction *lua.LFunction
	header       *lua.LFunction
	setHeader    *lua.LFunction
	addHeader    *lua.LFunction
	removeHeader *lua.LFunction
	variables    *lua.LUserData
}

// proxy stands for a message in a script.
type proxy struct {
	what string
	ud   *lua.LUserData
	// m is nil outside of a call. made is nil if the script cannot change the message.
	m    *Message
	made *made
	// own is true if the fields are a copy in made.
	own                             bool
	method, scheme, authority, path boxed
	body                            boxed
	headers                         []boxed
}

// openProxies makes the objects through which Lua code uses messages and variables.
func (s *state) openProxies() {
	n, L := &s.native, s.L
	s.compat.meta = s.headersMeta()
	n.nextFunction = L.NewFunction(s.next)
	n.header, n.setHeader = L.NewFunction(s.getHeader), L.NewFunction(s.setHeader)
	n.addHeader, n.removeHeader = L.NewFunction(s.addHeader), L.NewFunction(s.removeHeader)
	for p, what := range map[*proxy]string{&n.req: "req", &n.prev: "prev", &n.res: "res"} {
		p.what = what
		p.ud = s.userData(p, what, s.readProxy, s.writeProxy)
	}
	n.variables = s.userData(nil, "vars", s.readVariable, s.writeVariable)
	L.G.Global.RawSetString("vars", n.variables)
}

func (s *state) userData(value any, what string, read, write lua.LGFunction) *lua.LUserData {
	ud := s.L.NewUserData()
	ud.Value = value
	meta := s.define(s.L.NewTable(), map[string]lua.LGFunction{"__index": read, "__newindex": write})
	meta.RawSetString("__metatable", lua.LString(what))
	ud.Metatable = meta
	return ud
}

// close ends a call. After it, scripts cannot reach its messages and variables.
func (s *state) close() {
	s.values = nil
	s.compat.request.table, s.compat.response.table = nil, nil
	for _, p := range []*proxy{&s.native.req, &s.native.prev, &s.native.res} {
		p.m, p.made = nil, nil
	}
}

func (p *proxy) open(m *Message, w *made) {
	p.m, p.made, p.own = m, w, false
}

// self returns the proxy that is the first argument. It raises an error outside of a call.
func self(L *lua.LState) *proxy {
	ud, _ := L.Get(1).(*lua.LUserData)
	var p *proxy
	if ud != nil {
		p, _ = ud.Value.(*proxy)
	}
	switch {
	case p == nil: // RaiseError does not return
		L.RaiseError("want a request or response as the first argument: write req:header(name), with a colon")
	case p.m == nil:
		L.RaiseError("%s was used after its call: copy the values that you need later", p.what)
	}
	return p
}

func (p *proxy) isResponse() bool { return p.what != "req" }

func (s *state) readProxy(L *lua.LState) int {
	p := self(L)
	key, _ := L.Get(2).(lua.LString)
	L.Push(s.member(p, string(key)))
	return 1
}

func (s *state) member(p *proxy, key string) lua.LValue {
	switch key {
	case "body":
		return p.body.of(p.m.Body)
	case "header":
		return s.native.header
	}
	if p.isResponse() {
		if key == "status" {
			return integer(p.m.Status)
		}
		return lua.LNil
	}
	switch key {
	case "method":
		return p.method.of(p.m.Method)
	case "scheme":
		return p.scheme.of(p.m.Scheme)
	case "authority":
		return p.authority.of(p.m.Authority)
	case "path":
		return p.path.of(p.m.Path)
	case "set_header":
		return s.native.setHeader
	case "add_header":
		return s.native.addHeader
	case "remove_header":
		return s.native.removeHeader
	}
	return lua.LNil
}

// writable is self for a message that the script can change.
func writable(L *lua.LState) *proxy {
	p := self(L)
	if p.made == nil {
		L.RaiseError("%s is read-only here", p.what)
	}
	return p
}

func (s *state) writeProxy(L *lua.LState) int {
	p := writable(L)
	key, _ := L.Get(2).(lua.LString)
	value, ok := text(L.Get(3))
	if !ok {
		L.RaiseError("req.%s is a string or a number, not a %s", string(key), L.Get(3).Type())
	}
	if key == "body" {
		raise(L, checkBody(s, len(value)))
		p.m.Body = s.hold(L, p, value)
		return 0
	}
	part := pseudoOf(p.m, string(key))
	if part != nil {
		raise(L, checkPseudo(string(key), value))
		s.checkSize(L, p, len(value))
		*part = s.hold(L, p, value)
		return 0
	}
	L.RaiseError("req.%s cannot be set; allowed: method, scheme, authority, path and body", shorten(string(key)))
	return 0
}

func raise(L *lua.LState, err error) {
	if err != nil {
		L.RaiseError("%s", err.Error())
	}
}

// hold copies what a script sets. Replaced texts count until the call ends.
func (s *state) hold(L *lua.LState, p *proxy, text string) []byte {
	const changes = 4 // of the whole message
	l := &s.budget.limits
	if len(p.made.bytes)+len(text) > changes*(l.Body+l.Fields) {
		raise(L, fmt.Errorf("%w: %s is changed too often", ErrLimit, p.what))
	}
	s.budget.charge(L, len(text))
	return p.made.add(text)
}

// checkSize raises an error if the header fields and n more bytes exceed Limits.Fields.
func (s *state) checkSize(L *lua.LState, p *proxy, n int) {
	t := taker{most: s.budget.limits.Fields}
	for _, name := range pseudoNames {
		t.grow(len(name) + len(*pseudoOf(p.m, name[1:])))
	}
	for _, f := range p.m.Fields {
		t.grow(len(f.Name) + len(f.Value))
	}
	t.grow(n)
	raise(L, t.err)
}

// getHeader is p:header(name).
func (s *state) getHeader(L *lua.LState) int {
	p := self(L)
	name := strings.ToLower(arg(L, 2))
	at, more := -1, false
	for i, f := range p.m.Fields {
		if string(f.Name) != name {
			continue
		}
		if more = at >= 0; more {
			break
		}
		at = i
	}
	switch {
	case at < 0:
		L.Push(lua.LNil)
	case more:
		L.Push(lua.LString(joined(p.m.Fields, name)))
	default:
		for len(p.headers) <= at {
			p.headers = append(p.headers, boxed{})
		}
		L.Push(p.headers[at].of(p.m.Fields[at].Value))
	}
	return 1
}

func joined(fields []Field, name string) string {
	var out []byte
	for _, f := range fields {
		if string(f.Name) != name {
			continue
		}
		if len(out) > 0 {
			out = append(out, "; "...)
		}
		out = append(out, f.Value...)
	}
	return string(out)
}

// field returns the name and value that are the arguments.
func field(L *lua.LState) (name, value string) {
	name, value = strings.ToLower(arg(L, 2)), arg(L, 3)
	raise(L, checkName(name))
	raise(L, checkValue(name, value))
	if name == contentLength {
		L.RaiseError("content-length cannot be set: it is computed from the body")
	}
	return name, value
}

// fields returns a copy of the fields, which can be changed.
func (p *proxy) fields() []Field {
	if !p.own {
		p.made.fields = append(p.made.fields[:0], p.m.Fields...)
		p.own = true
	}
	return p.made.fields
}

func (p *proxy) setFields(f []Field) { p.made.fields, p.m.Fields = f, f }

func (s *state) setHeader(L *lua.LState) int {
	p := writable(L)
	name, value := field(L)
	s.checkSize(L, p, len(name)+len(value))
	fields := p.fields()
	is := func(f Field) bool { return string(f.Name) == name }
	if i := slices.IndexFunc(fields, is); i >= 0 {
		fields[i].Value = s.hold(L, p, value)
		fields = append(fields[:i+1], slices.DeleteFunc(fields[i+1:], is)...)
	} else {
		fields = append(fields, Field{Name: s.hold(L, p, name), Value: s.hold(L, p, value)})
	}
	p.setFields(fields)
	return 0
}

func (s *state) addHeader(L *lua.LState) int {
	p := writable(L)
	name, value := field(L)
	s.checkSize(L, p, len(name)+len(value))
	p.setFields(append(p.fields(), Field{Name: s.hold(L, p, name), Value: s.hold(L, p, value)}))
	return 0
}

func (s *state) removeHeader(L *lua.LState) int {
	p := writable(L)
	name := strings.ToLower(arg(L, 2))
	p.setFields(slices.DeleteFunc(p.fields(), func(f Field) bool { return string(f.Name) == name }))
	return 0
}

// variable returns the name in vars.name. It raises an error outside of a call.
func (s *state) variable(L *lua.LState) string {
	if s.values == nil {
		L.RaiseError("vars can be used only during a call")
	}
	name, ok := L.Get(2).(lua.LString)
	if !ok {
		L.RaiseError("the name of a variable is a string, not a %s", L.Get(2).Type())
	}
	return string(name)
}

func (s *state) readVariable(L *lua.LState) int {
	name := s.variable(L)
	if v, ok := s.values.Value(name); ok {
		L.Push(lua.LString(v))
	} else {
		L.Push(lua.LNil)
	}
	return 1
}

func (s *state) writeVariable(L *lua.LState) int {
	name := s.variable(L)
	value, ok := text(L.Get(3))
	if !ok {
		L.RaiseError("vars.%s is a string or a number, not a %s", shorten(name), L.Get(3).Type())
	}
	raise(L, s.values.SetValue(name, []byte(value)))
	return 0
}

func (s *state) onRequest(m *made, prevRes, req *Message) error {
	fn, err := s.function(onRequest)
	if err != nil {
		return err
	}
	n := &s.native
	n.work = *req
	n.req.open(&n.work, m)
	prev := lua.LNil
	if prevRes != nil && prevRes.Status != 0 {
		n.prev.open(prevRes, nil)
		prev = n.prev.ud
	}
	s.L.Push(fn)
	s.L.Push(n.req.ud)
	s.L.Push(prev)
	if err := s.run(2, 1); err != nil {
		return err
	}
	v := s.L.Get(-1)
	s.L.SetTop(0)
	if v != lua.LNil {
		return s.fail(onRequest, "the result is a %s, want no result: change req instead", v.Type())
	}
	*req = n.work
	return nil
}

func (s *state) onResponse(req, res *Message) (ok bool, reason string, err error) {
	fn, err := s.function(onResponse)
	if err != nil {
		return false, "", err
	}
	n := &s.native
	n.res.open(res, nil)
	asked := lua.LNil
	if req != nil {
		n.req.open(req, nil)
		asked = n.req.ud
	}
	s.L.Push(fn)
	s.L.Push(n.res.ud)
	s.L.Push(asked)
	if err := s.run(2, 2); err != nil {
		return false, "", err
	}
	first, second := s.L.Get(-2), s.L.Get(-1)
	s.L.SetTop(0)
	return s.verdict(first, second)
}

func (s *state) verdict(first, second lua.LValue) (ok bool, reason string, err error) {
	reason, hasReason := text(second)
	if second != lua.LNil && !hasReason {
		return false, "", s.fail(onResponse, "the second result is a %s, want a string", second.Type())
	}
	switch {
	case first == lua.LTrue, first == lua.LNil && !hasReason:
		return true, "", nil
	case first == lua.LFalse, first == lua.LNil:
		return false, reason, nil
	}
	return false, "", s.fail(onResponse, "the first result is a %s, want a boolean or nothing", first.Type())
}
