package h1

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/h2surge/h2surge/runner/protocol"
)

// TestStableBodies: whatever the socket takes at a time, heads and bodies follow one another, and a large
// stable body is sent from where it is.
func TestStableBodies(t *testing.T) {
	large := bytes.Repeat([]byte("l"), 3*largestCopy)
	for _, size := range []int{1, 7, largestCopy, 1 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			v := converse(t, Config{Pipeline: 4})
			var want, got []byte
			for i, body := range [][]byte{large, []byte("small"), large, large} {
				head := fmt.Sprintf("PUT /%d HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n", i, len(body))
				want = append(append(want, head...), body...)
				v.Open(append(v.Begin(), head...), uint32(i), body, protocol.StableBody)
				if i == 0 {
					if n := cap(v.out.Buf); n > largestCopy {
						t.Errorf("a buffer of %d octets for a stable body", n)
					}
					got = append(got, v.take1(size)...)
				}
			}
			for len(v.Pending()) > 0 {
				got = append(got, v.take1(size)...)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%d octets were sent, want %d", len(got), len(want))
			}
			if v.out.total != uint64(len(want)) || len(v.out.tail) > 0 {
				t.Errorf("%d octets counted, want %d", v.out.total, len(want))
			}
		})
	}
}

// take1 takes up to n octets of what is pending.
func (c *conversation) take1(n int) []byte {
	p := bytes.Clone(c.Pending()[:min(n, len(c.Pending()))])
	c.Wrote(len(p))
	return p
}

// TestTruncateWithATail cuts what is to be sent at each place.
func TestTruncateWithATail(t *testing.T) {
	for at := 3; at <= 10; at++ {
		o := outBuffer{Out: protocol.Out{Buf: []byte("abcdef")}, tail: []byte("ghij")}
		o.wrote(3)
		o.truncate(uint64(at))
		var got []byte
		for len(o.pending()) > 0 {
			got = append(got, o.pending()...)
			o.wrote(len(o.pending()))
		}
		if want := "abcdefghij"[3:at]; string(got) != want || o.end() != uint64(at) {
			t.Errorf("cut at %d: %q, want %q; the end is %d", at, got, want, o.end())
		}
	}
}
