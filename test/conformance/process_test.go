//go:build conformance

package conformance

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/h2surge/h2surge/internal/mock"
)

// raiseFiles lifts the limit of open files as far as it may and returns it.
func raiseFiles() uint64 {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	l.Cur = l.Max
	_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &l)
	return l.Cur
}

// targetProcess makes this test binary the target.
const targetProcess = "H2SURGE_CONFORMANCE_TARGET"

// TestServeTarget is the main of the target's process.
func TestServeTarget(t *testing.T) {
	if os.Getenv(targetProcess) == "" {
		t.Skip("runs in a process of its own, for TestIdleConnections")
	}
	raiseFiles()
	s, err := mock.New(mock.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(s.Addr())
	_ = s.Serve(context.Background())
}

// startTarget serves in another process until the test ends.
func startTarget(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestServeTarget$")
	cmd.Env = append(os.Environ(), targetProcess+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var address string
	if _, err := fmt.Fscan(out, &address); err != nil {
		t.Fatal(err)
	}
	return address
}

// alone runs the test again in a process of its own; there it is true.
func alone(t *testing.T) bool {
	t.Helper()
	const marker = "H2SURGE_CONFORMANCE_ALONE"
	if os.Getenv(marker) != "" {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), marker+"=1")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("in a process of its own: %v", err)
	}
	return false
}

// resident is the memory of this process at its peak, in bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	f, err := os.Open("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // read only
	var name string
	var kib int64
	for {
		if _, err := fmt.Fscan(f, &name); err != nil {
			t.Fatal("no VmHWM")
		}
		if name == "VmHWM:" {
			_, _ = fmt.Fscan(f, &kib)
			return kib << 10
		}
	}
}
