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
	f := &Figures{Runs: 10, MillicoresPerShard: 0.2, KiBPerShard: 64, StatusWrites: 10, EtcdBytes: 200_000, StatusAge: 6}
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

func TestKept(t *testing.T) {
	f := &Figures{Kept: &Kept{Finished: 400, Foreign: 100, Restarts: 3, ObjectBytes: 900 << 10, ReportKiB: 4, ForeignKiB: 4}}
	if err := f.check(); err != nil {
		t.Errorf("figures at their marks: %v", err)
	}
	f.Kept.ForeignKiB = 4.5
	if err, want := f.check(), "heap, KiB a ConfigMap of a tenant: 4.50; allowed: 4"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	table := f.table()
	for _, want := range []string{"400 finished tests and 100 ConfigMaps of a tenant, 900 KiB each; 3 restarts\n", "4.50"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	if strings.Contains(table, "millicores") {
		t.Errorf("the table has figures of running tests, which were not measured:\n%s", table)
	}
	f.Kept.Foreign = 0
	if err := f.check(); err != nil {
		t.Errorf("a figure that was not measured: %v", err)
	}
}

func TestMemoryOf(t *testing.T) {
	got := memoryOf([]*sample{{live: 5 << 20, rss: 9 << 10, peak: 20 << 10}, {live: 4 << 20, rss: 7 << 10, peak: 10 << 10}, {live: 10 << 20, rss: 8 << 10, peak: 15 << 10}})
	if want := (Memory{Heap: 5, HeapSpread: 6, RSS: 8, RSSSpread: 2, Peak: 15}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := each(Memory{Heap: 7}, Memory{Heap: 5}, 2); got != 1024 {
		t.Errorf("each costs %v KiB, want 1024", got)
	}
}

func TestValidate(t *testing.T) {
	valid := options{runs: 10, shards: 2000, steps: 4, reportBytes: 900 << 10, restarts: 3}
	for name, tc := range map[string]struct {
		edit func(*options)
		want string
	}{
		"defaults":         {func(*options) {}, ""},
		"only kept":        {func(o *options) { o.runs, o.finished = 0, 400 }, ""},
		"nothing":          {func(o *options) { o.runs = 0 }, "runs: must be at least 1 without -finished and -foreign"},
		"too many shards":  {func(o *options) { o.runs = 1 }, "runs: 1 to 100; shards: runs to 10000, at most 256 a run; steps: 1 to 256"},
		"many thresholds":  {func(o *options) { o.thresholds = 65 }, "thresholds: at most 64; finished and foreign: at most 1000"},
		"report too small": {func(o *options) { o.reportBytes = 1 }, "report-bytes: 262144 to 1048576; restarts: 1 to 20"},
	} {
		o := valid
		tc.edit(&o)
		got := ""
		if err := o.validate(); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
