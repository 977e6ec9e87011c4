package openapi

import (
	"fmt"
	"strings"
	"testing"
)

// TestStyles has the table of "Style Examples" of OpenAPI 3.0.4.
func TestStyles(t *testing.T) {
	const array, object = "example: [blue, 'b c']", "example: {R: 100, G: 'a b'}"
	for _, tc := range []struct{ parameter, want string }{
		{"in: query, " + array, "path: /p?color=blue&color=b%20c\n"},
		{"in: query, " + object, "path: /p?R=100&G=a%20b\n"},
		{"in: query, explode: false, " + array, "path: /p?color=blue,b%20c\n"},
		{"in: query, explode: false, " + object, "path: /p?color=R,100,G,a%20b\n"},
		{"in: query, style: spaceDelimited, " + array, "path: /p?color=blue%20b%20c\n"},
		{"in: query, style: spaceDelimited, " + object, "path: /p?color=R%20100%20G%20a%20b\n"},
		{"in: query, style: pipeDelimited, explode: false, " + array, "path: /p?color=blue%7Cb%20c\n"},
		{"in: query, style: pipeDelimited, " + object, "path: /p?color=R%7C100%7CG%7Ca%20b\n"},
		{"in: query, style: pipeDelimited, explode: true, " + array, "path: /p?color=blue&color=b%20c\n"},
		{"in: query, style: deepObject, " + object, "path: /p?color%5BR%5D=100&color%5BG%5D=a%20b\n"},
		{"in: query, content: {application/json: {" + object + "}}", "path: /p?color=%7B%22R%22%3A100%2C%22G%22%3A%22a%20b%22%7D\n"},
		{"in: query, content: {text/plain: {example: b c}}", "path: /p?color=b%20c\n"},
		{"in: query, content: {application/json: {example: b c}}", "path: /p?color=%22b%20c%22\n"},
		{"in: header, " + array, "value: 'blue,b c'\n"},
		{"in: header, " + object, "value: 'R,100,G,a b'\n"},
		{"in: header, explode: true, " + array, "value: 'blue,b c'\n"},
		{"in: header, explode: true, " + object, "value: 'R=100,G=a b'\n"},
		{"in: header, content: {application/json: {" + object + "}}", `value: '{"R":100,"G":"a b"}'` + "\n"},
		{"in: header, content: {text/plain: {example: blue}}", "value: blue\n"},
		{"in: cookie, content: {text/plain: {example: blue}}", "value: color=blue\n"},
		{"in: cookie, example: blue", "value: color=blue\n"},
		{"in: cookie, explode: false, " + array, "value: 'color=blue,b c'\n"},
		{"in: cookie, " + array, "value: 'color=blue; color=b c'\n"},
		{"in: cookie, " + object, "value: 'R=100; G=a b'\n"},
		{"in: cookie, content: {application/json: {" + object + "}}", `value: 'color={"R":100,"G":"a b"}'` + "\n"},
	} {
		out, _ := with(Options{Target: "http://a"}).Convert(t, fmt.Sprintf("openapi: 3.0.3\npaths: {/p: {get: {parameters: [{name: color, required: true, %s}]}}}", tc.parameter))
		if !strings.Contains(out, tc.want) {
			t.Errorf("%s: no %q in\n%s", tc.parameter, tc.want, out)
		}
	}
}

func TestPathStyles(t *testing.T) {
	for parameter, want := range map[string]string{
		"example: [blue, 'b c']": "value: blue,b%20c\n", "example: {R: 100}": "value: R,100\n", "explode: true, example: {R: 100}": "value: R=100\n",
		"content: {text/plain: {example: b c}}": "value: b%20c\n",
	} {
		out, _ := with(Options{Target: "http://a"}).Convert(t, fmt.Sprintf("openapi: 3.0.3\npaths: {'/{p}': {get: {parameters: [{name: p, in: path, required: true, %s}]}}}", parameter))
		if !strings.Contains(out, want) {
			t.Errorf("%s: no %q in\n%s", parameter, want, out)
		}
	}
}

// TestForms: arrays have the name for each item unless the encoding says otherwise. A contentType has no effect beside
// style, explode and allowReserved.
func TestForms(t *testing.T) {
	const example = "example: {a: [1, 'b c'], o: {x: [1]}, n: x}"
	for encoding, want := range map[string]string{
		"":                          "body: a=1&a=b+c&o=%7B%22x%22%3A%5B1%5D%7D&n=x\n",
		"a: {explode: false}":       "body: a=1,b+c&o=",
		"a: {style: pipeDelimited}": "body: a=1%7Cb+c&o=",
		"o: {style: deepObject}":    "&o%5Bx%5D=%5B1%5D&n=x\n",
		"a: {contentType: application/json}, n: {contentType: application/json}": "body: a=%5B1%2C%22b+c%22%5D&o=%7B%22x%22%3A%5B1%5D%7D&n=%22x%22\n",
		"a: {contentType: application/json, allowReserved: false}":               "body: a=1&a=b+c&o=",
		"o: {explode: true}": "&x=%5B1%5D&n=x\n",
	} {
		out, _ := with(Options{Target: "http://a"}).Convert(t, fmt.Sprintf("openapi: 3.0.3\npaths: {/p: {post: {requestBody: {content: {application/x-www-form-urlencoded: {%s, encoding: {%s}}}}}}}", example, encoding))
		if !strings.Contains(out, want) {
			t.Errorf("%s: no %q in\n%s", encoding, want, out)
		}
	}
}
