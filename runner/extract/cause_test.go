package extract

import (
	"strings"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/message"
)

func problem(contentType, body string) *message.Message {
	return &message.Message{
		Status: 403, Body: []byte(body),
		Fields: []message.Field{{Name: []byte("content-type"), Value: []byte(contentType)}},
	}
}

func TestCause(t *testing.T) {
	const json = "application/problem+json"
	long := strings.Repeat("x", rv.MaxCauseLength)
	for _, tc := range []struct{ name, contentType, body, want string }{
		{"cause", json, `{"status":403,"cause":"REQUESTED_SERVICE_NOT_AUTHORIZED"}`, "REQUESTED_SERVICE_NOT_AUTHORIZED"},
		{"cause before type", json, `{"type":"/a","cause":"B"}`, "B"},
		{"parameters and case", "Application/Problem+JSON ; charset=utf-8", `{"cause":"B"}`, "B"},
		{"type", json, `{"type":"https://example.com/out-of-credit"}`, "https://example.com/out-of-credit"},
		{"empty cause", json, `{"type":"/a","cause":""}`, "/a"},
		{"cause is no string", json, `{"type":"/a","cause":{"b":1}}`, "/a"},
		{"about:blank", json, `{"type":"about:blank","title":"Not Found"}`, none},
		{"neither", json, `{"title":"Not Found","status":404}`, none},
		{"not an object", json, `["cause"]`, none},
		{"not JSON", json, `{"cause":"B"`, none},
		{"no body", json, ``, none},
		{"other content", "application/json", `{"cause":"B"}`, none},
		{"other content that begins the same", "application/problem+jsonp", `{"cause":"B"}`, none},
		{"escapes", json, `{"cause":"\u00c4\ud83d\ude00"}`, "Ä😀"},
		{"control characters", json, `{"cause":"a\nb\u0000c\u001b[31m\u0085\u202e"}`, "a�b�c�[31m��"},
		{"not UTF-8", json, "{\"cause\":\"a\xff\"}", "a�"},
		{"long", json, `{"cause":"` + long + `y"}`, long},
		{"long, cut before a character", json, `{"cause":"` + long[1:] + `é"}`, long[1:]},
		{"long with escapes", json, `{"cause":"\u0078` + long[1:] + `\u0079"}`, long},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dst := append(make([]byte, 0, 256), "kept"...)
			got := none
			if cause, ok := Cause(dst, problem(tc.contentType, tc.body)); ok {
				got = string(cause)
			}
			if got != tc.want || string(dst) != "kept" {
				t.Errorf("%q, want %q; dst is %q", got, tc.want, dst)
			}
		})
	}
	if cause, ok := Cause(nil, &message.Message{Body: []byte(`{"cause":"B"}`)}); ok {
		t.Errorf("without a content-type: %q", cause)
	}
}
