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
		{"cause of an error", `{"error":{"type":"/a","cause":"N1_SM_ERROR"},"n1SmMsg":{"contentId":"n1"}}`, "N1_SM_ERROR"},
		{"cause before error", `{"error":{"cause":"A"},"cause":"B"}`, "B"},
		{"error is no object", `{"error":"A"}`, none},
		{"cause in a part", "--b\r\nContent-Type: application/json\r\n\r\n{\"error\":{\"cause\":\"N1_SM_ERROR\"}}\r\n--b\r\n\r\n\x2e\r\n--b--", "N1_SM_ERROR"},
		{"a part that is cut", "--b\r\n\r\n{\"cause\":\"A\"}", none},
		{"type", `{"type":"https://example.com/out-of-credit"}`, "https://example.com/out-of-credit"},
		{"empty cause", `{"type":"/a","cause":""}`, "/a"},
		{"cause is no string", `{"type":"/a","cause":{"b":1}}`, "/a"},
		{"about:blank", `{"type":"about:blank","title":"Not Found"}`, "Not Found"},
		{"title", `{"title":"Not Found","status":404}`, "Not Found"},
		{"title of an error", `{"error":{"title":"Forbidden","status":403}}`, "Forbidden"},
		{"type before title", `{"title":"Not Found","type":"/a"}`, "/a"},
		{"status", `{"type":"about:blank","title":"","status":503,"detail":"imsi-1"}`, "status 503"},
		{"status of an error", `{"error":{"status":504}}`, "status 504"},
		{"status is not a code", `{"status":20000}`, none},
		{"status is not a number", `{"status":"bad"}`, none},
		{"detail only", `{"detail":"imsi-001010000000001 is unknown"}`, none},
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
