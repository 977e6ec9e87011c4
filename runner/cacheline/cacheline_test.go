package cacheline

import (
	"testing"
	"unsafe"
)

func TestMakeStartsOnALine(t *testing.T) {
	for n := range 200 {
		s := Make[int64](n)
		if at := uintptr(unsafe.Pointer(unsafe.SliceData(s))) % Size; at != 0 {
			t.Errorf("%d elements begin %d bytes after the begin of a line", n, at)
		}
		if size := uintptr(cap(s)) * 8; len(s) != n || !Alone(size) {
			t.Errorf("%d elements: length %d, %d bytes", n, len(s), size)
		}
	}
}

func TestMakeOfOddSizes(t *testing.T) {
	if s := Make[[328]byte](1); cap(s) != 2 {
		t.Errorf("capacity %d, want 2: one element of 328 bytes has a size class of 352", cap(s))
	}
	if s := Make[[48]byte](3); cap(s) != 4 {
		t.Errorf("capacity %d, want 4", cap(s))
	}
}
