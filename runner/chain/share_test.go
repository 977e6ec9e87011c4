package chain

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestCursorSetSpans(t *testing.T) {
	type spans = []rv.Span
	for name, tt := range map[string]struct {
		before spans
		drawn  int
		after  spans
		out    int64
		fresh  bool
		want   []int64
	}{
		"more data after":             {spans{{From: 0, To: 4}}, 2, spans{{From: 0, To: 4}, {From: 8, To: 10}}, 9, false, []int64{2, 3, 8, 9, 0}},
		"less, within it":             {spans{{From: 0, To: 8}}, 2, spans{{From: 0, To: 4}}, 9, false, []int64{2, 3, 0}},
		"less, past it":               {spans{{From: 0, To: 8}}, 6, spans{{From: 0, To: 4}}, 1, false, []int64{1, 2}},
		"others":                      {spans{{From: 0, To: 8}}, 6, spans{{From: 20, To: 29}}, 8, false, []int64{28, 20}},
		"others, in parts":            {spans{{From: 0, To: 8}}, 6, spans{{From: 20, To: 22}, {From: 30, To: 34}}, 3, false, []int64{31, 32, 33, 20}},
		"others, all of them used":    {spans{{From: 0, To: 8}}, 6, spans{{From: 20, To: 22}, {From: 30, To: 34}}, 602, false, []int64{30, 31}},
		"the same":                    {spans{{From: 0, To: 8}}, 6, spans{{From: 0, To: 8}}, 3, false, []int64{6, 7, 0}},
		"the same, and nothing drawn": {spans{{From: 0, To: 8}}, 0, spans{{From: 0, To: 8}}, 3, true, []int64{3, 4}},
		"nothing leaves what it had":  {spans{{From: 0, To: 8}}, 6, nil, 3, false, []int64{6, 7, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCursor(tt.before)
			for range tt.drawn {
				c.pull()
			}
			c.setSpans(tt.after, tt.out, tt.fresh)
			var got []int64
			for range tt.want {
				got = append(got, c.pull())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}
