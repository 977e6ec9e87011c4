//go:build cgroup2

package cgroup2

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/h2surge/h2surge/test/cgroup2/cpio"
)

const (
	emulator = "qemu-system-x86_64"
	// machineTime bounds the machine's life. It takes less than a minute on an idle machine.
	machineTime = 6 * time.Minute
	// consoleTail is how many lines of the kernel's console a failure shows.
	consoleTail = 40
)

// files is where kernel.sh puts the kernel. The serial ports' output stays there, to be looked at after the test.
var files = filepath.Join("..", "..", "dist", "cgroup2")

// machine boots the emulated machine, waits until it has done its job, and returns the outcomes by name.
func machine(t *testing.T, job *Job) map[string]Outcome {
	t.Helper()
	kernel := filepath.Join(files, "vmlinuz")
	if _, err := exec.LookPath(emulator); err != nil {
		t.Skip("SKIPPED: no " + emulator + " here, so nothing is checked on cgroup v2: apt-get install qemu-system-x86")
	}
	if _, err := os.Stat(kernel); err != nil {
		t.Skip("SKIPPED: no kernel here, so nothing is checked on cgroup v2: test/cgroup2/kernel.sh dist/cgroup2")
	}
	image := filepath.Join(t.TempDir(), "initramfs")
	if err := os.WriteFile(image, initramfs(t, job), 0o600); err != nil {
		t.Fatal(err)
	}
	console, lines := filepath.Join(files, "console.log"), filepath.Join(files, "outcomes.jsonl")
	ctx, cancel := context.WithTimeout(t.Context(), machineTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, emulator,
		"-accel", "tcg", "-cpu", "max", "-smp", "2", "-m", "512", "-nodefaults", "-display", "none", "-no-reboot",
		"-serial", "file:"+console, "-serial", "file:"+lines,
		"-kernel", kernel, "-initrd", image, "-append", kernelArguments)
	begun := time.Now()
	out, err := cmd.CombinedOutput()
	t.Logf("FIGURE: the machine ran for %.0f s", time.Since(begun).Seconds())
	if err != nil {
		t.Errorf("%s: %v %v\n%s%s", emulator, err, context.Cause(ctx), out, tail(console))
	}
	return outcomes(t, lines, console)
}

// kernelArguments: nothing but errors on the console, a panic ends the emulator, and no watchdog, for the machine that runs the
// tests may be busy.
var kernelArguments = strings.Join([]string{
	"console=ttyS0", "quiet", "panic=-1", "nowatchdog", "mitigations=off", "nokaslr", "random.trust_cpu=on", "cgroup_no_v1=all",
	"tsc=reliable", "no_timer_check",
}, " ")

// initramfs packs the programs and the job.
func initramfs(t *testing.T, job *Job) []byte {
	t.Helper()
	description, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := cpio.NewWriter(&b)
	add := func(path string, permissions int, content []byte) {
		if err := w.File(strings.TrimPrefix(path, "/"), permissions, content); err != nil {
			t.Fatal(err)
		}
	}
	add(GuestPath, 0o755, program(t, "./guest"))
	add(CommandPath, 0o755, program(t, "../../cmd/h2surge"))
	add(JobPath, 0o644, description)
	for name, manifest := range manifests {
		add(name, 0o644, []byte(manifest))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// program builds a static binary for the machine.
func program(t *testing.T, source string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-o", out, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOAMD64=v1")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, b)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func outcomes(t *testing.T, lines, console string) map[string]Outcome {
	t.Helper()
	b, err := os.ReadFile(lines)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatal("the machine did not start")
	}
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]Outcome{}
	for line := range bytes.Lines(b) {
		var o Outcome
		if err := json.Unmarshal(line, &o); err != nil {
			t.Fatalf("line %.200q: %v\n%s", line, err, tail(console))
		}
		found[o.Name] = o
	}
	if len(found) == 0 {
		t.Fatalf("the machine did no check\n%s", tail(console))
	}
	return found
}

// tail is the end of the kernel's console.
func tail(console string) string {
	b, err := os.ReadFile(console)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return fmt.Sprintf("the end of %s:\n%s", console, strings.Join(lines[max(0, len(lines)-consoleTail):], "\n"))
}
