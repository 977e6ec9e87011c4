package script

import (
	"strings"
	"testing"
)

// eval runs Lua expressions and joins what they give with "|".
func eval(t *testing.T, expressions string) (string, error) {
	t.Helper()
	sc, err := Compile("e.lua", `function on_response()
		local r = {n = 0}
		local function all(...) r.n = select("#", ...) for i = 1, r.n do r[i] = tostring((select(i, ...))) end end
		all(`+expressions+`)
		return nil, table.concat(r, "|")
	end`)
	if err != nil {
		t.Fatal(err)
	}
	h, err := NewHost([]*Script{sc}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	_, err = h.Response(0, nil, created(), nil)
	return h.Reason(), err
}

// The expected results are those of the reference manual of Lua 5.1 and of its interpreter.
func TestLibrary(t *testing.T) {
	for _, tc := range []struct{ expr, want string }{
		{`("abc"):sub(2), ("abc"):sub(-2), ("abc"):sub(0), ("abc"):sub(2, 2), ("abc"):sub(3, 2), ("abc"):sub(-5, -3), ("abc"):sub(5)`, "bc|bc|abc|b||a|"},
		{`("abc"):byte(), ("abc"):byte(-1), ("abc"):byte(1, -1)`, "97|99|97|98|99"},
		{`("abc"):byte(10), "x"`, "nil|x"},
		{`string.char(72, 105), string.char()`, "Hi|"},
		{`("aB1"):upper(), ("aB1"):lower(), ("abc"):reverse(), ("abc"):len(), #"abc"`, "AB1|ab1|cba|3|3"},
		{`("ab"):rep(3), ("ab"):rep(0), ("ab"):rep(-1)`, "ababab||"},

		{`("hello"):find("l"), ("hello"):find("l", 4)`, "3|4|4"},
		{`("hello"):find("xyz"), ("hello"):find("", 10), ("hello"):find("", 6)`, "nil|nil|6|5"},
		{`("a.b"):find(".", 1, true), ("a+b"):find("+b", 1, true)`, "2|2|3"},
		{`("hello"):find("", 3)`, "3|2"},
		{`("key=value"):find("(%w+)=(%w+)")`, "1|9|key|value"},
		{`("hello"):find("l+()")`, "3|4|5"},
		{`("hello"):find("^l"), ("hello"):find("^h")`, "nil|1|1"},
		{`("hello"):find("o$"), ("a$b"):find("$b")`, "5|2|3"},
		{`("hello"):find("e", -4), ("hello"):find("h", -4)`, "2|nil"},
		{`("x  y"):match("%s*$"), ("x  "):match("^(.-)%s*$")`, "|x"},
		{`("a.b-c"):match("%.(.)%-"), ("[x]"):match("%[(.)%]")`, "b|x"},
		{`("THE (quick) fox"):find("%((%a+)%)")`, "5|11|quick"},
		{`("f(a(b)c)d"):match("%b()"), ("f(a"):match("%b()")`, "(a(b)c)|nil"},
		{`("THE (quick) fox"):find("%f[%a]%a+%f[%A]", 4)`, "6|10"},
		{`('say "hi" or'):match([[(["'])(.-)%1]])`, `"|hi`},
		{`("abc123"):match("%a+"), ("abc123"):match("%d+"), ("abc"):match("%d*"), ("äö"):match("%a")`, "abc|123||nil"},
		{`("a-b"):match("[a%-]+"), ("a]b"):match("[]a]+"), ("a^b"):match("[%^a]+"), ("abc"):match("[^b]+")`, "a-|a]|a^|a"},
		{`("x-z"):match("[x-]+"), ("b"):match("[a-c]"), ("d"):match("[a-c]"), ("-"):match("[a-]")`, "x-|b|nil|-"},
		{`("abc"):match("a?b?c?d?"), ("aaa"):match("a-b"), ("aaab"):match("a-b"), ("aaa"):match("^a-$")`, "abc|nil|aaab|aaa"},
		{`("\0a"):match("%z"), #("a\0b"):match(".+"), ("a_b.c"):match("[%w_]+"), ("!"):match("%p")`, "\x00|3|a_b|!"},
		{`("%d"):match("%%d"), ("aXb"):match("%u"), ("aXb"):match("%U+"), ("fF0g"):match("%x+")`, "%d|X|a|fF0"},
		{`("2026-11-21"):match("^(%d+)-(%d+)-(%d+)$")`, "2026|11|21"},
		{`("aaa"):match("()a*()")`, "1|4"},
		{`("cabc"):find("a?bc"), ("bc"):find("a?bc"), ("xaab"):find("a*b"), ("ab+c"):find("b+", 1, true)`, "2|1|2|2|3"},

		{`("hello world"):gsub("o", "0")`, "hell0 w0rld|2"},
		{`("hello"):gsub("", "-")`, "-h-e-l-l-o-|6"},
		{`("abc"):gsub("%w", "%0%0"), ("abc"):gsub("%w", "%%")`, "aabbcc|%%%|3"},
		{`("hello world"):gsub("(%w+) (%w+)", "%2 %1")`, "world hello|1"},
		{`("abc"):gsub("b", {b = "B"}), ("abc"):gsub("%w", {a = 1, b = false})`, "aBc|1bc|3"},
		{`("abc"):gsub("%w", function(c) if c == "b" then return "<" .. c .. ">" end end)`, "a<b>c|3"},
		{`("a b c"):gsub("%a", string.upper, 2)`, "A B c|2"},
		{`("abc"):gsub("^a", "x"), ("aaa"):gsub("^a", "x")`, "xbc|xaa|1"},
		{`("a,b,,c"):gsub(",", ";"), ("abc"):gsub("x*", "-")`, "a;b;;c|-a-b-c-|4"},
		{`("$name is $age"):gsub("%$(%w+)", {name = "Lua", age = 30})`, "Lua is 30|2"},
		{`("abc"):gsub("(b)()", "%2")`, "a3c|1"},
		{`("x"):gsub("x", "a%"), ("a b"):gsub("%s", "%%20")`, "a%|a%20b|1"},
		{`("nested"):gsub("e", function() return (("x"):gsub("x", "y")) end)`, "nystyd|2"},
		{`(function() local r = "" for k, v in ("a=1, b=2"):gmatch("(%w+)=(%w+)") do r = r .. k .. v end return r end)()`, "a1b2"},
		{`(function() local r = "" for w in ("one two"):gmatch("%a+") do r = r .. w .. "." end return r end)()`, "one.two."},
		{`(function() local n = 0 for _ in ("abc"):gmatch("") do n = n + 1 end return n end)()`, "4"},
		{`(function() local n = 0 for _ in ("^a^a"):gmatch("^a") do n = n + 1 end return n end)()`, "2"},

		{`("%d %i %5d|%-5d|%05d %+d"):format(1, 2.9, 3, 4, 5, 6)`, "1 2     3|4    |00005 +6"},
		{`("%x %X %#x %o %c %u"):format(255, 255, 255, 8, 65, 7)`, "ff FF 0xff 10 A 7"},
		{`("%x %u"):format(-1, -1)`, "ffffffffffffffff 18446744073709551615"},
		{`("%s %s %s %s"):format("a", 1, nil, true), ("%10s|%-10s|%.2s"):format("abc", "abc", "abc")`, "a 1 nil true|       abc|abc       |ab"},
		{`("%f %.2f %e %g %g %g"):format(1.5, 1.005, 12345.678, 0.1, 1e20, 100000)`, "1.500000 1.00 1.234568e+04 0.1 1e+20 100000"},
		{`("%g %g %.3g %5.1f"):format(1/0, -1/0, 2/3, 3.14159)`, "inf -inf 0.667   3.1"},
		{`("%q"):format('a "b"\n\\')`, `"a \"b\"\` + "\n" + `\\"`},
		{`("100%%"):format(), ("%5s"):format("ä")`, "100%|   ä"},
		{`("%d"):format("10"), ("%s"):format(setmetatable({}, {__tostring = function() return "T" end}))`, "10|T"},

		{`1e15, 1e14, 123456789012, 0.1, 1/3, -0.5, 1e100, 2^53, 1/0, -1/0, 3.0`, "1e+15|1e+14|123456789012|0.1|0.33333333333333|-0.5|1e+100|9.007199254741e+15|inf|-inf|3"},
		{`tonumber("10"), tonumber(" 0x1F "), tonumber("1e5"), tonumber("1.5e-1"), tonumber("010"), tonumber("-0x10")`, "10|31|100000|0.15|10|-16"},
		{`tonumber("abc"), tonumber(""), tonumber("1x"), tonumber("0x"), tonumber("1_0"), tonumber("inf"), tonumber("nan"), tonumber({}), tonumber("--1")`,
			"nil|nil|nil|nil|nil|nil|nil|nil|nil"},
		{`tonumber("ff", 16), tonumber("z", 36), tonumber("8", 8), tonumber("11", 2), tonumber("0xff", 16), tonumber(10, 16)`, "255|35|nil|3|255|16"},
		{`tostring(nil), tostring(true), tostring(1), "1" + 1, 10 .. ""`, "nil|true|1|2|10"},

		{`table.concat({1, "b", 3}, ","), table.concat({}), table.concat({1, 2, 3}, "-", 2), table.concat({1, 2, 3}, "-", 2, 2), table.concat({1}, ",", 3)`,
			"1,b,3||2-3|2|"},
		{`(function() local t = {1, 2} table.insert(t, 3) table.insert(t, 1, 0) table.insert(t, 5, 9) return table.concat(t, ",") end)()`, "0,1,2,3,9"},
		{`(function() local t = {1, 2, 3} local a, b = table.remove(t, 1), table.remove(t) return a, b, #t, table.remove({}), table.remove(t, 9) end)()`, "1|3|1|nil|nil"},
		{`(function() local t = {3, 1, 2} table.sort(t) local s = table.concat(t) table.sort(t, function(a, b) return a > b end) return s, table.concat(t) end)()`, "123|321"},
		{`(function() local t = {1, 2, 3} t[#t] = nil local v = table.remove(t) table.sort(t) return v, #t, table.concat(t) end)()`, "2|1|1"},
		{`table.concat({1, 2}, nil), table.concat({"a", "b"}, 0), ("abc"):sub("2"), unpack({1, 2}, "2")`, "12|a0b|bc|2"},
		{`table.maxn({1, 2, nil, 4}), table.getn({1, 2}), table.maxn({[7] = 1, x = 1})`, "4|2|7"},
		{`unpack({1, 2, 3}), "x"`, "1|x"},
		{`unpack({1, 2, 3}, 2)`, "2|3"},
		{`unpack({[0] = 1, 2}, 0)`, "1|2"},
		{`select("#", unpack({}, 1, 3)), select(2, "a", "b"), rawequal("a", "a"), next({}), type(next), pcall(error, "x", 0)`, "3|b|true|nil|function|false|x"},
		{`(function() local s = 0 for i, v in ipairs({1, 2, nil, 4}) do s = s + v end return s end)()`, "3"},
		{`(function() local s = "" for k, v in pairs({10, 20, x = 1}) do s = s .. k .. v end return s end)()`, "110220x1"},
		{`pcall(function() local x = nil; return x.y end)`, "false|e.lua:4: attempt to index a non-table object(nil) with key 'y'"},
		{`xpcall(function() error("a", 0) end, function(e) return e .. "b" end)`, "false|ab"},
		{`math.floor(-1.5), math.max(1, 3, 2), math.huge, math.fmod(5, 3), 5 % -3, -5 % 3, math.pi > 3`, "-2|3|inf|2|-1|1|true"},
		{`collectgarbage("count"), print("x"), require("json") == json, require("rapidjson") == rapidjson`, "0|nil|true|true"},
		{`type(os.time()), os.time() > 1.6e9, type(os.clock()), os.date("!%Y-%m-%d", 0), os.time({year = 2026, month = 1, day = 1, hour = 0}) > 0`,
			"number|true|number|1970-01-01|true"},
		{`rawget(rawset({}, "a", 1), "a"), getmetatable({}), getmetatable("")`, "1|nil|string"},
		{`#"a" .. "b" == "1b", 2 .. 3 == "23", "a" < "b", "a" .. 1 + 2`, "true|true|true|a3"},
	} {
		got, err := eval(t, tc.expr)
		if err != nil || got != tc.want {
			t.Errorf("%s\n got %q (%v)\nwant %q", tc.expr, got, err, tc.want)
		}
	}
}

func TestLibraryErrors(t *testing.T) {
	for _, tc := range []struct{ expr, want string }{
		{`("a"):find("[a")`, "malformed pattern (missing ']')"},
		{`("a"):find("[]")`, "malformed pattern (missing ']')"},
		{`("a"):find("[%")`, "malformed pattern"},
		{`("a"):find("[a%")`, "malformed pattern"},
		{`("a"):find("%")`, "malformed pattern (ends with '%')"},
		{`("a"):find("a%")`, "malformed pattern (ends with '%')"},
		{`("a"):find("(a")`, "unfinished capture"},
		{`("a"):find("a)")`, "invalid pattern capture"},
		{`("a"):find("%1")`, "invalid capture index"},
		{`("a"):find("(%1)")`, "invalid capture index"},
		{`("a"):find("%b")`, "unbalanced pattern"},
		{`("a"):find("%f")`, "missing '[' after '%f'"},
		{`("a"):gsub("a", "%2")`, "invalid capture index in replacement string"},
		{`("a"):gsub("a", function() return {} end)`, "invalid replacement value (a table)"},
		{`("a"):gsub("a")`, "string, table or function expected, got nil"},
		{`("a"):rep()`, "bad argument #2"},
		{`("%d"):format("x")`, "bad argument #2"},
		{`("%d"):format()`, "no value"},
		{`("%y"):format(1)`, "invalid option '%y'"},
		{`("%"):format(1)`, "invalid format"},
		{`("%123d"):format(1)`, "invalid format"},
		{`table.concat({1, {}})`, "invalid value (a table) at index 2"},
		{`table.insert({})`, "wrong number of arguments"},
		{`table.sort({1, "x"})`, "attempt to compare"},
		{`setmetatable({}, 1)`, "nil or table expected"},
		{`setmetatable(setmetatable({}, {__metatable = 1}), {})`, "cannot change a protected metatable"},
		{`math.random(0)`, "interval is empty"},
		{`math.random(2, 1)`, "interval is empty"},
		{`tonumber("1", 99)`, "base out of range"},
		{`tostring(setmetatable({}, {__tostring = function() return 1 end}))`, "'tostring' must return a string"},
		{`next({}, "x"), error("end")`, "end"},
		{`rawset({}, nil, 1)`, "table index is nil"},
		{`json.decode({})`, "string expected"},
		{`json.array(1)`, "table expected"},
		{`json.array(setmetatable({}, {__metatable = 1}))`, "cannot change a protected metatable"},
		{`"a" < 1`, "attempt to compare"},
		{`nil .. "x"`, "attempt to concatenate a nil value"},
		{`error()`, "e.lua"},
	} {
		if _, err := eval(t, tc.expr); err == nil || !strings.HasPrefix(err.Error(), "e.lua:") || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", tc.expr, err, tc.want)
		}
	}
}

// TestExtremes: numbers far from all sense give an error or a result, never a panic or a hang.
func TestExtremes(t *testing.T) {
	for _, f := range []string{
		`select(n, 1, 2)`, `("x"):sub(n)`, `("x"):sub(n, n)`, `("x"):byte(n, n)`, `("x"):byte(1, n)`, `("x"):rep(n)`, `string.char(n)`,
		`("xy"):find("y", n)`, `("xy"):match("y", n)`, `("xy"):gsub("y", "", n)`, `("%d %x %c %g %5.2f"):format(n, n, n, n, n)`,
		`unpack({}, n, n)`, `unpack({}, n)`, `unpack({}, 1, n)`, `table.concat({1}, ",", n, n)`, `table.concat({1}, ",", n)`,
		`table.insert({1}, n, 1)`, `table.remove({1}, n)`, `rawset({}, n, 1)`, `rawget({}, n)`, `({})[n]`, `next({[n] = 1})`,
		`math.random(n)`, `math.random(n, n)`, `math.random(-n, n)`, `math.randomseed(n)`, `math.ldexp(1, n)`, `math.fmod(n, 0)`, `math.floor(n)`,
		`os.date("%c", n)`, `os.date("*t", n)`, `os.time({year = n, month = n, day = n, hour = n})`, `tonumber("1", n)`, `tonumber(n)`, `tostring(n)`,
		`json.encode(n)`, `json.encode({[n] = 1})`, `error("x", n)`, `(function() local t = {} t[n] = 1 t[n], t[1] = 2, 3 return t[n] end)()`,
		`(function() for i = n, n do return i end end)()`, `(function() for i = 1, 2, n do return i end end)()`,
	} {
		for _, n := range []string{"1e300", "-1e300", "1/0", "-1/0", "0/0", "2^53", "-2^53", "2^63", "2^31", "0.5", "-1", "0"} {
			got, err := eval(t, strings.ReplaceAll(`pcall(function() local n = `+n+` return `+f+` end)`, "return error", "error"))
			if err != nil && !strings.Contains(err.Error(), "too many results") || strings.Contains(got, "runtime error") {
				t.Errorf("n = %s, %s: %q, %v", n, f, got, err)
			}
		}
	}
}

// FuzzPattern: each pattern ends without a panic, and matches are within the text.
func FuzzPattern(f *testing.F) {
	for _, s := range []string{"(%w+)=(.-)$", "[^%]-x]*%b()%f[%a]", "%1", "()", "^a-b?c+$"} {
		f.Add("key=value (a) x", s)
	}
	f.Fuzz(func(t *testing.T, src, pat string) {
		var m matcher
		start, end := m.find(src, pat, 0, 1<<20)
		if m.err != nil || start < 0 {
			return
		}
		if start > end || end > len(src) {
			t.Fatalf("found %d to %d of %d", start, end, len(src))
		}
		for i := range m.n {
			if s, place, err := m.captured(i, start, end); err == nil && (place > len(src)+1 || !strings.Contains(src, s)) {
				t.Fatalf("capture %d: %q, %d", i, s, place)
			}
		}
	})
}
