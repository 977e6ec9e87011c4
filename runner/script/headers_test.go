package script

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newHost makes a host of scripts named 0.lua, 1.lua and so on.
func newHost(t testing.TB, l Limits, sources ...string) *Host {
	t.Helper()
	var scripts []*Script
	for i, src := range sources {
		sc, err := Compile(fmt.Sprintf("%d.lua", i), src)
		if err != nil {
			t.Fatal(err)
		}
		scripts = append(scripts, sc)
	}
	h, err := NewHost(scripts, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// text of a message, to compare.
func shown(m *Message) string {
	var b strings.Builder
	if m.Status != 0 {
		fmt.Fprintf(&b, "%d\n", m.Status)
	} else {
		fmt.Fprintf(&b, "%s %s://%s%s\n", m.Method, m.Scheme, m.Authority, m.Path)
	}
	for _, f := range m.Fields {
		fmt.Fprintf(&b, "%s: %s\n", f.Name, f.Value)
	}
	return b.String() + "\n" + string(m.Body)
}

func get() *Message {
	return &Message{
		Method: []byte("GET"), Scheme: []byte("https"), Authority: []byte("h:1"), Path: []byte("/a"),
		Fields: fields("accept", "*/*", "content-length", "2", "x-a", "1"), Body: []byte("hi"),
	}
}

func created() *Message {
	return &Message{Status: 201, Fields: fields("location", "/new", "set-cookie", "a=1", "set-cookie", "b=2", "x", ""), Body: []byte("made")}
}

const getPlain = "GET https://h:1/a\naccept: */*\ncontent-length: 2\nx-a: 1\n\nhi"

func TestMakeRequest(t *testing.T) {
	for _, tc := range []struct {
		name, body string // of make_request(rh, rp, h, p)
		first      bool
		want, err  string
	}{
		{name: "the same", body: `return h, p`, want: "GET https://h:1/a\naccept: */*\nx-a: 1\n\nhi"},
		{name: "changed in place", body: `h[":path"] = rh.location h["x-a"] = nil h["x-new"] = "2" return h, p .. rp`,
			want: "GET https://h:1/new\naccept: */*\nx-new: 2\n\nhimade"},
		{name: "a new table", body: `return {[":method"] = "PUT", [":path"] = "/b", [":scheme"] = "http", [":authority"] = "o", b = "2", a = 1}, ""`,
			want: "PUT http://o/b\nb: 2\na: 1\n\n"},
		{name: "copied", body: `local c = {} for k, v in pairs(h) do c[k] = v end return c, p`,
			want: "GET https://h:1/a\naccept: */*\nx-a: 1\n\nhi"},
		{name: "all of the response", body: `local s = "" for k, v in pairs(rh) do s = s .. k .. "=" .. v .. "|" end return h, s`,
			want: "GET https://h:1/a\naccept: */*\nx-a: 1\n\n" +
				":status=201|:method=GET|:scheme=https|:authority=h:1|:path=/before|location=/new|set-cookie=a=1; b=2|x=|"},
		{name: "the first request", first: true, body: `assert(next(rh) == nil and rh.location == nil and rh[":path"] == nil and rp == "") return h, p`,
			want: "GET https://h:1/a\naccept: */*\nx-a: 1\n\nhi"},
		{name: "all of the request", body: `local s = "" for k, v in next, h do s = s .. k .. "=" .. v .. "|" end return h, s`,
			want: "GET https://h:1/a\naccept: */*\nx-a: 1\n\n:method=GET|:scheme=https|:authority=h:1|:path=/a|accept=*/*|content-length=2|x-a=1|"},
		{name: "removed while going through", body: `for k in pairs(h) do if k:sub(1, 1) ~= ":" then h[k] = nil end end return h, p`,
			want: "GET https://h:1/a\n\nhi"},
		{name: "raw access", body: `rawset(h, "x-a", rawget(rh, "location")) assert(rawget(h, "nothing") == nil) return h, p`,
			want: "GET https://h:1/a\naccept: */*\nx-a: /new\n\nhi"},
		{name: "numbers", body: `h["x-a"] = 3 h["x-b"] = 0.1 h["x-c"] = 1e15 return h, 12`,
			want: "GET https://h:1/a\naccept: */*\nx-a: 3\nx-b: 0.1\nx-c: 1e+15\n\n12"},
		{name: "case", body: `h["X-B"] = "1" h["X-A"] = "2" return h, p`, want: "GET https://h:1/a\naccept: */*\nx-a: 2\nx-b: 1\n\nhi"},
		{name: "read back", body: `h["X-B"] = 3 assert(h["X-B"] == "3" and h["x-b"] == "3" and h["ACCEPT"] == "*/*") h["X-B"] = nil assert(h["x-b"] == nil) return h, p`,
			want: "GET https://h:1/a\naccept: */*\nx-a: 1\n\nhi"},
		{name: "set, then gone through", body: `h["x-b"] = "2" h[":path"] = "/b" for k, v in pairs(h) do h[k] = v .. "" end h["x-a"] = nil return h, p`,
			want: "GET https://h:1/b\naccept: */*\nx-b: 2\n\nhi"},
		{name: "a pseudo-header removed and set", body: `h[":path"] = nil assert(h[":path"] == nil) h[":path"] = "/b" return h, p`,
			want: "GET https://h:1/b\naccept: */*\nx-a: 1\n\nhi"},
		{name: "content-length", body: `h["Content-Length"] = 7 return h, p`, want: "GET https://h:1/a\naccept: */*\nx-a: 1\n\nhi"},
		{name: "errors caught", body: `assert(not pcall(function() h["x-a"] = "a\n" end)) return h, p`,
			want: "GET https://h:1/a\naccept: */*\nx-a: 1\n\nhi"},
		{name: "the response's headers written to", body: `rh["x-b"] = "2" rh.location = nil assert(rh["x-b"] == "2" and rh.location == nil and rh.x == "") return h, p`,
			want: "GET https://h:1/a\naccept: */*\nx-a: 1\n\nhi"},
		{name: "json of headers", body: `return h, json.encode(h)`,
			want: "GET https://h:1/a\naccept: */*\nx-a: 1\n\n" +
				`{":authority":"h:1",":method":"GET",":path":"/a",":scheme":"https","accept":"*/*","content-length":"2","x-a":"1"}`},
		{name: "type and length", body: `assert(type(h) == "table" and #h == 0 and getmetatable(h) == "headers") return h, p`,
			want: "GET https://h:1/a\naccept: */*\nx-a: 1\n\nhi"},

		{name: "no table", body: `return "x", p`, err: "0.lua: make_request: the first result is a string, want a table"},
		{name: "nothing", body: ``, err: "0.lua: make_request: the first result is a nil"},
		{name: "no payload", body: `return h`, err: "0.lua: make_request: the second result is a nil, want the payload"},
		{name: "a boolean as header", body: `h.x = true return h, p`, err: `header "x" is a boolean`},
		{name: "a number as name", body: `h[1] = "x" return h, p`, err: "0.lua:1: the name of a header is a string, not a number"},
		{name: "a number as name in a new table", body: `return {"x"}, p`, err: "the name of a header is a string, not a number"},
		{name: "name", body: `h["a b"] = "x" return h, p`, err: `header name "a b" is not a token`},
		{name: "newline", body: `h.x = "a\r\nb: c" return h, p`, err: `header "x": the value has a CR, LF or NUL`},
		{name: "zero byte", body: `h.x = "a\0b" return h, p`, err: `header "x": the value has a CR, LF or NUL`},
		{name: "path", body: `h[":path"] = "b" return h, p`, err: `path "b": must be "*" or begin with "/"`},
		{name: "blank in the path", body: `h[":path"] = "/b c" return h, p`, err: `path "/b c"`},
		{name: "method", body: `h[":method"] = "A B" return h, p`, err: `method "A B": must be a token`},
		{name: "authority", body: `h[":authority"] = "" return h, p`, err: `authority "": must be a host`},
		{name: "pseudo-header", body: `h[":status"] = "200" return h, p`, err: `unknown pseudo-header ":status"`},
		{name: "the response's headers", body: `return rh, p`, err: "the first result is the header table of another message"},
		{name: "a copy of the response's headers", body: `local c = {} for k, v in pairs(rh) do c[k] = v end return c, p`, err: `unknown pseudo-header ":status"`},
		{name: "pseudo-header left out", body: `return {[":method"] = "GET"}, p`, err: `the returned headers have no ":scheme"`},
		{name: "pseudo-header removed", body: `h[":path"] = nil return h, p`, err: `the returned headers have no ":path"`},
		{name: "body too large", body: `return h, ("x"):rep(1024 * 1024 + 1)`, err: "a body of 1048577 bytes, more than 1048576"},
		{name: "header too large", body: `h.x = ("x"):rep(64 * 1024) return h, p`, err: "headers of more than 65536 bytes"},
		{name: "many headers", body: `for i = 1, 3000 do h["x" .. i] = i end return h, p`, err: "headers of more than 65536 bytes"},
		{name: "very many headers", body: `for i = 1, 5000 do h["x" .. i] = i end return h, p`, err: "headers of more than 65536 bytes"},
		{name: "metatable", body: `setmetatable(h, {}) return h, p`, err: "cannot change a protected metatable"},
		{name: "as a list", body: `table.insert(h, "x") return h, p`, err: "the name of a header is a string, not a number"},
		{name: "replaced function", body: `make_request = nil return 1`, err: "the first result is a number"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHost(t, Limits{}, "function make_request(rh, rp, h, p) "+tc.body+" end")
			req, prevReq, prevRes := get(), get(), created()
			prevReq.Path = []byte("/before")
			if tc.first {
				prevReq, prevRes = nil, nil
			}
			err := h.Request(0, prevReq, prevRes, req, nil)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("got %v, want %q", err, tc.err)
				}
				tc.want = getPlain
			} else if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, shown(req)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestValidateResponse(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		want       bool
		err        string
	}{
		{name: "good", body: `return h[":status"] == "201" and h["set-cookie"] == "a=1; b=2" and p == "made"`, want: true},
		{name: "bad", body: `return h[":status"] == 201`},
		{name: "no request in it", body: `return h[":path"] == nil`, want: true},
		{name: "nothing", body: ``, err: "0.lua: validate_response: the result is a nil, want a boolean"},
		{name: "a number", body: `return 1`, err: "the result is a number"},
		{name: "error", body: "\n\nerror('no ' .. h.location)", err: "0.lua:3: no /new"},
		{name: "error without a place", body: `error("plain", 0)`, err: "0.lua: plain"},
		{name: "a table as error", body: `error({})`, err: "0.lua: the error is a table"},
		{name: "written to", body: `h.x = "1" h.location = nil return h.x == "1" and h.location == nil`, want: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHost(t, Limits{}, "function validate_response(h, p) "+tc.body+" end")
			res := created()
			ok, err := h.Response(0, get(), res, nil)
			if ok != tc.want || (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("got %v, %v", ok, err)
			}
			if diff := cmp.Diff(created(), res); diff != "" {
				t.Errorf("the response has changed: -want +got\n%s", diff)
			}
		})
	}
}

// TestCalls: state of a script stays, header tables do not, messages of calls do not mix.
func TestCalls(t *testing.T) {
	h := newHost(t, Limits{}, `
		local n, kept = 0
		function make_request(rh, rp, h, p)
			n = n + 1
			h["x-n"] = n
			if n > 1 and n % 2 == 1 then h["x-odd"] = "1" end
			return h, p
		end
		function validate_response(h, p)
			if p == "use" then return kept.location == "/new" end
			if p == "pairs" then for k in pairs(kept) do return true end end
			if p == "return" then return type(kept) == "table" end
			kept = h
			return true
		end`)
	for i := 1; i <= 4; i++ {
		req := get()
		if err := h.Request(0, nil, nil, req, nil); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("GET https://h:1/a\naccept: */*\nx-a: 1\nx-n: %d\n", i)
		if i == 3 {
			want += "x-odd: 1\n"
		}
		if diff := cmp.Diff(want+"\nhi", shown(req)); diff != "" {
			t.Errorf("call %d: -want +got\n%s", i, diff)
		}
	}
	judge := func(body string) (bool, error) {
		res := created()
		res.Body = []byte(body)
		return h.Response(0, nil, res, nil)
	}
	if ok, err := judge("keep"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	for _, body := range []string{"use", "pairs"} {
		if _, err := judge(body); err == nil || !strings.Contains(err.Error(), "a header table was used after its call") {
			t.Errorf("%s: %v", body, err)
		}
	}
	if ok, err := judge("return"); !ok || err != nil {
		t.Error(ok, err)
	}
}

// TestSlices: what a call has set is still there while the next call reads it.
func TestSlices(t *testing.T) {
	h := newHost(t, Limits{}, `
		function make_request(rh, rp, h, p)
			h["x-seen"] = rh[":path"]
			h[":path"] = (rh[":path"] or "") .. "/n"
			return h, p .. "+"
		end`)
	var prev *Message
	for i := range 5 {
		req := get()
		if prev != nil {
			req.Body = prev.Body
		}
		if err := h.Request(0, prev, created(), req, nil); err != nil {
			t.Fatal(err)
		}
		if want := strings.Repeat("/n", i+1); string(req.Path) != want {
			t.Fatalf("path %q, want %q", req.Path, want)
		}
		if want := "hi" + strings.Repeat("+", i+1); string(req.Body) != want {
			t.Fatalf("body %q, want %q", req.Body, want)
		}
		prev = req
	}
}

func TestWrongDirection(t *testing.T) {
	h := newHost(t, Limits{}, `function on_request() end`, `function validate_response() return true end`)
	if _, err := h.Response(0, get(), created(), nil); !errors.Is(err, errNoFunction) {
		t.Error(err)
	}
	if err := h.Request(1, nil, nil, get(), nil); !errors.Is(err, errNoFunction) {
		t.Error(err)
	}
}
