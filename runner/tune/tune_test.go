package tune

import "testing"

func TestChoose(t *testing.T) {
	for _, tc := range []struct {
		name    string
		workers int
		memory  int64
		env     map[string]string
		want    Settings
	}{
		{name: "no limit", workers: 1, want: Settings{GCPercent: 400, MaxProcs: 2}},
		{name: "limit", workers: 4, memory: 1000, want: Settings{GCPercent: 400, MemoryLimit: 900, MaxProcs: 5}},
		{name: "a limit near the greatest", workers: 1, memory: 1 << 59, want: Settings{GCPercent: 400, MemoryLimit: 1 << 59 / 100 * 90, MaxProcs: 2}},
		{name: "the environment wins", workers: 1, memory: 1000, env: map[string]string{"GOGC": "50", "GOMEMLIMIT": "1GiB", "GOMAXPROCS": "8"}},
		{name: "no worker", want: Settings{GCPercent: 400}},
	} {
		got := choose(tc.workers, tc.memory, func(name string) string { return tc.env[name] })
		if got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}
