package script

import (
	"errors"
	"strings"
	"testing"
)

func customize(t *testing.T, source string) (*Message, error) {
	t.Helper()
	sc, err := CompileCustomizer("x.lua", source)
	if err != nil {
		return nil, err
	}
	h, err := NewHost([]*Script{sc}, Limits{Instructions: 100_000, Body: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	req := &Message{
		Method: []byte("POST"), Scheme: []byte("http"), Authority: []byte("a"), Path: []byte("/p?q"),
		Fields: []Field{{Name: []byte("h"), Value: []byte("1")}, {Name: []byte("h"), Value: []byte("2")}}, Body: []byte("ask"),
	}
	res := &Message{Status: 200, Fields: []Field{{Name: []byte("k"), Value: []byte("v")}}, Body: []byte("say")}
	err = h.Customize(0, req, res)
	return res, err
}

func show(m *Message) string {
	out := []string{string(rune('0'+m.Status/100)) + "xx"}
	for _, f := range m.Fields {
		out = append(out, string(f.Name)+"="+string(f.Value))
	}
	return strings.Join(append(out, string(m.Body)), " ")
}

func TestCustomize(t *testing.T) {
	const open = "function customize_response(qh, qb, rh, rb) "
	for _, c := range []struct{ source, want string }{
		{"return rh, rb end", "2xx k=v say"},
		{"rh['old'] = rh[':status'] rh[':status'] = '404' rh.k = nil return rh, rb .. qb end", "4xx old=200 sayask"},
		{"return {[':status'] = 201, Location = qh[':path'], h = qh.h}, '' end", ""},
		{"rh['content-length'] = 5 return rh, qh[':method'] .. qh[':authority'] end", "2xx k=v POSTa"},
	} {
		res, err := customize(t, open+c.source)
		if err != nil {
			t.Errorf("%s: %v", c.source, err)
			continue
		}
		got := show(res)
		if c.want == "" { // the order of a table of the script's own is Lua's
			if !strings.HasPrefix(got, "2xx ") || !strings.Contains(got, "location=/p?q") || !strings.Contains(got, "h=1; 2") {
				t.Errorf("%s: %q", c.source, got)
			}
		} else if got != c.want {
			t.Errorf("%s: %q, want %q", c.source, got, c.want)
		}
	}
}

func TestCustomizeErrors(t *testing.T) {
	const open = "function customize_response(qh, qb, rh, rb) "
	for _, c := range []struct {
		source, want string
		limit        bool
	}{
		{source: "x = 1", want: "does not define customize_response"},
		{source: "x =", want: "x.lua:1"},
		{source: open + "return qh, rb end", want: "the header table of another message"},
		{source: open + "return nil, rb end", want: "first result is a nil"},
		{source: open + "return rh end", want: "second result is a nil"},
		{source: open + "rh[':status'] = nil return rh, rb end", want: `the returned headers have no ":status"`},
		{source: open + "rh[':status'] = 100 return rh, rb end", want: `:status is "100"`},
		{source: open + "return {}, rb end", want: `the returned headers have no ":status"`},
		{source: open + "rh[':path'] = '/' return rh, rb end", want: `unknown pseudo-header ":path"`},
		{source: open + "rh['a b'] = '/' return rh, rb end", want: "not a token"},
		{source: open + "rh.a = 'x\\ny' return rh, rb end", want: "CR, LF or NUL"},
		{source: open + "error('no') end", want: "no"},
		{source: open + "while true do end end", want: "instructions", limit: true},
		{source: open + "return rh, string.rep('x', 1001) end", want: "a body of 1001 bytes", limit: true},
		{source: open + "return io.open('x') end", want: "x.lua:1"},
		{source: open + "rh[':status'] = '2e2' return rh, rb end", want: `:status is "2e2"`},
	} {
		res, err := customize(t, c.source)
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, ErrLimit) != c.limit {
			t.Errorf("%s: %v, want %q", c.source, err, c.want)
		}
		if res != nil && err != nil && show(res) != "2xx k=v say" {
			t.Errorf("%s: the response became %q", c.source, show(res))
		}
	}
}
