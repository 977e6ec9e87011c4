package dueheap

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var h Heap[int]
	var want []int64
	for i := range 1000 {
		want = append(want, rng.Int64N(300))
		h.Push(i, want[i])
	}
	var got []int64
	for h.Len() > 0 {
		i, due := h.First()
		if due != want[i] {
			t.Fatalf("value %d is due at %d, want %d", i, due, want[i])
		}
		got = append(got, due)
		h.Pop()
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Error("not in order")
	}
}
