package cpu

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseList(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want []int
		bad  bool
	}{
		{in: "", want: nil},
		{in: "\n", want: nil},
		{in: "0\n", want: []int{0}},
		{in: "0-3", want: []int{0, 1, 2, 3}},
		{in: "0-1,4,6-7\n", want: []int{0, 1, 4, 6, 7}},
		{in: "5-5", want: []int{5}},
		{in: "3-1", bad: true},
		{in: "1,", bad: true},
		{in: "-1", bad: true},
		{in: "a", bad: true},
		{in: "0-", bad: true},
		{in: "8192", bad: true},
		{in: "0-99999999", bad: true},
		{in: "0-8191,0-8191", bad: true},
		{in: "0-10:2/4", bad: true},
	} {
		got, err := ParseList(tc.in)
		if (err != nil) != tc.bad {
			t.Errorf("ParseList(%q) error = %v, want an error: %v", tc.in, err, tc.bad)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" && !tc.bad {
			t.Errorf("ParseList(%q) (-want +got):\n%s", tc.in, diff)
		}
	}
}

func FuzzParseList(f *testing.F) {
	for _, s := range []string{"", "0", "0-3,8", "1-", "-", "0-8191,0-8191", "0-10:2/4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		list, err := ParseList(s)
		if err != nil {
			return
		}
		if len(list) > maxCPU {
			t.Fatalf("%d CPUs", len(list))
		}
		for _, n := range list {
			if n < 0 || n >= maxCPU {
				t.Fatalf("CPU %d", n)
			}
		}
	})
}
