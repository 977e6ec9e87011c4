package jsontext

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func TestAppendEscaped(t *testing.T) {
	for in, want := range map[string]string{
		"":                 "",
		"plain é😀":         "plain é😀",
		"0123456789\n\"ab": `0123456789\n\"ab`,
		`"\/`:              `\"\\/`,
		"\n\r\t\x00\x1f":   `\n\r\t\u0000\u001f`,
		"\xffa\xe2\x82":    "\ufffda\ufffd\ufffd",
		"\u2028 <&> \x7f":  "\u2028 <&> \x7f",
	} {
		if got := string(AppendEscaped([]byte("x"), []byte(in))); got != "x"+want {
			t.Errorf("%q: %s, want x%s", in, got, want)
		}
	}
}

// FuzzEscape checks that AppendEscaped and Text are inverse, and that encoding/json reads the same text.
func FuzzEscape(f *testing.F) {
	f.Add([]byte("a\"\\\n\x00é\xff\xf0\x9f\x98\x80"))
	f.Fuzz(func(t *testing.T, value []byte) {
		raw := append(AppendEscaped([]byte{'"'}, value), '"')
		var decoded string
		if err := json.Unmarshal(raw, &decoded); err != nil {
			t.Fatalf("%q: %s: %v", value, raw, err)
		}
		text := string(Text(nil, raw))
		if text != decoded || utf8.Valid(value) && text != string(value) {
			t.Errorf("%q: %s is %q, want %q", value, raw, text, decoded)
		}
	})
}
