package cli

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/internal/cli/terminal"
)

// The keys of a terminal go through the whole command.
func TestKeysOfARun(t *testing.T) {
	e := newFakeEngine(answered(10, 0, 1000))
	e.lasting, e.keys = true, make(chan byte, 3)
	go func() {
		<-e.started
		for _, key := range []byte("+pq") {
			e.keys <- key
		}
	}()
	got := h2surge(t, e, nil, "run", "-f", "-")
	if want := terminal.KeysHint + "\nrate 110/s\npaused\n"; got.code != 4 || got.errors != want {
		t.Errorf("exit code %d, %q, want %q", got.code, got.errors, want)
	}
	if len(e.updates) != 3 || len(e.stops) != 1 || !e.stops[0].Drain {
		t.Errorf("updates %+v, stops %+v", e.updates, e.stops)
	}
}

func TestQuietHasNoKeys(t *testing.T) {
	e := newFakeEngine(answered(10, 0, 1000))
	e.keys = make(chan byte, 3)
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
		if keys, restore := terminal.Keyboard(in, null); keys != nil {
			restore()
			t.Errorf("%T has keys", in)
		}
	}
}
