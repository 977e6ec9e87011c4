package tune

import (
	"runtime"
	"testing"
)

func TestChoose(t *testing.T) {
	for _, tc := range []struct {
		name   string
		memory int64
		env    map[string]string
		want   Settings
	}{
		{name: "no limit", want: Settings{GCPercent: 400}},
		{name: "limit", memory: 1000, want: Settings{GCPercent: 400, MemoryLimit: 900}},
		{name: "a limit near the greatest", memory: 1 << 59, want: Settings{GCPercent: 400, MemoryLimit: 1 << 59 / 100 * 90}},
		{name: "the environment wins", memory: 1000, env: map[string]string{"GOGC": "50", "GOMEMLIMIT": "1GiB"}},
	} {
		got := choose(tc.memory, func(name string) string { return tc.env[name] })
		if got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

func TestWorkers(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	t.Setenv("GOMAXPROCS", "8")
	if got := Workers(4); got != 0 || runtime.GOMAXPROCS(0) != before {
		t.Errorf("GOMAXPROCS is in the environment: %d, and %d Ps instead of %d", got, runtime.GOMAXPROCS(0), before)
	}
	t.Setenv("GOMAXPROCS", "")
	if got := Workers(4); got != 5 || runtime.GOMAXPROCS(0) != 5 {
		t.Errorf("4 workers: %d, and %d Ps, want 5", got, runtime.GOMAXPROCS(0))
	}
}
