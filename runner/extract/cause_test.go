package extract

import (
	"strings"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestCause(t *testing.T) {
	long := strings.Repeat("x", rv.MaxCauseLength)
	for _, tc := range []struct{ name, body, want string }{
		{"cause", `{"status":403,"cause":"REQUESTED_SERVICE_NOT_AUTHORIZED"}`, "REQUESTED_SERVICE_NOT_AUTHORIZED"},
		{"cause before type", `{"type":"/a","cause":"B"}`, "B"},
		{"type", `{"type":"https://example.com/out-of-credit"}`, "https://example.com/out-of-credit"},
		{"empty cause", `{"type":"/a","cause":""}`, "/a"},
		{"cause is no string", `{"type":"/a","cause":{"b":1}}`, "/a"},
		{"about:blank", `{"type":"about:blank","title":"Not Found"}`, none},
		{"neither", `{"title":"Not Found","status":404}`, none},
		{"not an object", `["cause"]`, none},
		{"not JSON", `{"cause":"B"`, none},
		{"no body", ``, none},
		{"escapes", `{"cause":"\u00c4\ud83d\ude00"}`, "Ä😀"},
		{"control characters", `{"cause":"a\nb\u0000c\u001b[31m\u0085\u202e"}`, "a�b�c�[31m��"},
		{"not UTF-8", "{\"cause\":\"a\xff\"}", "a�"},
		{"long", `{"cause":"` + long + `y"}`, long},
		{"long, cut before a character", `{"cause":"` + long[1:] + `é"}`, long[1:]},
		{"long with escapes", `{"cause":"\u0078` + long[1:] + `\u0079"}`, long},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dst := append(make([]byte, 0, 256), "kept"...)
			got := none
			if cause, ok := Cause(dst, []byte(tc.body)); ok {
				got = string(cause)
			}
			if got != tc.want || string(dst) != "kept" {
				t.Errorf("%q, want %q; dst is %q", got, tc.want, dst)
			}
		})
	}
}
