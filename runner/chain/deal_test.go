package chain

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestCursorIsDealtOtherSpans(t *testing.T) {
	type spans = []rv.Span
	for name, tt := range map[string]struct {
		before spans
		drawn  int
		after  spans
		want   []int64
	}{
		"more behind":                {spans{{From: 0, To: 4}}, 2, spans{{From: 0, To: 4}, {From: 8, To: 10}}, []int64{2, 3, 8, 9, 0}},
		"more behind what is used":   {spans{{From: 0, To: 2}}, 3, spans{{From: 0, To: 2}, {From: 8, To: 10}}, []int64{8, 9, 0}},
		"less, within it":            {spans{{From: 0, To: 8}}, 2, spans{{From: 0, To: 4}}, []int64{2, 3, 0}},
		"less, past it":              {spans{{From: 0, To: 8}}, 6, spans{{From: 0, To: 4}}, []int64{0, 1}},
		"others":                     {spans{{From: 0, To: 8}}, 6, spans{{From: 20, To: 22}}, []int64{20, 21, 20}},
		"nothing leaves what it had": {spans{{From: 0, To: 8}}, 6, nil, []int64{6, 7, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCursor(tt.before)
			for range tt.drawn {
				c.pull()
			}
			c.deal(tt.after)
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
