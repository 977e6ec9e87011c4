package rules

import (
	"fmt"
	"strings"
	"testing"
)

func TestScripts(t *testing.T) {
	const file = `
rules:
- name: r
  match: {path: "/a/{x}"}
  responses:
  - headers: [{name: h, value: "${path.x}"}, {name: content-type, value: text/plain}]
    body: "said ${request.body}"
    script:
      lua: |
        n = 0
        function customize_response(request_headers, request_body, response_headers, response_body)
          n = n + 1
          if request_body == "fail" then error("it fails") end
          if request_body == "loop" then while true do end end
          if request_body == "bad" then response_headers.h = " x" end
          if request_body == "te" then response_headers["transfer-encoding"] = "x" end
          if request_body == "none" then response_headers[":status"] = 204 end
          response_headers["old"] = request_headers[":method"] .. response_headers[":status"]
          response_headers.k = request_headers.k
          return response_headers, response_body .. n
        end
- name: create
  match: {path: /c}
  resource: {collection: c, action: create, id: x}
  responses: [{script: {lua: "function customize_response(a, b, h, d) return h, d .. ' ' end"}}]
`
	e := engine(t, file)
	for _, c := range []struct{ request, want string }{
		{"GET /a/b\nk: 1\nk: 2\n\nx", "200\nh: b\ncontent-type: text/plain\nold: GET200\nk: 1; 2\n\nsaid x1"},
		{"PUT /a/b\n\nnone", "204\nh: b\ncontent-type: text/plain\nold: PUT204"},
		{"GET /a/b\n\nfail", "500 it fails"},
		{"GET /a/b\n\nloop", "500 the script's limit of "},
		{"GET /a/b\n\nbad", "500 header \"h\""},
		{"GET /a/b\n\nte", "500 is not allowed in HTTP/2"},
		{"GET /a/b\n\ny", "200\nh: b\ncontent-type: text/plain\nold: GET200\n\nsaid y7"},
		{"POST /c\n\n{\"a\":1}", "201\nlocation: /c/x\ncontent-type: application/json\n\n{\"a\":1} "},
	} {
		got := ask(t, e, c.request)
		_, why, fails := strings.Cut(c.want, "500 ")
		if !fails && got != c.want || fails && (!strings.Contains(got, why) || !strings.Contains(got, "500\n") || !strings.Contains(got, "x-h2surge-error: ")) {
			t.Errorf("%s: %q, want %q", c.request, got, c.want)
		}
	}
	call := request("GET /a/b\n\nfail")
	if e.Answer(call, clock); !call.Failed {
		t.Error("a failure is not told")
	}
}

// TestFailuresChangeNothing: a request whose rule fails, or whose script answers with an error, changes no documents, nor
// their order.
func TestFailuresChangeNothing(t *testing.T) {
	const fails = `[{script: {lua: "
    function customize_response(a, b, h, d)
      if a.fail == 'error' then error('x') end
      if a.fail == 'status' then h[':status'] = 409 end
      if a.fail == 'field' then h.x = ' x' end
      return h, d
    end"}}]`
	e := engine(t, `
rules:
- {name: list, match: {method: GET}, resource: {collection: c, action: list}}
- {name: create, match: {method: POST}, resource: {collection: c, action: create, id: "${query.id}"}, responses: `+fails+`}
- {name: put, match: {method: PUT}, resource: {collection: c, action: put, id: "${query.id}"}, responses: `+fails+`}
- {name: patch, match: {method: PATCH}, resource: {collection: c, action: patch, id: "${query.id}"}, responses: `+fails+`}
- {name: delete, match: {method: DELETE}, resource: {collection: c, action: delete, id: "${query.id}"}, responses: `+fails+`}
- {name: value, match: {path: /value}, resource: {collection: c, action: create, id: new}, responses: [{headers: [{name: h, value: "${json:/l}"}]}]}
- {name: long, match: {path: /long}, resource: {collection: c, action: create, id: new}, responses: [{body: '`+strings.Repeat("${request.body}", 20)+`'}]}
`)
	for i, id := range []string{"a", "b", "c"} {
		if got := ask(t, e, fmt.Sprintf("POST /c?id=%s\n\n%d", id, i)); !strings.HasPrefix(got, "201") {
			t.Fatal(got)
		}
	}
	long := `"` + strings.Repeat("x", maxAnswer/20) + `"`
	requests := []string{"POST /value\n\n" + `{"l":"a\nb"}`, "POST /long\n\n" + long}
	for _, fail := range []string{"error", "status", "field"} {
		for _, r := range []string{"POST /c?id=d", "PUT /c?id=d", "PUT /c?id=b", "PATCH /c?id=b", "DELETE /c?id=a", "DELETE /c?id=b", "DELETE /c?id=c"} {
			requests = append(requests, r+"\nfail: "+fail+"\n\n9")
		}
	}
	for _, r := range requests {
		if got := ask(t, e, r); !strings.HasPrefix(got, "500") && !strings.HasPrefix(got, "409") {
			t.Errorf("%.50q: %.50q", r, got)
		}
		if got := ask(t, e, "GET /c"); !strings.HasSuffix(got, "\n\n[0,1,2]") || e.Documents() != 3 {
			t.Fatalf("after %.50q: %d documents, %q", r, e.Documents(), got)
		}
	}
	if got := ask(t, e, "DELETE /c?id=b\n\n"); !strings.HasPrefix(got, "204") || e.Documents() != 2 {
		t.Errorf("%q, %d documents", got, e.Documents())
	}
}

func TestScriptMistakes(t *testing.T) {
	for script, want := range map[string]string{
		"{}":                           "rules[0].responses[0].script (line 3): must have one of lua and luaFile",
		"{lua: x, luaFile: y}":         "must have one of lua and luaFile",
		"{lua: 'x ='}":                 "rules[0].responses[0].script.lua (line 3): 1:",
		"{lua: 'x = 1'}":               "does not define customize_response",
		"{luaFile: none.lua}":          "rules[0].responses[0].script.luaFile (line 3): stat",
		"{lua: 'while true do end'}":   "the script's limit of", // of instructions, or of time where it is short
		"{lua: 'os.exit(1)'}":          "script.lua",
		"{lua: 'load(\"x\")'}":         "script.lua",
		"{lua: 'require(\"socket\")'}": "script.lua",
	} {
		_, err := Load([]byte(head+"rules: [{name: r, responses: [{script: "+script+"}]}]"), t.TempDir())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
}
