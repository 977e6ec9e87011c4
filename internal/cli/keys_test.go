package cli

import (
	"errors"
	"io"
	"os"
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

// The keys of a terminal go through the whole command.
func TestKeysOfARun(t *testing.T) {
	e := newFakeEngine(answered(10, 0, 1000))
	e.lasting, e.keys = true, make(chan byte, keysAhead)
	go func() {
		<-e.started
		deliver(e.keys, []byte("+pq"))
	}()
	got := h2surge(t, e, nil, "run", "-f", "-")
	if want := keysHint + "\nrate 110/s\npaused\n"; got.code != 4 || got.errors != want {
		t.Errorf("exit code %d, %q, want %q", got.code, got.errors, want)
	}
	if len(e.updates) != 3 || len(e.stops) != 1 || !e.stops[0].Drain {
		t.Errorf("updates %+v, stops %+v", e.updates, e.stops)
	}
}

func TestQuietHasNoKeys(t *testing.T) {
	e := newFakeEngine(answered(10, 0, 1000))
	e.keys = make(chan byte, keysAhead)
	if got := h2surge(t, e, nil, "run", "-q", "-f", "-"); got.errors != "" {
		t.Errorf("%q", got.errors)
	}
}

func TestNoKeyboard(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, in := range []io.Reader{strings.NewReader("q"), null} {
		if keys, restore := Keyboard(in, null); keys != nil {
			restore()
			t.Errorf("%T has keys", in)
		}
	}
}
