package script

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestCompile(t *testing.T) {
	for _, tc := range []struct {
		name, source             string
		changes, validates, body bool
	}{
		{name: "compatible", source: compatSource, changes: true, validates: true, body: true},
		{name: "native", source: nativeSource, changes: true, validates: true, body: true},
		{name: "compatible without the body", source: `function validate_response(h) return true end`, validates: true},
		{name: "variable arguments", source: `function validate_response(...) return true end`, validates: true, body: true},
		{name: "native without the body", source: `function on_response(res) return res.status == 200 end`, validates: true},
		{name: "native, the body deep inside", source: `function on_response(res) return (function() return res.body end)() end`, validates: true, body: true},
		{name: "made at the top level", source: `_G["on_" .. "request"] = function() end`, changes: true},
		{name: "one form for each direction", source: `function make_request(a) end function on_response() end`, changes: true, validates: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := Compile("x.lua", tc.source)
			if err != nil {
				t.Fatal(err)
			}
			if s.ChangesRequests() != tc.changes || s.Validates() != tc.validates || s.WantsBody() != tc.body {
				t.Errorf("changes %v, validates %v, wants the body %v", s.ChangesRequests(), s.Validates(), s.WantsBody())
			}
		})
	}
}

func TestCompileErrors(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(200 << 20))
	for _, tc := range []struct{ name, source, want string }{
		{"nothing", ``, "t[2].lua: the script defines none of make_request"},
		{"not a function", `make_request = 1`, "defines none"},
		{"both ways to make", `function make_request() end function on_request() end`, "both make_request and on_request"},
		{"both ways to judge", `function validate_response() end function on_response() end`, "both validate_response and on_response"},
		{"syntax", "\n\nlocal = 1", "t[2].lua:3: "},
		{"at the end", "\nfunction f(", "t[2].lua:2: "},
		{"string", "\nx = 'abc", "t[2].lua:2: "},
		{"goto", "goto nowhere", "for <goto> at line 1"},
		{"break", "\nbreak", "t[2].lua:"},
		{"runtime", "\nlocal x = nil + 1", "t[2].lua:2: cannot perform add"},
		{"endless", "while true do end", "t[2].lua:1: the script's limit of "},
		{"much memory", `t = {} for i = 1, 1e9 do t[i] = ("x"):rep(1000) .. i end`, "t[2].lua:1: the script's limit of "},
		{"long error", `error(("x"):rep(1e6))`, "xxx..."},
		{"call at the top level", "local x = vars.name", "t[2].lua:1: vars can be used only during a call"},
		{"too long", strings.Repeat(" ", maxSource+1), "more than 262144"},
		{"deep parentheses", "x = " + strings.Repeat("-", 0) + strings.Repeat("{", 100000) + strings.Repeat("}", 100000), "nested too deeply"},
		{"deep operators", "x = 1" + strings.Repeat("+1", 100000), "nested too deeply"},
		{"deep functions", strings.Repeat("f(function() ", 8000) + strings.Repeat("end) ", 8000), "nested too deeply"},
		{"deep elseif", "if x then " + strings.Repeat("elseif x then ", 15000) + "end", "nested too deeply"},
		{"deep calls", "x = f" + strings.Repeat("()", 100000), "nested too deeply"},
		{"many locals", "local a" + strings.Repeat(", a", 300) + " = 1", "t[2].lua:"},
		{"long concatenation", "x = ''" + strings.Repeat(" .. x", 40000), "t[2].lua:"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Compile("t[2].lua", tc.source)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if err != nil && (len(err.Error()) > 1100 || strings.Contains(err.Error(), "\n")) {
				t.Errorf("unreadable: %q", err)
			}
		})
	}
}

// TestGuard: what guard.go rewrites means the same as before.
func TestGuard(t *testing.T) {
	for _, tc := range []struct{ name, source string }{
		{"concat", `assert("a" .. 1 .. "b" .. 1.5 .. "c" == "a1b1.5c")`},
		{"concat is right associative", `
			local log = ""
			local mt = {__concat = function(a, b) log = log .. (type(a) == "table" and a.n or a) .. ","
				return (type(a) == "table" and a.n or a) .. (type(b) == "table" and b.n or b) end}
			local t = setmetatable({n = "T"}, mt)
			assert("a" .. t .. "b" == "aTb" and log == "T,", log)
			assert(t .. "b" .. "c" == "Tbc")
			assert("b" .. "c" .. t == "bcT")`},
		{"concat error", `local ok, err = pcall(function() return "a" .. {} end)
			assert(not ok and err == "x.lua:1: attempt to concatenate a table value", err)`},
		{"concat takes one value", `local function f() return "a", "b" end assert("x" .. f() == "xa") assert(select("#", "x" .. f()) == 1)`},
		{"concat of variable arguments", `local function f(...) return "x" .. ... end assert(f("a", "b") == "xa")`},
		{"set", `local t, k = {}, "key" t[k] = 1 t[1] = 2 t[k .. 2] = 3 assert(t.key == 1 and t[1] == 2 and t.key2 == 3)`},
		{"set takes one value", `local function f() return 1, 2 end local t, i = {}, 1 t[i] = f() assert(t[1] == 1 and t[2] == nil)`},
		{"set of nothing", `local function f() end local t, i = {1}, 1 t[i] = f() assert(t[1] == nil)`},
		{"set with __newindex", `local got local t = setmetatable({}, {__newindex = function(t, k, v) got = k + v end})
			local i = 5 t[i] = 2 assert(got == 7)`},
		{"swap", `local t, i, j = {1, 2}, 1, 2 t[i], t[j] = t[j], t[i] assert(t[1] == 2 and t[2] == 1)`},
		{"evaluate, then assign", `local t, i = {}, 1 i, t[i] = i + 1, 20 assert(i == 2 and t[1] == 20 and t[2] == nil)`},
		{"more targets than values", `local t, i, a, b = {}, 1 t[i], a, b = 1, 2 assert(t[1] == 1 and a == 2 and b == nil)`},
		{"more values than targets", `local t, i = {}, 1 local n = 0 local function f() n = n + 1 return n end
			t[i] = f(), f() assert(t[1] == 1 and n == 2)`},
		{"several results", `local function f() return 1, 2 end local t, i = {}, 1 t[i], t[i + 1] = f() assert(t[1] == 1 and t[2] == 2)`},
		{"fields mixed in", `local t, k = {}, "k" t.a, t[k], b = 1, 2, 3 assert(t.a == 1 and t.k == 2 and b == 3)`},
		{"nested", `local t, i = {{}}, 1 t[i][i] = "x" .. (function() local u = {} u[i] = "y" return u[i] end)() assert(t[1][1] == "xy")`},
		{"constructor", `local i = 3 local t = {[i] = 1, [i + 200] = 2, ["a" .. i] = 3, 7} assert(t[3] == 1 and t[203] == 2 and t.a3 == 3 and t[1] == 7)`},
		{"nil as key", `local ok, err = pcall(function() local t, k = {} t[k] = 1 end) assert(not ok and err:find("nil"), err)`},
		{"in loops and conditions", `local s, t = "", {}
			for i = 1, 3 do t[i] = i if i == 2 then s = s .. "two" elseif i == 3 then s = s .. "three" else s = s .. "one" end end
			for k, v in pairs(t) do s = s .. k .. v end
			local n = 0 repeat n = n + 1 s = s .. n until s .. n == s .. 2
			while #s < 25 do s = s .. "." end
			assert(s == "onetwothree11223312......", s)`},
		{"goto", `local s, i = "", 1 ::again:: s = s .. i i = i + 1 if i < 4 then goto again end assert(s == "123")`},
		{"lists of results", `local function f(...) local t, u, v = {...}, {1, ...}, {(...)} return #t + #u + #v end assert(f(1, 2, 3) == 8 and f() == 1)
			local function g() return 1, nil, 3 end assert(#{g()} == 3 and #{g(), 5} == 2 and #{(g())} == 1 and #{x = 1, g()} == 3 and #{g(), x = 1} == 1)`},
		{"tail calls", `local function f(n, ...) if n == 0 then return ... end return f(n - 1, n, ...) end
			assert(select("#", f(5)) == 5 and f(5) == 1) local function g(n) if n > 0 then return g(n - 1) end return (f(1, 2)) end assert(g(1000) == 1)
			local function h() return assert(g(1)) end assert(h() == 1)`},
		{"methods", `local o = {s = "a"} function o:add(x) self.s = self.s .. x return self end assert(o:add("b"):add("c").s == "abc")`},
		{"far index", `local t = {} for i = 1, 300 do t[i] = i end t[5000] = 1 assert(#t == 5000 or #t == 300) assert(t[5000] == 1)`},
		{"very far index", `local t, i = {}, 2^30 t[i] = "x" t[-i] = "y" t[0.5] = "z" assert(t[2^30] == "x" and t[-i] == "y" and t[0.5] == "z")`},
		{"guard's names cannot be written", `assert(_G["(concat)"] == nil and _G["(set)"] == nil)`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := Compile("x.lua", tc.source+"\nfunction on_request() end"); err != nil {
				t.Error(err)
			}
		})
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{compatSource, nativeSource, "x = {", "t[i], a = 1 .. 2, f() ..", "goto a", "a.b:c 'x' [[", "--[==["} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		proto, err := compile("x.lua", source)
		if (proto == nil) != (err != nil) {
			t.Errorf("compiled %v, error %v", proto != nil, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "x.lua:") {
			t.Errorf("the error does not begin with the name: %v", err)
		}
	})
}
