package mock

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSeconds(t *testing.T) {
	begin := time.Unix(1000, 0)
	type event struct {
		second int64
		n      uint64
	}
	tail := func(last ...uint64) []uint64 { return append(make([]uint64, maxSeconds-len(last)), last...) }
	for _, c := range []struct {
		name   string
		events []event
		want   []uint64
		start  int64
	}{
		{"none", nil, []uint64{}, 0},
		{"one", []event{{5, 2}}, []uint64{2}, 1005},
		{"a gap", []event{{5, 2}, {5, 1}, {8, 4}}, []uint64{3, 0, 0, 4}, 1005},
		{"full", []event{{0, 1}, {maxSeconds - 1, 2}}, append([]uint64{1}, tail(2)[1:]...), 1000},
		{"the oldest leaves", []event{{0, 1}, {maxSeconds, 2}}, tail(2), 1001},
		{"a long silence", []event{{0, 1}, {1, 1}, {10 * maxSeconds, 2}}, tail(2), 1001 + 9*maxSeconds},
		{"a silence of twice the bound", []event{{0, 1}, {2*maxSeconds + 1, 2}}, tail(2), 1002 + maxSeconds},
	} {
		var s seconds
		for _, e := range c.events {
			s.add(e.second*int64(time.Second)+7, e.n)
		}
		got, start := s.list(begin)
		if diff := cmp.Diff(c.want, got); diff != "" || start != c.start {
			t.Errorf("%s: start %d, want %d; counts (-want +got):\n%s", c.name, start, c.start, diff)
		}
	}
}
