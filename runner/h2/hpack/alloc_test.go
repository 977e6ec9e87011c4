//go:build !race

package hpack

import "testing"

// ignore is a Sink that does nothing.
type ignore struct{ n int }

func (i *ignore) Field([]byte, []byte, Class) { i.n++ }

// TestDecodeDoesNotAllocate at steady state, insertions and Huffman coding
// included.
func TestDecodeDoesNotAllocate(t *testing.T) {
	d := newDecoder(1 << 16)
	sink := new(ignore)
	b := AppendIndexed(nil, 8)
	b = AppendLiteral(b, Incremental, 33, "date", "Mon, 21 Oct 2013 20:13:21 GMT")
	b = AppendLiteral(b, Without, 46, "location", "/a/long/path/with/00000001")
	b = AppendLiteral(b, Incremental, 0, "x-long-name-for-a-field", "\x7f\x7f\x7f raw")
	b = AppendIndexed(b, 62)
	run := func() {
		if s, err := d.decode(b, sink); err != nil || s.Status != 200 {
			t.Fatal(s, err)
		}
	}
	for range 200 { // until the table is full
		run()
	}
	if n := testing.AllocsPerRun(1000, run); n != 0 {
		t.Errorf("%v allocations a block, want 0", n)
	}
}

func BenchmarkHuffman(b *testing.B) {
	src := AppendLiteral(nil, Without, 46, "location", "/npcf-policyauthorization/v1/app-sessions/0000000001")[4:]
	var dst []byte
	for b.Loop() {
		dst, _ = AppendHuffman(dst[:0], src)
	}
}
