package flow

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSleepers(t *testing.T) {
	var h sleepers
	for _, at := range []int64{5, 3, 9, 1, 7, 3, 8, 2} {
		h.push(sleeper{at: at})
	}
	var got []int64
	for len(h) > 0 {
		if h.next() != h[0].at {
			t.Fatal("next is not the first")
		}
		got = append(got, h.pop().at)
	}
	if diff := cmp.Diff([]int64{1, 2, 3, 3, 5, 7, 8, 9}, got); diff != "" {
		t.Error(diff)
	}
}
