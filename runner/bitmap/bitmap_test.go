package bitmap

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/h2surge/h2surge/runner/cacheline"
)

// TestSet against a map: the lowest free index is taken, and memory is given back behind the last in use.
func TestSet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s, model := New(), map[int]bool{}
	lowest := 0
	for i := range 100_000 {
		if i%25_000 < 12_500 && len(model) < 9000 || len(model) == 0 {
			for ; model[lowest]; lowest++ {
			}
			if got := s.Take(); got != lowest {
				t.Fatalf("index %d, want %d", got, lowest)
			}
			model[lowest] = true
			continue
		}
		for k := range model {
			s.Release(k)
			delete(model, k)
			lowest = min(lowest, k)
			break
		}
		if r.IntN(100) == 0 {
			s.Trim()
		}
	}
	end := 0
	for k := range model {
		end = max(end, k+1)
	}
	if s.Len() != len(model) || s.End() != (end+63)/64*64 {
		t.Errorf("%d in use before %d, want %d before %d", s.Len(), s.End(), len(model), end)
	}
	for k := range s.End() {
		if s.Has(k) != model[k] {
			t.Errorf("%d is in use: %v, want %v", k, s.Has(k), model[k])
		}
	}
}

func TestSetsShareNoCacheLine(t *testing.T) {
	s := New()
	for range 5000 {
		s.Take()
	}
	for name, size := range map[string]uintptr{
		"used": uintptr(cap(s.used)) * unsafe.Sizeof(s.used[0]), "full": uintptr(cap(s.full)) * unsafe.Sizeof(s.full[0]),
	} {
		if !cacheline.Alone(size) {
			t.Errorf("%s has %d bytes, which are not whole cache lines", name, size)
		}
	}
}
