package script

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// many are the names of 150 variables.
var many = func() string {
	var names []string
	for i := range 150 {
		names = append(names, fmt.Sprintf("v%d", i))
	}
	return strings.Join(names, ", ")
}()

// TestEscapes: each script ends in an error, in time and memory, and the Host works on, also for the script itself.
func TestEscapes(t *testing.T) {
	for _, tc := range []struct {
		name, body, want string
		limit            bool // the error is a limit's
	}{
		{name: "endless loop", body: `while true do end`, want: "0.lua:1: the script's limit of 1000000 instructions", limit: true},
		{name: "goto", body: `::a:: goto a`, want: "instructions", limit: true},
		{name: "pcall around the budget", body: `while true do pcall(function() while true do end end) end`, want: "instructions", limit: true},
		{name: "pcall within pcall", body: `local function f() pcall(f) while true do pcall(f) end end f()`, want: "instructions", limit: true},
		{name: "xpcall around the budget", body: `while true do xpcall(function() while true do end end, function() while true do end end) end`, want: "instructions", limit: true},
		{name: "pcall as a tail call", body: `return pcall(function() while true do end end)`, want: "instructions", limit: true},
		{name: "pcall as a tail call around memory", body: `return pcall(function() local t = {} while true do t = {t} t.a = 1 end end)`, want: "bytes of memory", limit: true},
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

		{name: "rep", body: `return ("x"):rep(1e9)`, want: "longer than the 4194304 allowed"},
		{name: "rep of much", body: `return ("x"):rep(2^53)`, want: "longer than the 4194304 allowed"},
		{name: "rep of rep", body: `return (("x"):rep(1e6)):rep(1e6)`, want: "longer than"},
		{name: "rep without end", body: `local t = {} while true do t[#t + 1] = ("x"):rep(1e6) end`, want: "bytes of memory", limit: true},
		{name: "doubling", body: `local s = "x" while true do s = s .. s end`, want: "longer than"},
		{name: "doubling with locals", body: `local s = ("x"):rep(1e6) return s .. s .. s .. s .. s .. s`, want: "longer than"},
		{name: "doubling by __concat", body: `local t = setmetatable({}, {__concat = function(a, b) return ("x"):rep(4194300) end}) return ("y"):rep(1e5) .. t .. t .. 1, ("y"):rep(1e5) .. (1 .. t)`, want: "longer than"},
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
		{name: "lists of variable arguments", body: `local t = {} local function f(...) while true do t[#t + 1] = {...} end end
			local function grow(n, ...) if n == 0 then return f(...) end return grow(n - 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...) end grow(3000)`, want: "bytes of memory", limit: true},
		{name: "lists of results", body: `local t, s = {}, {} for i = 1, 7000 do s[i] = i end while true do t[#t + 1] = {unpack(s)} end`, want: "bytes of memory", limit: true},
		{name: "captured variables", body: `local t while true do local p, ` + many + ` = t t = function() return p, ` + many + ` end end`, want: "bytes of memory", limit: true},
		{name: "far index", body: `local all = {} for i = 1, 1e6 do all[i] = {} all[i][1e6] = 1 end`, want: "bytes of memory", limit: true},
		{name: "far index by several", body: `local all = {} for i = 1, 1e6 do local t = {} t[1e6], t[2] = 1, 2 all[i] = t end`, want: "bytes of memory", limit: true},
		{name: "far index in a constructor", body: `local all, far = {}, 1e6 for i = 1, 1e6 do all[i] = {[far] = 1} end`, want: "bytes of memory", limit: true},
		{name: "far index written out", body: `local all = {} for i = 1, 1e6 do all[i] = {[1000000] = 1} end`, want: "bytes of memory", limit: true},
		{name: "far index by rawset", body: `local all = {} for i = 1, 1e6 do all[i] = rawset({}, 1e6, 1) end`, want: "bytes of memory", limit: true},
		{name: "far index by insert", body: `local all = {} for i = 1, 1e6 do all[i] = {} table.insert(all[i], 1e6, 1) end`, want: "bytes of memory", limit: true},

		{name: "error messages", body: `local t, s = {}, ("x"):rep(2e6) while true do t[#t + 1] = select(2, pcall(error, s)) end`, want: "bytes of memory", limit: true},
		{name: "error messages kept by a handler", body: `local t, s = {}, ("x"):rep(2e6)
			while true do xpcall(function() local x = nil return x[s] end, function(e) t[#t + 1] = e end) end`, want: "bytes of memory", limit: true},
		{name: "nested closures", body: `local function f(g) local s = ("x"):rep(1e5) .. 1 return function() return g, s end end local g while true do g = f(g) end`, want: "bytes of memory", limit: true},
		{name: "metatables", body: `local t while true do t = setmetatable({}, {__index = t}) end`, want: "bytes of memory", limit: true},
		{name: "doubling a table", body: `local t = {1} while true do for i = 1, #t do t[#t + 1] = {t[i]} end end`, want: "bytes of memory", limit: true},
		{name: "doubling a table by insert", body: `local t = {1} while true do for i = 1, #t do table.insert(t, {}) end end`, want: "bytes of memory", limit: true},
		{name: "huge keys", body: `local t = {} for i = 1, 1e9 do t[("x"):rep(1e6) .. i] = true end`, want: "bytes of memory", limit: true},
		{name: "reversed", body: `local t, s = {}, ("x"):rep(1e6) while true do t[#t + 1] = s:reverse() end`, want: "bytes of memory", limit: true},
		{name: "upper case", body: `local t, s = {}, ("x"):rep(1e6) while true do t[#t + 1] = s:upper() end`, want: "bytes of memory", limit: true},
		{name: "formatted", body: `local t, s = {}, ("x"):rep(1e6) while true do t[#t + 1] = ("%s!"):format(s) end`, want: "bytes of memory", limit: true},
		{name: "quoted", body: `local t, s = {}, ("x"):rep(1e6) while true do t[#t + 1] = ("%q"):format(s) end`, want: "bytes of memory", limit: true},
		{name: "encoded", body: `local t, s = {}, ("x"):rep(1e6) while true do t[#t + 1] = json.encode(s) end`, want: "bytes of memory", limit: true},
		{name: "unescaped", body: `local t, s = {}, '"\\n' .. ("x"):rep(1e6) .. '"' while true do t[#t + 1] = json.decode(s) end`, want: "bytes of memory", limit: true},
		{name: "replaced", body: `local t, s = {}, ("x"):rep(1e6) while true do t[#t + 1] = s:gsub("^x", "y") end`, want: "bytes of memory", limit: true},
		{name: "concatenated lists", body: `local t, s = {}, ("x"):rep(1e6) while true do t[#t + 1] = table.concat({s, "y"}) end`, want: "bytes of memory", limit: true},

		{name: "gsub", body: `return (("x"):rep(1e6)):gsub("x", ("y"):rep(1e6))`, want: "longer than"},
		{name: "gsub by captures", body: `return (("x"):rep(1e6)):gsub("^(.*)$", ("%1"):rep(1000))`, want: "longer than"},
		{name: "gsub by table", body: `return (("x"):rep(1e6)):gsub("x", {x = ("y"):rep(1e6)})`, want: "longer than"},
		{name: "gsub by function", body: `return (("x"):rep(1e6)):gsub("x", function() return ("y"):rep(1e6) end)`, want: "longer than"},
		{name: "gsub of nothing", body: `while true do (("x"):rep(1e6)):gsub("", "") end`, want: "limit", limit: true},
		{name: "concat", body: `local t = {} for i = 1, 5e3 do t[i] = ("x"):rep(1000) end return table.concat(t)`, want: "longer than"},
		{name: "concat by separator", body: `return table.concat({1, 2, 3}, ("x"):rep(3e6))`, want: "longer than"},
		{name: "concat of nothing", body: `return table.concat({}, "", 1, 1e15)`, want: "invalid value (a nil)"},
		{name: "format", body: `local s = ("x"):rep(1e6) return ("%s%s%s%s%s"):format(s, s, s, s, s)`, want: "longer than"},
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
		{name: "length after removals", body: `local t = {} for i = 1, 3e5 do t[i] = 1 end for i = 1, 3e5 do t[i] = nil end while true do local n = #t end`, want: "limit", limit: true},
		{name: "next after removals", body: `local t = {} for i = 1, 3e5 do t[i] = 1 end for i = 1, 3e5 do t[i] = nil end while true do next(t) end`, want: "limit", limit: true},
		{name: "next of removed keys", body: `local t = {} for i = 1, 3e4 do t["k" .. i] = 1 end for i = 1, 3e4 do t["k" .. i] = nil end while true do next(t) end`, want: "limit", limit: true},
		{name: "insert in front", body: `local t = {} for i = 1, 3e5 do t[i] = 1 end while true do table.insert(t, 1, 1) end`, want: "limit", limit: true},
		{name: "lower", body: `local s = ("x"):rep(1e6) while true do s:lower() end`, want: "limit", limit: true},
		{name: "sort", body: `local t = {} for i = 1, 3e5 do t[i] = -i end while true do table.sort(t) end`, want: "limit", limit: true},
		{name: "tonumber", body: `local s = ("1"):rep(1e6) while true do tonumber(s) end`, want: "limit", limit: true},
		{name: "arithmetic on text", body: `local s = (" "):rep(3e5) .. "1" local n = 0 while true do n = n + s end`, want: "limit", limit: true},

		{name: "json bomb", body: `local v, e = json.decode(("["):rep(1e6)) error(e)`, want: "exceeded max depth"},
		{name: "json of objects", body: `local v, e = json.decode(('{"a":'):rep(1e5)) error(e)`, want: "exceeded max depth"},
		{name: "json of much", body: `local t = {} while true do t[#t + 1] = json.decode("[" .. ("[],"):rep(1e5) .. "1]") end`, want: "bytes of memory", limit: true},
		{name: "json cycle", body: `local t = {} t.t = t return json.encode(t)`, want: "json: nested more than 128 deep"},
		{name: "json of the same again", body: `local t = {("x"):rep(50)} for i = 1, 100 do t = {t, t} end return json.encode(t)`, want: "longer than"},
		{name: "json of a long text", body: `local s = ("x"):rep(1e6) return json.encode({s, s, s, s, s})`, want: "longer than"},
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
			limits := Limits{Heap: liveHeap() + 16<<20, Instructions: 1_000_000, Time: time.Minute}
			if tc.want == "limit" { // whichever comes first
				limits.Time = 50 * time.Millisecond
			}
			if tc.want == "bytes of memory" {
				limits.Instructions = 50_000_000
			}
			h := newHost(t, limits, "function on_request(req) if req.path == '/a' then "+tc.body+" end end", nativeSource)
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
			other := get()
			other.Path = []byte("/b")
			if err := h.Request(0, nil, nil, other, nil); err != nil {
				t.Errorf("the next call of the script: %v", err)
			}
			if ok, err := h.Response(1, nil, benchResponse(), nil); !ok || err != nil {
				t.Errorf("the next call of the other script: %v %v", ok, err)
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

// FuzzRun: the top level of each script ends, and an error names the script.
func FuzzRun(f *testing.F) {
	for _, s := range []string{
		compatSource, nativeSource, `local t = {} while true do t[#t + 1] = (t[#t] or "x") .. "y" t[#t * 1000] = t end`, `return (function(...) return ... end)(1, 2)`,
		`local a, t = {}, {} a[1], t[a] = t, a for k, v in pairs(a) do a[k] = nil end goto x ::x:: error(setmetatable({}, {__tostring = error}))`,
		`xpcall(string.gsub, error, ("x"):rep(9), "(x)()", function(a, b) return b .. a end) return json.encode(json.decode('{"a":[1,null]}'))`,
		`for i = 1, 3 do pcall(table.sort, {3, i, "x"}, function(a, b) return table.concat({a, b}) end) end math.randomseed(os.time())`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		proto, err := compile("x.lua", source)
		if err != nil {
			return
		}
		h, err := NewHost([]*Script{{name: "x.lua", proto: proto}}, Limits{Instructions: 100_000, Time: time.Second})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "x.lua:") {
				t.Errorf("the error does not begin with the name: %v", err)
			}
			return
		}
		h.Close()
	})
}
