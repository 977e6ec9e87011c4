package terminal

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadKeys(t *testing.T) {
	broken := errors.New("broken")
	for _, tc := range []struct {
		name string
		in   io.Reader
		want string
	}{
		{"one by one", iotest.OneByteReader(strings.NewReader("+-p?q")), "+-p?q"},
		{"at once", strings.NewReader("++q"), "++q"},
		{"arrow keys are ignored", io.MultiReader(strings.NewReader("\x1bOp"), strings.NewReader("\x1b[A"), strings.NewReader("q")), "q"},
		{"more than are kept", strings.NewReader(strings.Repeat("+", 60)), strings.Repeat("+", keysAhead)},
		{"reading continues after an error", io.MultiReader(strings.NewReader("+"), iotest.ErrReader(broken)), "+"},
	} {
		keys, tries := make(chan byte, keysAhead), 0
		readKeys(tc.in, keys, func() bool { tries++; return tries < 3 })
		close(keys)
		var got []byte
		for key := range keys {
			got = append(got, key)
		}
		if string(got) != tc.want || tries != 3 {
			t.Errorf("%s: %q after %d tries, want %q", tc.name, got, tries, tc.want)
		}
	}
}
