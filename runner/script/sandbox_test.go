package script

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// TestEscapes: each script ends in an error, in time and memory, and the Host works on, also for the script itself.
func TestEscapes(t *testing.T) {
	for _, tc := range []struct {
		name, body, want string
		limit            bool // the error is a limit's
	}{
		{name: "endless loop", body: `while true do end`, want: "0.lua:1: the script's limit of 3000000 instructions", limit: true},
		{name: "goto", body: `::a:: goto a`, want: "instructions", limit: true},
		{name: "pcall around the budget", body: `while true do pcall(function() while true do end end) end`, want: "instructions", limit: true},
		{name: "pcall within pcall", body: `local function f() pcall(f) while true do pcall(f) end end f()`, want: "instructions", limit: true},
		{name: "xpcall around the budget", body: `while true do xpcall(function() while true do end end, function() while true do end end) end`, want: "instructions", limit: true},
		{name: "metamethods around the budget", body: `local t = setmetatable({}, {__index = function(t, k) while true do end end})
			while true do pcall(function() return t.x end) end`, want: "instructions", limit: true},
		{name: "sort around the budget", body: `while true do pcall(table.sort, {3, 2, 1}, function(a, b) while true do end end) end`, want: "instructions", limit: true},
		{name: "gsub around the budget", body: `while true do pcall(string.gsub, "abc", ".", function() while true do end end) end`, want: "instructions", limit: true},
		{name: "tostring around the budget", body: `local t = setmetatable({}, {__tostring = function() while true do end end})
			while true do pcall(tostring, t) end`, want: "instructions", limit: true},
		{name: "recursion", body: `local function f() return 1 + f() end f()`, want: "stack overflow"},
		{name: "tail recursion", body: `local function f() return f() end f()`, want: "instructions", limit: true},
		{name: "recursion through metamethods", body: `local t t = setmetatable({}, {__index = function(_, k) return t[k] end}) return t.x`, want: "stack overflow"},
		{name: "recursion through pcall", body: `local function f() local ok, e = pcall(f) if not ok then error(e, 0) end end f()`, want: "stack overflow"},
		{name: "recursion through sort", body: `local function f() table.sort({2, 1}, f) end f()`, want: "stack overflow"},
		{name: "recursion through gsub", body: `local function f() return (("x"):gsub("x", f)) end f()`, want: "stack overflow"},
		{name: "recursion through tostring", body: `local t t = setmetatable({}, {__tostring = function() return tostring(t) end}) tostring(t)`, want: "stack overflow"},
		{name: "recursion through concat", body: `local t t = setmetatable({}, {__concat = function() return t .. t end}) return t .. t`, want: "stack overflow"},
		{name: "index loop", body: `local a, b = {}, {} setmetatable(a, {__index = b}) setmetatable(b, {__index = a}) return a.x`, want: "too many recursions"},
		{name: "newindex loop", body: `local a, b = {}, {} setmetatable(a, {__newindex = b}) setmetatable(b, {__newindex = a}) a.x = 1`, want: "too many recursions"},
		{name: "unpack", body: `return unpack({}, 1, 1e9)`, want: "too many results"},
		{name: "unpack again and again", body: `local t = {} for i = 1, 7000 do t[i] = i end
			local function f(...) return select("#", ...) + f(unpack(t)) end return f()`, want: "overflow"},
		{name: "variable arguments", body: `local function f(...) return 1 + f(1, 2, 3, ...) end f()`, want: "overflow"},
		{name: "variable arguments of tail calls", body: `local function f(...) return f(1, ...) end f()`, want: "limit", limit: true},

		{name: "rep", body: `return ("x"):rep(1e9)`, want: "longer than the 1048576 allowed"},
		{name: "rep of much", body: `return ("x"):rep(2^53)`, want: "longer than the 1048576 allowed"},
		{name: "rep of rep", body: `return (("x"):rep(1e6)):rep(1e6)`, want: "longer than"},
		{name: "rep without end", body: `local t = {} while true do t[#t + 1] = ("x"):rep(1e6) end`, want: "bytes of memory", limit: true},
		{name: "doubling", body: `local s = "x" while true do s = s .. s end`, want: "longer than"},
		{name: "doubling with locals", body: `local s = ("x"):rep(1e6) return s .. s .. s .. s .. s .. s`, want: "longer than"},
		{name: "doubling by __concat", body: `local t = setmetatable({}, {__concat = function(a, b) return ("x"):rep(1e6) end}) return ("y"):rep(1e5) .. t .. t .. 1, ("y"):rep(1e5) .. (1 .. t)`, want: "longer than"},
		{name: "many strings", body: `local t = {} for i = 1, 1e9 do t[i] = ("x"):rep(1000) .. i end`, want: "bytes of memory", limit: true},
		{name: "many strings caught", body: `local t = {} while true do pcall(function() while true do t[#t + 1] = ("x"):rep(1e5) .. #t end end) end`, want: "bytes of memory", limit: true},
		{name: "many tables", body: `local t = {} for i = 1, 1e9 do t = {t, a = 1} end`, want: "bytes of memory", limit: true},
		{name: "many closures", body: `local f = function() end for i = 1, 1e9 do local g = f f = function() return g end end`, want: "bytes of memory", limit: true},
		{name: "many iterators", body: `local t = {} for i = 1, 1e9 do t[i] = string.gmatch(("x"):rep(1e5), "x") end`, want: "bytes of memory", limit: true},
		{name: "many keys", body: `local t = {} for i = 1, 1e9 do t["k" .. i] = true end`, want: "bytes of memory", limit: true},
		{name: "many removed keys", body: `local t = {} for i = 1, 1e9 do local k = "key" .. i t[k] = true t[k] = nil end`, want: "bytes of memory", limit: true},
		{name: "long removed keys", body: `local t = {} for i = 1, 1e9 do local k = ("x"):rep(1e5) .. i t[k] = true t[k] = nil end`, want: "bytes of memory", limit: true},
		{name: "many globals", body: `for i = 1, 1e9 do _G["k" .. i] = ("x"):rep(1000) .. i end`, want: "bytes of memory", limit: true},
		{name: "many arguments", body: `local s = {} for i = 1, 30 do s[i] = ("x"):rep(1e6) .. i end return #s`, want: "bytes of memory", limit: true},
		{name: "held by arguments", body: `local function f(n, ...) return f(n + 1, ("x"):rep(1e6 - 100) .. n, ...) end f(0)`, want: "bytes of memory", limit: true},
		{name: "held by the stack", body: `local function f(n) local s = ("x"):rep(1e6 - 100) .. n return f(n + 1) .. s end f(0)`, want: "bytes of memory", limit: true},
		{name: "far index", body: `local all = {} for i = 1, 1e6 do all[i] = {} all[i][1e6] = 1 end`, want: "bytes of memory", limit: true},
		{name: "far index by several", body: `local all = {} for i = 1, 1e6 do local t = {} t[1e6], t[2] = 1, 2 all[i] = t end`, want: "bytes of memory", limit: true},
		{name: "far index in a constructor", body: `local all, far = {}, 1e6 for i = 1, 1e6 do all[i] = {[far] = 1} end`, want: "bytes of memory", limit: true},
		{name: "far index written out", body: `local all = {} for i = 1, 1e6 do all[i] = {[1000000] = 1} end`, want: "bytes of memory", limit: true},
		{name: "far index by rawset", body: `local all = {} for i = 1, 1e6 do all[i] = rawset({}, 1e6, 1) end`, want: "bytes of memory", limit: true},
		{name: "far index by insert", body: `local all = {} for i = 1, 1e6 do all[i] = {} table.insert(all[i], 1e6, 1) end`, want: "bytes of memory", limit: true},

		{name: "gsub", body: `return (("x"):rep(1e6)):gsub("x", ("y"):rep(1e6))`, want: "longer than"},
		{name: "gsub by captures", body: `return (("x"):rep(1e6)):gsub("^(.*)$", ("%1"):rep(1000))`, want: "longer than"},
		{name: "gsub by table", body: `return (("x"):rep(1e6)):gsub("x", {x = ("y"):rep(1e6)})`, want: "longer than"},
		{name: "gsub by function", body: `return (("x"):rep(1e6)):gsub("x", function() return ("y"):rep(1e6) end)`, want: "longer than"},
		{name: "gsub of nothing", body: `while true do (("x"):rep(1e6)):gsub("", "") end`, want: "limit", limit: true},
		{name: "concat", body: `local t = {} for i = 1, 5e3 do t[i] = ("x"):rep(1000) end return table.concat(t)`, want: "longer than"},
		{name: "concat by separator", body: `return table.concat({1, 2, 3}, ("x"):rep(1e6))`, want: "longer than"},
		{name: "concat of nothing", body: `return table.concat({}, "", 1, 1e15)`, want: "invalid value (a nil)"},
		{name: "format", body: `local s = ("x"):rep(1e6) return ("%s%s%s"):format(s, s, s)`, want: "longer than"},
		{name: "format's width", body: `return ("%999999999d"):format(1)`, want: "invalid format"},
		{name: "format's precision", body: `return ("%.999999999f"):format(1)`, want: "invalid format"},
		{name: "long date", body: `return os.date(("%c"):rep(1e4))`, want: "the format is too long"},
		{name: "char", body: `return string.char(256)`, want: "invalid value"},
		{name: "byte", body: `return (("x"):rep(1e6)):byte(1, -1)`, want: "string slice too long"},
		{name: "backtracking", body: `return (("a"):rep(40)):find(("a?"):rep(40) .. ("a"):rep(40) .. "b")`, want: "limit", limit: true},
		{name: "backtracking caught", body: `while true do pcall(string.find, ("a"):rep(1e4), ".-.-.-.-.-b") end`, want: "limit", limit: true},
		{name: "deep pattern", body: `return (("a"):rep(1e5)):find(("(a"):rep(1e5))`, want: "0.lua:1: "},
		{name: "long pattern", body: `return (("a"):rep(1e5)):find(("a?"):rep(1e5))`, want: "pattern too complex"},
		{name: "balance", body: `while true do (("("):rep(1e6)):find("%b()") end`, want: "limit", limit: true},
		{name: "search", body: `local s = ("x"):rep(1e6) while true do s:find("y", 1, true) end`, want: "limit", limit: true},
		{name: "compare", body: `local a, b = ("x"):rep(1e6) .. "a", ("x"):rep(1e6) .. "b" local n = 0 while true do if a < b or a == b then n = n + 1 end end`, want: "limit", limit: true},
		{name: "length of holes", body: `local t = {} for i = 1, 3e5 do t[i] = 1 end for i = 1, 3e5 do t[i] = nil end while true do local n = #t end`, want: "limit", limit: true},
		{name: "next of holes", body: `local t = {} for i = 1, 3e5 do t[i] = 1 end for i = 1, 3e5 do t[i] = nil end while true do next(t) end`, want: "limit", limit: true},
		{name: "next of removed keys", body: `local t = {} for i = 1, 3e4 do t["k" .. i] = 1 end for i = 1, 3e4 do t["k" .. i] = nil end while true do next(t) end`, want: "limit", limit: true},
		{name: "insert in front", body: `local t = {} for i = 1, 3e5 do t[i] = 1 end while true do table.insert(t, 1, 1) end`, want: "limit", limit: true},
		{name: "lower", body: `local s = ("x"):rep(1e6) while true do s:lower() end`, want: "limit", limit: true},
		{name: "sort", body: `local t = {} for i = 1, 3e5 do t[i] = -i end while true do table.sort(t) end`, want: "limit", limit: true},
		{name: "tonumber", body: `local s = ("1"):rep(1e6) while true do tonumber(s) end`, want: "limit", limit: true},
		{name: "arithmetic on text", body: `local s = (" "):rep(1e6) .. "1" local n = 0 while true do n = n + s end`, want: "limit", limit: true},

		{name: "json bomb", body: `local v, e = json.decode(("["):rep(1e6)) error(e)`, want: "nested more than 128 deep"},
		{name: "json of objects", body: `local v, e = json.decode(('{"a":'):rep(1e5)) error(e)`, want: "nested more than 128 deep"},
		{name: "json of much", body: `local t = {} while true do t[#t + 1] = json.decode("[" .. ("[],"):rep(1e5) .. "1]") end`, want: "bytes of memory", limit: true},
		{name: "json cycle", body: `local t = {} t.t = t return json.encode(t)`, want: "json: nested more than 128 deep"},
		{name: "json of the same again", body: `local t = {1} for i = 1, 100 do t = {t, t} end return json.encode(t)`, want: "0.lua:1: "},
		{name: "json of a long text", body: `local s = ("x"):rep(1e6) return json.encode({s, s, s})`, want: "longer than"},
		{name: "json of a function", body: `return json.encode({print})`, want: "cannot encode a function"},

		{name: "io", body: `return io.open("/etc/passwd")`, want: "attempt to index"},
		{name: "os.execute", body: `os.execute("true")`, want: "0.lua:1: "},
		{name: "os.exit", body: `os.exit(1)`, want: "0.lua:1: "},
		{name: "os.getenv", body: `os.getenv("HOME")`, want: "0.lua:1: "},
		{name: "dofile", body: `dofile("/etc/passwd")`, want: "0.lua:1: "},
		{name: "loadfile", body: `loadfile("/etc/passwd")`, want: "0.lua:1: "},
		{name: "loadstring", body: `loadstring("return 1")`, want: "0.lua:1: "},
		{name: "load", body: `load(function() end)`, want: "0.lua:1: "},
		{name: "require", body: `require("os")`, want: `module "os" not found; available: json and rapidjson`},
		{name: "package", body: `return package.loaded`, want: "attempt to index"},
		{name: "module", body: `module("x")`, want: "0.lua:1: "},
		{name: "debug", body: `return debug.getinfo(1)`, want: "attempt to index"},
		{name: "coroutine", body: `coroutine.create(print)`, want: "attempt to index"},
		{name: "channel", body: `return channel.make()`, want: "attempt to index"},
		{name: "string.dump", body: `string.dump(print)`, want: "0.lua:1: "},
		{name: "getfenv", body: `getfenv(0).x = 1`, want: "0.lua:1: "},
		{name: "setfenv", body: `setfenv(1, {})`, want: "0.lua:1: "},
		{name: "newproxy", body: `newproxy(true)`, want: "0.lua:1: "},
		{name: "printregs", body: `_printregs()`, want: "0.lua:1: "},
		{name: "string metatable", body: `getmetatable("").__index = function() end`, want: "0.lua:1: "},
		{name: "string metatable set", body: `setmetatable("", {})`, want: "table expected"},
		{name: "nil metatable", body: `setmetatable(nil, {})`, want: "table expected"},
		{name: "null's metatable", body: `getmetatable(json.null).x = 1`, want: "0.lua:1: "},
		{name: "vars kept", body: `local v = vars v.x = 1`, want: "vars can be used only during a call"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			limits := Limits{Memory: 16 << 20, Instructions: 3_000_000, Time: time.Minute}
			if tc.want == "limit" { // whichever comes first
				limits.Time = 300 * time.Millisecond
			}
			if tc.want == "bytes of memory" {
				limits.Instructions = 50_000_000
			}
			h := newHost(t, limits, "local stop = true function on_request(req) if stop then stop = false "+tc.body+" end end", nativeSource)
			var before runtime.MemStats
			runtime.ReadMemStats(&before)
			started := time.Now()
			err := h.Request(0, nil, nil, get(), nil)
			took := time.Since(started)
			if err == nil || !strings.HasPrefix(err.Error(), "0.lua:") || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if errors.Is(err, ErrLimit) != tc.limit {
				t.Errorf("a limit: %v, want %v: %v", !tc.limit, tc.limit, err)
			}
			if took > 50*time.Second {
				t.Errorf("took %v", took)
			}
			var after runtime.MemStats
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 256<<20 {
				t.Errorf("the heap has grown by %d MiB", grown>>20)
			}
			t.Logf("%v, heap +%d MiB: %v", took.Round(time.Millisecond), (int64(after.HeapSys)-int64(before.HeapSys))>>20, err)
			if err := h.Request(0, nil, nil, get(), nil); err != nil {
				t.Errorf("the script does not work on: %v", err)
			}
			if ok, err := h.Response(1, nil, benchResponse(), nil); !ok || err != nil {
				t.Errorf("the other script does not work on: %v %v", ok, err)
			}
		})
	}
}

// TestApart: what one script does to what it has, others do not see, not even another Host of the same script.
func TestApart(t *testing.T) {
	const poison = `
		x = 1
		_G.assert = nil
		string.find = function() return "poisoned" end
		table.concat, math.floor, json.null, rapidjson.encode = nil, nil, nil, nil
		for k in pairs(os) do os[k] = nil end
		setmetatable(_G, {__index = function() return "poisoned" end})
		function on_request() y = 1 for k in pairs(string) do string[k] = nil end end`
	const healthy = `
		function on_response()
			assert(x == nil and y == nil and ("abc"):find("c") == 3 and table.concat({1}) == "1" and math.floor(1.5) == 1)
			assert(os.time() > 0 and json.encode(json.null) == "null" and getmetatable(_G) == nil)
		end`
	h := newHost(t, Limits{}, poison, healthy)
	for range 2 {
		if err := h.Request(0, nil, nil, get(), nil); err != nil {
			t.Fatal(err)
		}
		if ok, err := h.Response(1, nil, created(), nil); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
}

// TestMemoryOverCalls: what is kept from call to call counts too, and is free again when the script lets go.
func TestMemoryOverCalls(t *testing.T) {
	h := newHost(t, Limits{Memory: 8 << 20}, `
		local kept = {}
		function on_request(req)
			if req.path == "/drop" then kept = {} return end
			for i = 1, 100 do kept[#kept + 1] = ("x"):rep(1000) .. #kept end
		end`)
	calls, err := 0, error(nil)
	for ; err == nil && calls < 1000; calls++ {
		err = h.Request(0, nil, nil, get(), nil)
	}
	if !errors.Is(err, ErrLimit) || calls < 40 || calls > 200 {
		t.Errorf("after %d calls: %v", calls, err)
	}
	drop := get()
	drop.Path = []byte("/drop")
	if err := h.Request(0, nil, nil, drop, nil); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := h.Request(0, nil, nil, get(), nil); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGarbage: a script that keeps nothing may make as much as it likes.
func TestGarbage(t *testing.T) {
	h := newHost(t, Limits{Memory: 8 << 20, Time: time.Minute}, `
		function on_request() for i = 1, 2000 do local s = ("x"):rep(1e5) .. i local t = {s, {}} t.x = s end end`)
	if err := h.Request(0, nil, nil, get(), nil); err != nil {
		t.Fatal(err)
	}
}

// TestMeter: the meter finds what hangs at each kind of place, in memory of about the right size.
func TestMeter(t *testing.T) {
	const size = 1 << 20
	for _, tc := range []struct{ name, source string }{
		{"global", `g = ("x"):rep(2^20)`},
		{"key", `g = {[("x"):rep(2^20)] = 1}`},
		{"upvalue", `local s = ("x"):rep(2^20) function g() return s end`},
		{"deep", `g = {{{a = ("x"):rep(2^20)}}}`},
		{"once", `local s = ("x"):rep(2^20) g = {s, s, s, a = s, [s] = s}`},
		{"metatable", `g = setmetatable({}, {x = ("x"):rep(2^20)})`},
		{"iterator", `g = string.gmatch(("x"):rep(2^20), "x")`},
		{"array", `g = {} for i = 1, 2^20 / 16 do g[i] = true end`},
		{"holes", `g = {} for i = 1, 2^20 / 16 do g[i] = true end for i = 1, 2^20 / 16 do g[i] = nil end`},
		{"removed key", `g = {} local k = ("x"):rep(2^20) g[k] = 1 g[k] = nil`},
		{"cycle", `g = {("x"):rep(2^20)} g.g = g`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			base := newHost(t, Limits{}, `function on_request() end`)
			h := newHost(t, Limits{}, tc.source+` function on_request() end`)
			got := h.measure(1<<40) - base.measure(1<<40)
			if got < size || got > size*3/2 {
				t.Errorf("%d bytes, want about %d", got, size)
			}
		})
	}
}

// TestLibraries: scripts have these names and no others; a new version of the interpreter adds none unseen.
func TestLibraries(t *testing.T) {
	h := newHost(t, Limits{}, `
		function on_response()
			local names = {}
			for k, v in pairs(_G) do
				names[#names + 1] = k
				if type(v) == "table" and k ~= "_G" and k ~= "rapidjson" then
					for n in pairs(v) do names[#names + 1] = k .. "." .. n end
				end
			end
			table.sort(names)
			return nil, table.concat(names, " ")
		end`)
	if _, err := h.Response(0, nil, created(), nil); err != nil {
		t.Fatal(err)
	}
	const want = "_G _VERSION assert collectgarbage error getmetatable ipairs json json.array json.decode json.encode json.null json.object " +
		"math math.abs math.acos math.asin math.atan math.atan2 math.ceil math.cos math.cosh math.deg math.exp math.floor math.fmod " +
		"math.frexp math.huge math.ldexp math.log math.log10 math.max math.min math.mod math.modf math.pi math.pow math.rad math.random " +
		"math.randomseed math.sin math.sinh math.sqrt math.tan math.tanh next on_response os os.clock os.date os.time pairs pcall print " +
		"rapidjson rawequal rawget rawset require select setmetatable string string.byte string.char string.find string.format " +
		"string.gmatch string.gsub string.len string.lower string.match string.rep string.reverse string.sub string.upper table " +
		"table.concat table.getn table.insert table.maxn table.remove table.sort tonumber tostring type unpack vars xpcall"
	if got := h.Reason(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestPanic(t *testing.T) {
	h := newHost(t, Limits{}, `function on_request() broken() end`)
	h.states[0].L.G.Global.RawSetString("broken", h.states[0].L.NewFunction(func(*lua.LState) int { panic("broken") }))
	for range 2 {
		if err := h.Request(0, nil, nil, get(), nil); err == nil || !strings.Contains(err.Error(), "0.lua: broken") {
			t.Errorf("got %v", err)
		}
	}
}

// TestMemoryOfTopLevel: the limit holds while a script is loaded, when it is not yet part of a Host.
func TestMemoryOfTopLevel(t *testing.T) {
	const source = `local t = {} for i = 1, 1000 do t[i] = ("x"):rep(4000) .. i end function on_request() return #t end`
	sc, err := Compile("big.lua", source)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewHost([]*Script{sc}, Limits{Memory: 2 << 20}); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "memory") {
		t.Errorf("one script: %v", err)
	}
	if _, err := NewHost([]*Script{sc, sc, sc}, Limits{Memory: 8 << 20}); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "memory") {
		t.Errorf("all scripts together: %v", err)
	}
}
