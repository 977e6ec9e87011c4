//go:build unix

package target

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/internal/mock"
)

func TestTargetFlags(t *testing.T) {
	cpu := 1
	for _, c := range []struct {
		args string
		want mock.Options
	}{
		{"", mock.Options{Listen: mock.DefaultListen, MaxConcurrentStreams: mock.DefaultMaxConcurrentStreams}},
		{
			"--listen :1 --cpu 1 --unanswered 3% --not-found 0.07 --seed 9 --latency 5ms --stall 500ms/10s --capacity 5000,1s:7 --body-size 10 " +
				"--track-bodies --max-concurrent-streams 5 --resets-per-second -1",
			mock.Options{
				Listen: ":1", CPU: &cpu, Unanswered: 0.03, NotFound: 0.07, Seed: 9, Latency: 5 * time.Millisecond,
				Stall:    mock.Stall{For: 500 * time.Millisecond, Every: 10 * time.Second},
				Capacity: mock.Capacity{PerSecond: 5000, Changes: []mock.CapacityChange{{After: time.Second, PerSecond: 7}}},
				BodySize: 10, TrackBodies: true, MaxConcurrentStreams: 5, ResetsPerSecond: -1,
			},
		},
		{
			"--body-size 0", // asked for, so not the default body
			mock.Options{Listen: mock.DefaultListen, MaxConcurrentStreams: mock.DefaultMaxConcurrentStreams, BodySize: -1},
		},
	} {
		var f targetFlags
		cmd := NewCommand()
		cmd.ResetFlags()
		f.add(cmd)
		if err := cmd.ParseFlags(strings.Fields(c.args)); err != nil {
			t.Fatal(err)
		}
		if err := f.complete(cmd); err != nil {
			t.Errorf("%s: %v", c.args, err)
		}
		if diff := cmp.Diff(c.want, f.opts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.args, diff)
		}
	}
}

// TestTargetFile: the file's options count unless a flag is given.
func TestTargetFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "target.yaml")
	text := "apiVersion: h2surge.io/v1alpha1\nkind: Target\n" +
		"listen: {address: ':1', statsAddress: ':2', cpu: 3, maxConcurrentStreams: 4, resetsPerSecond: 5, seed: 6}\n" +
		"rules: [{name: all, responses: [{status: 204}]}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	three, eight := 3, 8
	for _, c := range []struct {
		args, stats string
		want        mock.Options
	}{
		{"", ":2", mock.Options{Listen: ":1", CPU: &three, MaxConcurrentStreams: 4, ResetsPerSecond: 5, Seed: 6}},
		{
			"--listen :9 --stats-listen :7 --cpu 8 --max-concurrent-streams 7 --resets-per-second 6 --seed 5", ":7",
			mock.Options{Listen: ":9", CPU: &eight, MaxConcurrentStreams: 7, ResetsPerSecond: 6, Seed: 5},
		},
	} {
		var f targetFlags
		cmd := NewCommand()
		cmd.ResetFlags()
		f.add(cmd)
		if err := cmd.ParseFlags(append(strings.Fields(c.args), "-f", file)); err != nil {
			t.Fatal(err)
		}
		if err := f.complete(cmd); err != nil {
			t.Fatal(err)
		}
		if f.opts.Rules == nil || f.statsListen != c.stats {
			t.Errorf("%s: rules %v, stats on %q", c.args, f.opts.Rules, f.statsListen)
		}
		f.opts.Rules = nil
		if diff := cmp.Diff(c.want, f.opts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.args, diff)
		}
	}
}
