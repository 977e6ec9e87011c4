package mock

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestIDs(t *testing.T) {
	for _, serial := range []uint64{0, 1, 255, 1<<32 + 5, 1<<40 - 1} {
		id := string(appendID(nil, serial))
		if len(id) != idLen {
			t.Errorf("id of %d is %q", serial, id)
		}
		if got, ok := parseID([]byte("/a/b/" + id)); !ok || got != serial {
			t.Errorf("parseID(%q) = %d, %v, want %d", id, got, ok, serial)
		}
		last := "0"
		if strings.HasSuffix(id, "0") {
			last = "1"
		}
		for _, path := range []string{
			id, "/" + id + "/", "/" + id[1:], "/0" + id, "/" + strings.ToUpper(id) + "G", "/" + id[:15] + last,
			"/" + id[:15] + "g", "/x" + id, "/" + id + "/x",
		} {
			if got, ok := parseID([]byte(path)); ok {
				t.Errorf("parseID(%q) = %d, want none", path, got)
			}
		}
	}
}

// TestForeignIDs: last segments of the form of an id are not taken for one.
func TestForeignIDs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 100000 {
		path := []byte("/")
		for range idLen {
			path = append(path, "0123456789abcdef"[r.IntN(16)])
		}
		if _, ok := parseID(path); ok {
			t.Errorf("%s is taken for an id", path)
		}
	}
}

func TestStoreAgainstMap(t *testing.T) {
	s := newStore()
	r := rand.New(rand.NewPCG(1, 2))
	var serials []uint64
	live := map[uint64]bool{}
	for range 100000 {
		switch r.IntN(3) {
		case 0, 1:
			serial, ok := s.create()
			if !ok || live[serial] {
				t.Fatalf("create = %d, %v", serial, ok)
			}
			live[serial] = true
			serials = append(serials, serial)
		default:
			serial := s.first + r.Uint64N(s.next+1)
			if got := s.exists(serial); got != live[serial] {
				t.Fatalf("exists(%d) = %v", serial, got)
			}
			if got := s.remove(serial); got != live[serial] {
				t.Fatalf("remove(%d) = %v", serial, got)
			}
			delete(live, serial)
		}
	}
	for _, serial := range serials {
		if s.exists(serial) != live[serial] {
			t.Fatalf("exists(%d) = %v", serial, !live[serial])
		}
	}
	if s.live != uint64(len(live)) {
		t.Errorf("%d live, want %d", s.live, len(live))
	}
	for _, serial := range []uint64{s.first - 1, s.first + s.next, 0, 1 << 39} {
		if s.exists(serial) || s.remove(serial) {
			t.Errorf("%d was never created", serial)
		}
	}
}

// TestStoreForgets: memory follows what lives, not what was ever created.
func TestStoreForgets(t *testing.T) {
	s := newStore()
	var queue []uint64
	for range 20 * pageSize { // some 1000 live at a time
		serial, _ := s.create()
		queue = append(queue, serial)
		if len(queue) > 1000 {
			s.remove(queue[0])
			queue = queue[1:]
		}
	}
	if s.held > 2 {
		t.Errorf("%d pages are held for 1000 resources", s.held)
	}
	s = newStore()
	for range 20 * pageSize { // at most one, so pages end empty
		serial, _ := s.create()
		s.remove(serial)
	}
	if s.held > 1 {
		t.Errorf("%d pages are held for no resource", s.held)
	}
}

func TestStoreIsBounded(t *testing.T) {
	s := newStore()
	for range pageSize {
		s.create()
	}
	s.held = maxPages // as if so many were
	if _, ok := s.create(); ok {
		t.Error("a full store creates")
	}
	s.held = 1
	if _, ok := s.create(); !ok {
		t.Error("a store with room again does not create")
	}
}

func TestRunsDoNotShareIDs(t *testing.T) {
	a, b := newStore(), newStore()
	serial, _ := a.create()
	b.create()
	if b.exists(serial) {
		t.Error("a resource of one run exists in another")
	}
}

func TestBodySet(t *testing.T) {
	var s bodySet
	for i := range uint64(10000) {
		s.add(i)
		if i%10 == 0 {
			s.add(i)
		}
	}
	// 0 stands for a free slot, so it is counted as 1: that is one of the repeated.
	if s.distinct != 9999 || s.repeated != 1001 || s.untracked != 0 {
		t.Errorf("distinct %d, repeated %d, untracked %d", s.distinct, s.repeated, s.untracked)
	}
	s.distinct = maxBodies
	s.add(77)
	s.add(1 << 40)
	if s.distinct != maxBodies || s.repeated != 1002 || s.untracked != 1 {
		t.Errorf("full: distinct %d, repeated %d, untracked %d", s.distinct, s.repeated, s.untracked)
	}
}

func TestHashInPieces(t *testing.T) {
	whole := hashBytes(hashBasis, []byte("abcdef"))
	if got := hashBytes(hashBytes(hashBasis, []byte("ab")), []byte("cdef")); got != whole {
		t.Errorf("in pieces %x, whole %x", got, whole)
	}
	if hashBytes(hashBasis, []byte("abcdeg")) == whole {
		t.Error("other octets, same hash")
	}
}
