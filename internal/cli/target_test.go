//go:build unix

package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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
		cmd := newTargetCommand()
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
		cmd := newTargetCommand()
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

func TestTargetExitCodes(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	text := "apiVersion: h2surge.io/v1alpha1\nkind: Target\nrules:\n- name: a\n  match: {path: a}\n  response: []\n"
	if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		want int
		say  string
	}{
		{"-f " + bad, 1, "rules[0].response (line 6): unknown field"},
		{"-f " + bad, 1, "rules[0].match.path (line 5): \"a\" does not begin with /"},
		{"-f " + bad + ".not", 1, "no such file"},
		{"--listen 127.0.0.1:0 --record " + bad + "/x", 5, "--record"},
		{"--unanswered x", 1, "--unanswered"},
		{"--not-found 7", 1, "--not-found"},
		{"--stall 1s", 1, "--stall"},
		{"--capacity 0", 1, "--capacity"},
		{"--body-size -1", 1, "--body-size"},
		{"--latency -1s", 1, "latency"},
		{"--listen 127.0.0.1:0 extra", 1, "extra"},
		{"--listen " + taken.Addr().String(), 5, "in use"},
		{"--listen 127.0.0.1:0 --stats-listen " + taken.Addr().String(), 5, "--stats-listen"},
		{"--listen 127.0.0.1:0 --cpu 1000", 5, "CPU 1000"},
	} {
		var errs strings.Builder
		args := append([]string{"h2surge", "target"}, strings.Fields(c.args)...)
		if got := execute(t.Context(), args, strings.NewReader(""), io.Discard, &errs, linked{}); got != c.want || !strings.Contains(errs.String(), c.say) {
			t.Errorf("%s: exit code %d, want %d; said %q, want %q in it", c.args, got, c.want, errs.String(), c.say)
		}
	}
}

func TestTargetServesUntilSIGTERM(t *testing.T) {
	out, in := io.Pipe()
	code := make(chan int, 1)
	go func() {
		args := []string{"h2surge", "target", "--listen", "127.0.0.1:0", "--stats-listen", "127.0.0.1:0"}
		code <- execute(t.Context(), args, strings.NewReader(""), in, os.Stderr, linked{})
	}()
	lines := bufio.NewScanner(out)
	said := func(prefix string) string {
		t.Helper()
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), prefix) {
			t.Fatalf("said %q, want %q", lines.Text(), prefix)
		}
		return strings.TrimPrefix(lines.Text(), prefix)
	}
	stats := said("stats on ")
	addr := said("listening on ")
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: &protocols}}
	defer client.CloseIdleConnections()
	res, err := client.Post("http://"+addr+"/x", "text/plain", strings.NewReader("x"))
	if err != nil || res.StatusCode != http.StatusCreated {
		t.Fatal(res, err)
	}
	res.Body.Close()
	res, err = http.Get(stats)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Requests int }
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil || got.Requests != 1 {
		t.Errorf("stats %+v, %v", got, err)
	}
	res.Body.Close()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := <-code; got != 0 {
		t.Errorf("exit code %d", got)
	}
}
