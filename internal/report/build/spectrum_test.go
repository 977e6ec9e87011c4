package build

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestWindowsMemory: a window takes at most 5 bytes for each distinct response time and lag in it.
func TestWindowsMemory(t *testing.T) {
	const seconds, perSecond = 20, 2000
	w, s, r := NewWindows(windowPlan(), 1), newSimulated(0, 2), rand.New(rand.NewPCG(1, 2))
	want := 0
	for i := range seconds {
		distinct := map[int64]bool{}
		for range perSecond {
			us := 1000 + r.Int64N(100_000)
			distinct[us] = true
			s.do(1, us)
		}
		want += 2 * 5 * len(distinct)
		feed(t, w, s.at(time.Duration(i+1)*time.Second))
	}
	if len(w.closed) != seconds {
		t.Fatalf("%d windows, want %d", len(w.closed), seconds)
	}
	got := 0
	for _, x := range w.closed {
		for _, d := range []spectrum{x.responseTime, x.lag} {
			got += cap(d)
		}
	}
	if got > want {
		t.Errorf("%d windows hold %d bytes, want at most %d", seconds, got, want)
	}
}

func TestJoined(t *testing.T) {
	const highest = int64(1)<<62 - 1
	for _, tc := range []struct {
		name       string
		a, b, want []bucket
	}{
		{name: "empty"},
		{name: "one is empty", b: []bucket{{0, 1}}, want: []bucket{{0, 1}}},
		{name: "one after the other", a: []bucket{{1, 2}, {3, 4}}, b: []bucket{{5, 6}, {7, 8}}, want: []bucket{{1, 2}, {3, 4}, {5, 6}, {7, 8}}},
		{name: "mixed", a: []bucket{{2, 1}, {300, 1}, {highest, 3}}, b: []bucket{{0, 7}, {300, highest - 1}}, want: []bucket{{0, 7}, {2, 1}, {300, highest}, {highest, 3}}},
		{name: "the same", a: []bucket{{70_000, 1}, {80_000, 1}}, b: []bucket{{70_000, 1}, {80_000, 1}}, want: []bucket{{70_000, 2}, {80_000, 2}}},
	} {
		a, b := packed(tc.a), packed(tc.b)
		for _, got := range []spectrum{joined(a, b), joined(b, a)} {
			if diff := cmp.Diff(tc.want, got.buckets(), compared); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.name, diff)
			}
		}
		if diff := cmp.Diff([][]bucket{tc.a, tc.b}, [][]bucket{a.buckets(), b.buckets()}, compared); diff != "" {
			t.Errorf("%s: changed (-want +got):\n%s", tc.name, diff)
		}
	}
}

var compared = cmp.AllowUnexported(bucket{})

func packed(all []bucket) spectrum {
	var p packer
	for _, b := range all {
		p.add(b)
	}
	return p.spectrum()
}

func (s spectrum) buckets() (out []bucket) {
	for c := s.first(); c.more; c.next() {
		out = append(out, c.bucket)
	}
	return out
}
