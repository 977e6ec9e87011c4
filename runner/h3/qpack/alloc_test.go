//go:build !race

package qpack

import (
	"testing"

	"github.com/h2surge/h2surge/runner/h2/hpack"
)

// ignore is a Sink that does nothing.
type ignore struct{ n int }

func (i *ignore) Field([]byte, []byte, hpack.Class) { i.n++ }

func TestDecodeDoesNotAllocate(t *testing.T) {
	block := AppendIndexed([]byte(Prefix), 26)
	block = AppendLiteral(block, hpack.Without, 7, "date", "Mon, 21 Oct 2013 20:13:21 GMT")
	block = AppendLiteral(block, hpack.Without, 0, "x-long-name-for-a-field", "\x7f\x7f\x7f raw")
	var d Decoder
	sink := new(ignore)
	var sum hpack.Summary
	run := func() {
		if err := d.Decode(&sum, block, sink); err != nil || sum.Status != 200 {
			t.Fatal(sum, err)
		}
	}
	run()
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations a block, want 0", n)
	}
}
