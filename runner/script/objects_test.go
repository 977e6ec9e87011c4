package script

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// chainValues are captures and variables: names in upper case cannot be set.
type chainValues map[string]string

func (c chainValues) Value(name string) ([]byte, bool) {
	v, ok := c[name]
	return []byte(v), ok
}

func (c chainValues) SetValue(name string, v []byte) error {
	if _, ok := c[name]; !ok || strings.ToUpper(name) == name {
		return fmt.Errorf("the chain has no capture %q", name)
	}
	c[name] = string(v)
	return nil
}

func TestOnRequest(t *testing.T) {
	const same = "GET https://h:1/a\naccept: */*\ncontent-length: 2\nx-a: 1\n\nhi"
	for _, tc := range []struct {
		name, body string // of on_request(req, prev)
		first      bool
		want, err  string
	}{
		{name: "nothing", body: ``, want: same},
		{name: "read", body: `assert(req.method == "GET" and req.scheme == "https" and req.authority == "h:1" and req.path == "/a" and req.body == "hi")
			assert(req:header("accept") == "*/*" and req:header("X-A") == "1" and req:header("none") == nil and req.nothing == nil)`, want: same},
		{name: "previous", body: `assert(prev.status == 201 and prev.body == "made" and prev:header("location") == "/new")
			assert(prev:header("set-cookie") == "a=1; b=2" and prev:header("x") == "" and prev.path == nil)`, want: same},
		{name: "first", first: true, body: `assert(prev == nil)`, want: same},
		{name: "write", body: `req.method = "PUT" req.scheme = "http" req.authority = "o" req.path = prev:header("location") req.body = req.body .. 1`,
			want: "PUT http://o/new\naccept: */*\ncontent-length: 2\nx-a: 1\n\nhi1"},
		{name: "written, then read", body: `req.path = "/b" assert(req.path == "/b") req:set_header("x-a", 2) assert(req:header("x-a") == "2")`,
			want: "GET https://h:1/b\naccept: */*\ncontent-length: 2\nx-a: 2\n\nhi"},
		{name: "headers", body: `req:set_header("X-B", "b") req:add_header("x-a", "2") req:remove_header("accept") req:remove_header("none")`,
			want: "GET https://h:1/a\ncontent-length: 2\nx-a: 1\nx-b: b\nx-a: 2\n\nhi"},
		{name: "set replaces all", body: `req:add_header("x-a", "2") req:add_header("x-a", "3") req:set_header("x-a", "4")`,
			want: "GET https://h:1/a\naccept: */*\ncontent-length: 2\nx-a: 4\n\nhi"},
		{name: "values", body: `req.path = "/" .. vars.USER .. vars.token vars.token = 17 assert(vars.none == nil)`,
			want: "GET https://h:1/meabc\naccept: */*\ncontent-length: 2\nx-a: 1\n\nhi"},

		{name: "path", body: `req.path = "b"`, err: `0.lua:1: path "b": must be "*"`},
		{name: "type", body: `req.path = {}`, err: `0.lua:1: req.path is a string or a number, not a table`},
		{name: "no such member", body: `req.pth = "/b"`, err: "req.pth cannot be set; allowed: method"},
		{name: "member by number", body: `req[1] = "/b"`, err: "cannot be set"},
		{name: "header name", body: `req:set_header("a b", "")`, err: `header name "a b" is not a token`},
		{name: "header value", body: `req:add_header("a", "x\ny")`, err: "has a CR, LF or NUL"},
		{name: "content-length", body: `req:set_header("content-length", 1)`, err: "content-length cannot be set"},
		{name: "previous is read-only", body: `prev.body = "x"`, err: "0.lua:1: prev is read-only here"},
		{name: "previous has no set_header", body: `prev:set_header("a", "b")`, err: "0.lua:1: attempt to call a non-function"},
		{name: "another's method", body: `req.set_header(prev, "a", "b")`, err: "prev is read-only here"},
		{name: "dot for colon", body: `req.header("a")`, err: "write req:header(name), with a colon"},
		{name: "vars as self", body: `req.header(vars, "a")`, err: "with a colon"},
		{name: "unknown capture", body: `vars.other = "x"`, err: `0.lua:1: the chain has no capture "other"`},
		{name: "variable", body: `vars.USER = "x"`, err: `the chain has no capture "USER"`},
		{name: "table as capture", body: `vars.token = {}`, err: "vars.token is a string or a number"},
		{name: "nil as capture", body: `vars.token = nil`, err: "vars.token is a string or a number"},
		{name: "number as name", body: `return vars[1]`, err: "the name of a variable is a string"},
		{name: "result", body: `return false`, err: "0.lua: on_request: the result is a boolean, want no result"},
		{name: "all or nothing", body: `req.path = "/b" req:set_header("x", "y") error("no")`, err: "0.lua:1: no"},
		{name: "metatable", body: `getmetatable(req).__index = nil`, err: "0.lua:1: "},
		{name: "set metatable", body: `setmetatable(req, {})`, err: "table expected"},
		{name: "body too large", body: `req.body = ("x"):rep(1024 * 1024 + 1)`, err: "a body of 1048577 bytes"},
		{name: "headers too large", body: `for i = 1, 3000 do req:add_header("x", i) end`, err: "headers of more than 65536 bytes"},
		{name: "errors caught", body: `for i = 1, 3000 do pcall(req.add_header, req, "x", ("y"):rep(100)) end for i = 1, 1e6 do req.body = ("x"):rep(1e6) end`,
			err: "req is changed too often"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHost(t, Limits{}, "function on_request(req, prev) "+tc.body+" end")
			values := chainValues{"USER": "me", "token": "abc"}
			req, prevRes := get(), created()
			if tc.first {
				prevRes = &Message{}
			}
			err := h.Request(0, get(), prevRes, req, values)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("got %v, want %q", err, tc.err)
				}
				tc.want = same
			} else if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, shown(req)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if diff := cmp.Diff(created(), prevRes); !tc.first && diff != "" {
				t.Errorf("the response has changed: -want +got\n%s", diff)
			}
			if strings.Contains(tc.body, "vars.token = 17") && values["token"] != "17" {
				t.Error("the capture is not set")
			}
		})
	}
}

func TestOnResponse(t *testing.T) {
	for _, tc := range []struct {
		name, body  string // of on_response(res, req)
		want        bool
		reason, err string
	}{
		{name: "nothing", body: ``, want: true},
		{name: "nil", body: `return nil`, want: true},
		{name: "true", body: `return true`, want: true},
		{name: "true with a string", body: `return true, "x"`, want: true},
		{name: "false", body: `return false`},
		{name: "false with a reason", body: `return false, "no " .. res.status`, reason: "no 201"},
		{name: "nil with a reason", body: `return nil, res:header("location")`, reason: "/new"},
		{name: "the request", body: `return req.path == "/a" and req:header("x-a") == "1"`, want: true},
		{name: "a number", body: `return 1`, err: "0.lua: on_response: the first result is a number, want a boolean or nothing"},
		{name: "a table as reason", body: `return false, {}`, err: "the second result is a table, want a string"},
		{name: "the request is read-only", body: `req.path = "/b"`, err: "0.lua:1: req is read-only here"},
		{name: "the response is read-only", body: `res.status = 200`, err: "0.lua:1: res is read-only here"},
		{name: "capture", body: `vars.token = res:header("location")`, want: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHost(t, Limits{}, "function on_response(res, req) "+tc.body+" end")
			ok, err := h.Response(0, get(), created(), chainValues{"token": ""})
			if ok != tc.want || h.Reason() != tc.reason {
				t.Errorf("got %v, %q, %v", ok, h.Reason(), err)
			}
			if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("got %v, want %q", err, tc.err)
			}
		})
	}
}

func TestKeptProxies(t *testing.T) {
	h := newHost(t, Limits{}, `
		local kept = {}
		function on_request(req, prev)
			if kept.res then return kept[vars.read].body end
			kept.req, kept.prev = req, prev
		end
		function on_response(res) kept.res = res return pcall(function() return kept.req.path end) end`)
	values := chainValues{"read": "res"}
	if err := h.Request(0, nil, created(), get(), values); err != nil {
		t.Fatal(err)
	}
	if ok, err := h.Response(0, nil, created(), nil); ok || err != nil {
		t.Error("the script read the request of an earlier call", ok, err)
	}
	for _, what := range []string{"res", "prev"} {
		values["read"] = what
		err := h.Request(0, nil, nil, get(), values)
		if want := "0.lua:4: " + what + " was used after its call"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err := h.Request(0, nil, nil, get(), nil); err == nil || !strings.Contains(err.Error(), "vars") {
		t.Errorf("vars without values: %v", err)
	}
}

func TestRandomRepeats(t *testing.T) {
	const source = `function on_response() return nil, math.random(1e9) .. " " .. math.random(5, 6) .. " " .. math.random() end`
	draw := func(seed uint64, i int) string {
		h := newHost(t, Limits{Seed: seed}, source, source)
		if _, err := h.Response(i, nil, created(), nil); err != nil {
			t.Fatal(err)
		}
		return h.Reason()
	}
	if a, b := draw(1, 0), draw(1, 0); a != b {
		t.Errorf("%q, then %q", a, b)
	}
	if draw(1, 0) == draw(2, 0) || draw(1, 0) == draw(1, 1) {
		t.Error("other seeds and scripts have the same numbers")
	}
}

func TestNewHostError(t *testing.T) {
	sc, err := Compile("big.lua", `local t = {} for i = 1, 1000 do t[i] = i end function on_request() end`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewHost([]*Script{sc}, Limits{Instructions: 500}); !errors.Is(err, ErrLimit) {
		t.Errorf("got %v", err)
	}
}
