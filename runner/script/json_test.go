package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
)

// jsonState returns the state of a script that does nothing.
func jsonState(t testing.TB) *state {
	t.Helper()
	sc, err := Compile("json.lua", "function on_request() end")
	if err != nil {
		t.Fatal(err)
	}
	h, err := NewHost([]*Script{sc}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h.states[0]
}

// callJSON calls a function of the global json.
func (s *state) callJSON(name string, v lua.LValue) (lua.LValue, error) {
	s.budget.begin()
	s.L.SetTop(0)
	s.L.Push(s.json.table.RawGetString(name))
	s.L.Push(v)
	if err := s.L.PCall(1, 2, nil); err != nil {
		return nil, err
	}
	if message, failed := s.L.Get(2).(lua.LString); failed {
		return nil, errors.New(string(message))
	}
	return s.L.Get(1), nil
}

func (s *state) decodeText(text string) (lua.LValue, error) {
	return s.callJSON("decode", lua.LString(text))
}

func (s *state) encodeValue(v lua.LValue) (string, error) {
	out, err := s.callJSON("encode", v)
	return fmt.Sprint(out), err
}

var jsonSeeds = []string{
	`{}`, `[]`, `null`, `true`, `false`, `0`, `-0`, `-1.5e3`, `1E+2`, `""`, `"a\"\\\/\b\f\n\r\t"`, `"\u00e4\ud83d\ude00\ud800x\udc00"`,
	`[1,[2,[3]],{"a":{"b":null}}]`, ` { "a" : [ 1 , 2 ] , "b" : "x" } `, `{"a":1,"a":2}`, `[[],{},[{}]]`, `12345678901234567890`,
	`01`, `1.`, `.5`, `+1`, `1e`, `[1,]`, `{"a":1,}`, `{a:1}`, `'a'`, `"`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"\n\"", `[1 2]`, `{"a" 1}`, `nul`, `tru`,
	`1 2`, ``, ` `, `{`, `[`, `-`, `1e400`, "\"\x7f\"", "\ufeff1", `"\ud83dx"`, `{"":""}`,
}

// checkJSON holds decode against encoding/json, and encode against decode.
func checkJSON(t *testing.T, s *state, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		return // encoding/json replaces such bytes, scripts get them as they are
	}
	var want any
	wantErr := json.Unmarshal([]byte(text), &want)
	v, err := s.decodeText(text)
	if err != nil && strings.Contains(err.Error(), "nested more than") {
		return
	}
	if (err != nil) != (wantErr != nil) {
		t.Fatalf("%q: error %v, encoding/json: %v", text, err, wantErr)
	}
	if err != nil {
		return
	}
	out, err := s.encodeValue(v)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	var got any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%q became %q: %v", text, out, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%q became %q", text, out)
	}
	again, err := s.decodeText(out)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := s.encodeValue(again); err != nil || second != out {
		t.Fatalf("%q, then %q (%v)", out, second, err)
	}
}

func TestJSON(t *testing.T) {
	s := jsonState(t)
	for _, text := range jsonSeeds {
		checkJSON(t, s, text)
	}
	checkJSON(t, s, strings.Repeat("[", 100)+strings.Repeat("]", 100))
}

func FuzzJSON(f *testing.F) {
	for _, text := range jsonSeeds {
		f.Add(text)
	}
	s := jsonState(f)
	f.Fuzz(func(t *testing.T, text string) { checkJSON(t, s, text) })
}

func TestJSONInLua(t *testing.T) {
	for _, tc := range []struct{ expr, want string }{
		{`json.encode({1, 2, 3}), json.encode({}), json.encode(json.array()), json.encode(json.array({})), json.encode(json.object({}))`, "[1,2,3]|{}|[]|[]|{}"},
		{`json.encode({b = 1, a = "x", c = {true, json.null}})`, `{"a":"x","b":1,"c":[true,null]}`},
		{`json.encode(nil), json.encode(json.null), json.encode("a\n\1\"\127"), json.encode(1.5), json.encode(1e300), json.encode(2^53 - 1), json.encode(123456789012345)`,
			`null|null|"a\n\u0001\"` + "\x7f" + `"|1.5|1e+300|9007199254740991|123456789012345`},
		{`json.decode('{"a":[1,{"b":null}]}').a[2].b == json.null, json.decode("[1,null,3]")[3], #json.decode("[1,2]")`, "true|3|2"},
		{`json.encode(json.decode('{"z":[],"a":{},"m":[null]}'))`, `{"a":{},"m":[null],"z":[]}`},
		{`json.decode("[1,")`, "nil|json: unexpected end of JSON input"},
		{`json.decode("nope")`, "nil|json: invalid character 'o' in literal null (expecting 'u')"},
		{`json.decode('"\\u00e4\\ud83d\\ude00"'), json.decode("12")`, "ä😀|12"},
		{`json.encode({[1] = "a", [2] = "b"}), json.encode({["1"] = "a"}), json.encode(json.object({["2"] = 1, a = 2}))`, `["a","b"]|{"1":"a"}|{"2":1,"a":2}`},
		{`json.encode({10, nil, 30})`, "[10,null,30]"},
		{`json.encode("\255a"), json.decode('"\255a"') == "\255a"`, "\"\ufffda\"|true"},
		{`tostring(json.null), rapidjson.decode("{}") ~= nil, json.encode(setmetatable({1}, {}))`, "null|true|[1]"},
	} {
		if got, err := eval(t, tc.expr); err != nil || got != tc.want {
			t.Errorf("%s\n got %q (%v)\nwant %q", tc.expr, got, err, tc.want)
		}
	}
	for _, tc := range []struct{ expr, want string }{
		{`json.encode(0/0)`, "json: cannot encode nan"},
		{`json.encode(math.huge)`, "json: cannot encode inf"},
		{`json.encode({1, 2, x = 3})`, "both a list and 1 other keys"},
		{`json.encode({[{}] = 1})`, "cannot encode a table as the name of a member"},
		{`json.encode(json.array({x = 1}))`, "both a list and 1 other keys"},
		{`json.encode(vars)`, "cannot encode a userdata"},
		{`json.encode()`, "value expected"},
	} {
		if _, err := eval(t, tc.expr); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", tc.expr, err, tc.want)
		}
	}
}

func TestNumberText(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", math.Copysign(0, -1): "0", 1: "1", -17: "-17", 99999999999999: "99999999999999", 1e14: "1e+14", 0.1 + 0.2: "0.3", 1e-7: "1e-07",
		123456.789: "123456.789", math.MaxFloat64: "1.7976931348623e+308", math.Inf(1): "inf", math.Inf(-1): "-inf", math.NaN(): "nan",
	} {
		if got := numberText(lua.LNumber(f)); got != want {
			t.Errorf("%v: %q, want %q", f, got, want)
		}
	}
}
