package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestListed(t *testing.T) {
	for list, want := range map[string][]int{
		"": nil, "0": {0}, "0,3-5": {0, 3, 4, 5}, "2-3,7": {2, 3, 7}, "x,1-y,4": {4},
	} {
		var got []int
		for i := range 10 {
			if listed(list, i) {
				got = append(got, i)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", list, diff)
		}
	}
}
