// Package hack tests what the project's scripts say on a machine that lacks something.
package hack

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// machine is a PATH of its own: all programs of this machine but some, and an id program that names a user.
type machine struct {
	without []string
	user    string // what "id -u" prints
}

// path makes the directory of the machine's programs.
func (m machine) path(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, from := range filepath.SplitList(os.Getenv("PATH")) {
		programs, err := os.ReadDir(from)
		if err != nil {
			continue // PATH may name directories that are not there
		}
		for _, p := range programs {
			if p.Name() != "id" && !slices.Contains(m.without, p.Name()) {
				_ = os.Symlink(filepath.Join(from, p.Name()), filepath.Join(dir, p.Name())) // the first of a name counts
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "id"), []byte("#!/bin/sh\necho "+m.user+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestWhatIsMissing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:12379")
	if err == nil { // else a cluster is up, which has it
		t.Cleanup(func() { _ = l.Close() })
	}
	const user, root = "1000", "0"
	for _, tc := range []struct {
		name    string
		command []string
		machine machine
		want    string
	}{
		{"no compiler", []string{"./race.sh"}, machine{[]string{"gcc"}, user}, "install.sh: gcc is missing: install it (Debian's package is gcc,libc6-dev), or run this as root on Debian or Ubuntu"},
		{"no package manager", []string{"./install.sh", "h2surge-none=none"}, machine{[]string{"apt-get"}, root}, "install.sh: h2surge-none is missing: install it (Debian's package is none), or run this as root on Debian or Ubuntu"},
		{"a cluster without root", []string{"cluster/up", "--check"}, machine{nil, user}, "up: needs root: the kubelet and containerd do"},
		{"e2e without root", []string{"./e2e.sh"}, machine{[]string{"kind"}, user}, "up: needs root: the kubelet and containerd do"},
		{"e2e without kubectl", []string{"env", "E2E_KUBECONFIG=/none", "./e2e.sh"}, machine{[]string{"kubectl"}, user}, "e2e.sh: kubectl is missing: install it and put it on PATH"},
		{"a cluster without Go", []string{"cluster/up", "--check"}, machine{[]string{"go"}, root}, "up: go is missing: install Go 1.26 or later and put it on PATH"},
		{"a port in use", []string{"cluster/up", "--check"}, machine{nil, root}, "up: port 12379 of 127.0.0.1 is in use, and etcd needs it: end the program that listens there (ss -ltnp sport = :12379)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			home, err := os.MkdirTemp("/tmp", "h2surge-") // short: CLUSTER_HOME has a bound
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(home) })
			cmd := exec.CommandContext(t.Context(), tc.command[0], tc.command[1:]...)
			cmd.Env = append(os.Environ(), "PATH="+tc.machine.path(t), "CLUSTER_HOME="+home, "CC=", "E2E_KUBECONFIG=")
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("ended with %v, want exit code 1", err)
			}
			if !slices.Contains(strings.Split(string(out), "\n"), tc.want) {
				t.Errorf("printed\n%swant the line\n%s", out, tc.want)
			}
		})
	}
}

func TestLicences(t *testing.T) {
	apache, err := os.ReadFile("../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, file, text, want string
	}{
		{"Apache", "LICENSE", string(apache), "Apache-2.0: 1 modules\n"},
		{"in another file", "README", string(apache), ""},
		{"not a licence", "LICENSE", "Ask us.", ""},
		{"with a condition", "License.txt", string(apache) + "\nCommons Clause License Condition v1.0\n", ""},
		{"only the GPL", "COPYING", "GNU GENERAL PUBLIC LICENSE Version 3", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, tc.file), []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "./licences.sh", "-")
			cmd.Stdin = strings.NewReader("example.com/m@v1.0.0 " + dir + "\n")
			out, err := cmd.Output()
			if (err == nil) != (tc.want != "") {
				t.Errorf("ended with %v", err)
			}
			if diff := cmp.Diff(tc.want, string(out)); tc.want != "" && diff != "" {
				t.Error(diff)
			}
		})
	}
}
