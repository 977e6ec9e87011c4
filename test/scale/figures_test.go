package main

import (
	"strings"
	"testing"
)

func TestSum(t *testing.T) {
	families, err := parse(strings.NewReader("# TYPE a counter\na{x=\"1\",y=\"1\"} 2\na{x=\"1\",y=\"2\"} 3\na{x=\"2\"} 5\n# TYPE b gauge\nb 7\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		with map[string]string
		want float64
	}{
		{"a", nil, 10},
		{"a", map[string]string{"x": "1"}, 5},
		{"a", map[string]string{"x": "1", "y": "2"}, 3},
		{"b", nil, 7},
		{"none", nil, 0},
	} {
		if got := sum(families, tc.name, tc.with); got != tc.want {
			t.Errorf("sum of %s with %v is %v, want %v", tc.name, tc.with, got, tc.want)
		}
	}
}

func TestCheck(t *testing.T) {
	f := &Figures{MillicoresPerShard: 0.2, KiBPerShard: 64, StatusWrites: 10, EtcdBytes: 200_000, StatusAge: 6}
	if err := f.check(); err != nil {
		t.Errorf("figures at their marks: %v", err)
	}
	f.KiBPerShard, f.StatusAge = 65, 6.5
	err := f.check()
	if want := "resident memory, KiB a shard: 65.00; allowed: 64\nage of status, seconds, at most: 6.50; allowed: 6"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if table := f.table(); !strings.Contains(table, "65.00") {
		t.Errorf("the table lacks a figure:\n%s", table)
	}
}
