package book

import (
	"math/rand/v2"
	"testing"
)

// TestSlab against a set: the lowest free index is used first, and each sees what is in use.
func TestSlab(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s slab
	model := map[ID]bool{}
	for i := range 200_000 {
		if most := 9000; i%50_000 < 25_000 && len(model) < most || len(model) == 0 {
			tok := s.alloc()
			if model[tok] || int(tok) > len(model) {
				t.Fatalf("token %d with %d in use", tok, len(model))
			}
			for lower := tok - 1; lower >= 0 && lower > tok-3; lower-- {
				if !model[lower] {
					t.Fatalf("token %d though %d is free", tok, lower)
				}
			}
			model[tok] = true
			s.all[tok].Stream = uint32(tok) + 1
			continue
		}
		for tok := range model {
			s.release(tok)
			delete(model, tok)
			break
		}
		if r.IntN(100) == 0 {
			s.shrink()
		}
	}
	for tok := range model {
		if stream := s.all[tok].Stream; stream != uint32(tok)+1 {
			t.Errorf("request %d has stream %d", tok, stream)
		}
	}
	if n := s.ids.Len(); n != len(model) {
		t.Errorf("%d in use, want %d", n, len(model))
	}
}

// TestSlabShrinks after a burst, although some of its requests last.
func TestSlabShrinks(t *testing.T) {
	var s slab
	for range 100_000 {
		s.alloc()
	}
	for i := range ID(100_000) {
		if i != 5 && i != 70 {
			s.release(i)
		}
	}
	s.shrink()
	if cap(s.all) > smallSlab || s.ids.End() > 128 || s.ids.Len() != 2 {
		t.Errorf("%d records after a burst, the last in use is below %d, %d in use", cap(s.all), s.ids.End(), s.ids.Len())
	}
	if tok := s.alloc(); tok != 0 {
		t.Errorf("token %d, want 0", tok)
	}
}

// TestFreeExchangesAreGivenBack: those that were not used since the last look go, the others stay.
func TestFreeExchangesAreGivenBack(t *testing.T) {
	s := NewExchanges(1<<20, 1<<20)
	use := func(n int) {
		var all []*Exchange
		for range n {
			x := s.Alloc(1 << 20)
			s.Data(x, make([]byte, 1000))
			all = append(all, x)
		}
		for _, x := range all {
			s.Release(x)
		}
	}
	use(100)
	s.Shrink()
	use(3)
	s.Shrink()
	if len(s.free) != 3 {
		t.Errorf("%d exchanges are kept after a burst of 100, want the 3 that are used", len(s.free))
	}
	use(3)
	s.Shrink()
	if len(s.free) != 3 {
		t.Errorf("%d exchanges are kept, want 3", len(s.free))
	}
}
