package protocol

import "testing"

// TestOutShrinks after a burst, but not for a busy connection.
func TestOutShrinks(t *testing.T) {
	var o Out
	use := func(n int) { o.Buf = append(o.Buf, make([]byte, n)...); o.Took(n) }
	use(100000)
	for range outShrinkAfter - 1 {
		use(100)
	}
	if cap(o.Buf) < 100000 {
		t.Error("shrunk too early")
	}
	use(100000)
	for range outShrinkAfter {
		use(100)
	}
	if cap(o.Buf) > OutKept {
		t.Errorf("%d octets kept after a burst", cap(o.Buf))
	}
}
