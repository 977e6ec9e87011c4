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
)

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
