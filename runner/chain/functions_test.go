package chain

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

var hard = []string{
	"", "a", "plain-Text_1.~", "a b&c=d/é?", "\"\\\b\f\n\r\t\x00\x1f\x7f", "日本 \U0001F600", "\xff\xfe", strings.Repeat("long ", 300), "<&>\u2028",
}

// oracles are the functions as the standard library has them.
var oracles = map[rv.FunctionName]func(string) string{
	rv.FunctionURLEncode: func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") },
	rv.FunctionBase64:    func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	rv.FunctionBase64URL: func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	rv.FunctionUpper: func(s string) string {
		return strings.Map(func(r rune) rune { return asciiCase(r, 'a', 'z', -32) }, s)
	},
	rv.FunctionLower: func(s string) string {
		return strings.Map(func(r rune) rune { return asciiCase(r, 'A', 'Z', 32) }, s)
	},
	rv.FunctionSHA256: func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return hex.EncodeToString(sum[:])
	},
}

func asciiCase(r, from, to, shift rune) rune {
	if r >= from && r <= to {
		return r + shift
	}
	return r
}

// applied renders a value through functions, from a capture, so that nothing is folded.
func applied(t *testing.T, value, key string, functions ...rv.Function) string {
	t.Helper()
	p := lifeCycle()
	c := &p.Chains[0]
	c.Captures = []string{"session", "key"}
	c.Steps[1].Body = rv.Text{{Literal: "<"}, {Capture: 1, Functions: functions}, {Literal: ">"}}
	g := program(t, p)
	var in Instance
	in.Start(g, 0, sources(g), 0)
	in.Capture(0, []byte(value))
	in.Capture(1, []byte(key))
	got := string(g.Steps[1].AppendBody([]byte("before"), &in))
	got, ok := strings.CutPrefix(got, "before<")
	got, closed := strings.CutSuffix(got, ">")
	if !ok || !closed {
		t.Fatalf("the text around a function is gone: %q", got)
	}
	return got
}

func TestFunctions(t *testing.T) {
	for name, oracle := range oracles {
		for _, s := range hard {
			if !utf8.ValidString(s) && (name == rv.FunctionUpper || name == rv.FunctionLower) {
				continue // the oracle is of runes
			}
			if got, want := applied(t, s, "", rv.Function{Name: name}), oracle(s); got != want {
				t.Errorf("%s(%q) = %q, want %q", name, s, got, want)
			}
		}
	}
}

func TestJSONEscape(t *testing.T) {
	for _, s := range hard {
		got := applied(t, s, "", rv.Function{Name: rv.FunctionJSONEscape})
		var back string
		want := string([]rune(s)) // each octet that is not UTF-8 becomes U+FFFD
		if err := json.Unmarshal([]byte(`"`+got+`"`), &back); err != nil || back != want {
			t.Errorf("%q becomes %q, which is read as %q, %v", s, got, back, err)
		}
	}
}

func TestHMAC(t *testing.T) {
	for _, key := range append(hard, strings.Repeat("k", 64), strings.Repeat("k", 65)) {
		for _, s := range hard {
			h := hmac.New(sha256.New, []byte(key))
			h.Write([]byte(s))
			want := hex.EncodeToString(h.Sum(nil))
			if got := applied(t, s, key, rv.Function{Name: rv.FunctionHMACSHA256, Key: &rv.Part{Capture: 2}}); got != want {
				t.Errorf("%q with the key %q: %s, want %s", s, key, got, want)
			}
		}
	}
}

func TestPad(t *testing.T) {
	for _, tt := range []struct {
		value string
		width int
		fill  string
		want  string
	}{
		{"7", 3, "0", "007"}, {"1234", 3, "0", "1234"}, {"", 2, " ", "  "}, {"é", 3, "x", "xxé"}, {"a", 2, "é", "éa"},
	} {
		if got := applied(t, tt.value, "", rv.Function{Name: rv.FunctionPad, Width: tt.width, Fill: tt.fill}); got != tt.want {
			t.Errorf("pad(%q, %d, %s) = %q, want %q", tt.value, tt.width, tt.fill, got, tt.want)
		}
	}
}

// TestFunctionsInOrder: the first one is applied first, to a variable and to a constant alike.
func TestFunctionsInOrder(t *testing.T) {
	functions := []rv.Function{{Name: rv.FunctionUpper}, {Name: rv.FunctionBase64}, {Name: rv.FunctionURLEncode}}
	want := url.QueryEscape(base64.StdEncoding.EncodeToString([]byte("ABC~")))
	if got := applied(t, "abc~", "", functions...); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	g := program(t, drawPlan(rv.Text{{Variable: 1, Functions: functions}}, rv.Variable{Name: "c", Constant: &rv.Content{Text: "abc~"}}))
	if got := g.Steps[0].body; !got.constant() || got.literal() != want {
		t.Errorf("a constant is not folded: %+v, want %q", got, want)
	}
	key := rv.Function{Name: rv.FunctionHMACSHA256, Key: &rv.Part{Variable: 2}}
	p := drawPlan(rv.Text{{Variable: 1, Functions: []rv.Function{key}}}, rv.Variable{Name: "c", Constant: &rv.Content{Text: "abc"}}, rv.Variable{Name: "k", List: []string{"k1", "k2"}})
	g = program(t, p)
	src := sources(g)
	for i, k := range []string{"k1", "k2"} {
		h := hmac.New(sha256.New, []byte(k))
		h.Write([]byte("abc"))
		if got, want := bodies(g, src, 0, 1)[0], hex.EncodeToString(h.Sum(nil)); got != want {
			t.Errorf("instance %d: %s, want %s", i, got, want)
		}
	}
}
