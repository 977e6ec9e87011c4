package harness

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestRunPins(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no pinning but on Linux")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cpus, err := AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{cpus[0], cpus[len(cpus)-1]} {
		f, err := Run(t.Context(), Command{Argv: []string{"grep", "Cpus_allowed_list", "/proc/self/status"}, CPUs: []int{want}}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Fields(f.Stdout)[1]; got != strconv.Itoa(want) || f.Code != 0 || f.CPU <= 0 {
			t.Errorf("ran on %s with code %d and %v of CPU, want CPU %d", got, f.Code, f.CPU, want)
		}
	}
	after, err := AllowedCPUs()
	if err != nil || len(after) != len(cpus) {
		t.Errorf("the starting thread is left on %v, %v", after, err)
	}
}

func TestRunIsBounded(t *testing.T) {
	cpus, err := AllowedCPUs()
	if err != nil {
		t.Skip(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, err = Run(t.Context(), Command{Argv: []string{"sleep", "600"}, CPUs: cpus}, time.Millisecond)
	if !errors.Is(err, ErrTooLong) {
		t.Errorf("error %v, want ErrTooLong", err)
	}
	if _, err := Run(t.Context(), Command{Argv: []string{"/nonexistent"}, CPUs: cpus}, time.Minute); err == nil {
		t.Error("a program that is not there ran")
	}
}

func TestReplaceMarked(t *testing.T) {
	m := MarksOf("make test")
	old := "before\n" + m.begin + "\nold\n" + m.end + "\nafter\n"
	got, err := m.replace([]byte(old), "new\n")
	if err != nil {
		t.Fatal(err)
	}
	want := "before\n" + m.begin + "\nnew\n" + m.end + "\nafter\n"
	if string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	again, err := m.replace(got, "new\n")
	if err != nil || string(again) != want {
		t.Errorf("a second time: %q, %v", again, err)
	}
	for _, broken := range []string{"", m.begin, m.end + m.begin} {
		if _, err := m.replace([]byte(broken), "new\n"); err == nil {
			t.Errorf("%q: accepted", broken)
		}
	}
}

func TestMarksInFiles(t *testing.T) {
	m := MarksOf("make test")
	file := filepath.Join(t.TempDir(), "page.md")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("no marks")
	if err := m.Check(file); err == nil || m.Write(file, "") == nil {
		t.Error("a page without marks is accepted")
	}
	write(m.begin + "\n" + m.end)
	if err := m.Write(file, "new\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != m.begin+"\nnew\n"+m.end {
		t.Errorf("%q, %v", got, err)
	}
}

func TestTable(t *testing.T) {
	want := "| a | b |\n|---|---|\n| 1 / 2 3 | - |\n"
	if got := Table([]string{"a", "b"}, [][]string{{"1 | 2\n3", ""}}); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFigure(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.00", 0.0123: "0.012", 0.474: "0.47", 1.385: "1.39", 12.34: "12.3", 123.4: "123", 1234.5: "1 235", 2171840: "2 171 840",
	} {
		if got := Figure(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}
