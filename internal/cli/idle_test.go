package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestIdleFlags: the flags replace the fields of a manifest, and apply to the LoadTest of a URL.
func TestIdleFlags(t *testing.T) {
	const flags = "--idle-strategy Spin --sleep-interval 2ms"
	url := "http://127.0.0.1:80/"
	got := h2surge(t, nil, nil, append([]string{"run", "--dry-run", "--rps", "1", "-D", "1s", url}, strings.Fields(flags)...)...)
	manifest := filepath.Join(t.TempDir(), "loadtest.yaml")
	check := func(out, strategy, interval string) {
		t.Helper()
		for _, want := range []string{"idleStrategy: " + strategy + "\n", "sleepInterval: " + interval + "\n"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
	}
	check(got.out, "Spin", "2ms")
	if err := os.WriteFile(manifest, []byte(got.out), 0o600); err != nil {
		t.Fatal(err)
	}
	check(h2surge(t, nil, nil, "run", "--dry-run", manifest).out, "Spin", "2ms")
	check(h2surge(t, nil, nil, "run", "--dry-run", manifest, "--idle-strategy", "Sleep").out, "Sleep", "2ms")
	check(h2surge(t, nil, nil, "run", "--dry-run", manifest, "--sleep-interval", "100us").out, "Spin", "100us")
	for _, tt := range []struct{ flag, value, want string }{
		{"--idle-strategy", "spin", `--idle-strategy: "spin" is not an idle strategy; allowed: Auto, Spin, Sleep`},
		{"--sleep-interval", "9us", `--sleep-interval: "9us" is not a sleep interval; allowed: durations from 10us to 10ms`},
		{"--sleep-interval", "11ms", `--sleep-interval: "11ms" is not a sleep interval; allowed: durations from 10us to 10ms`},
		{"--sleep-interval", "1", `--sleep-interval: "1" is not a sleep interval; allowed: durations from 10us to 10ms`},
	} {
		if got := h2surge(t, nil, nil, "run", url, tt.flag, tt.value); !strings.Contains(got.errors, tt.want) {
			t.Errorf("%q, want %q", got.errors, tt.want)
		}
	}
}
