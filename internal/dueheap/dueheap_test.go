package dueheap

import (
	"math"
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
	for i, due := range h.All() {
		if due != want[i] {
			t.Fatalf("value %d is due at %d, want %d", i, due, want[i])
		}
	}
	var got []int64
	for h.Len() > 0 {
		due := h.Next()
		if i, at := h.First(); at != due || due != want[i] {
			t.Fatalf("value %d is due at %d, want %d", i, at, want[i])
		}
		if _, ok := h.Take(due - 1); ok {
			t.Fatal("took a value before it was due")
		}
		i, ok := h.Take(due)
		if !ok || due != want[i] {
			t.Fatalf("took value %d at %d, want %d", i, due, want[i])
		}
		got = append(got, due)
	}
	if _, ok := h.Take(math.MaxInt64); ok || h.Next() != math.MaxInt64 {
		t.Error("an empty heap has a value")
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Error("not in order")
	}
}
