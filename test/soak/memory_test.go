//go:build soak

package soak

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// What two structures hold at most, as docs/operate/runbook.md states it. The report's windows have no more distinct response
// times and lags than there are requests, at most 5 bytes each; the rest of a second's window is less than a KiB.
// Histograms have 184 KiB each: one for each of two steps and six more, twice for the worker and once for the runner.
const (
	windowOctets    = 2*5*requestsPerSecond + 1<<10
	histogramOctets = (2 + 6) * (2 + 1) * 184 << 10
)

// restGrowth is by how much everything else may be greater at the end than after a quarter or a half of the run:
// slabs and tables keep their greatest size. A leak of 1 MB a minute takes more in the second half of 2 minutes.
const restGrowth = 512 << 10

// looks are how often the heap is measured for one size; lookPause is between two of them. The least counts: a
// snapshot holds some megabytes for some milliseconds.
const (
	looks     = 5
	lookPause = 300 * time.Millisecond
)

// heap has the sizes and profiles that h2surge, built with the tag soak, writes on SIGUSR1.
type heap struct{ dir string }

// size is the live heap after a garbage collection, in bytes. Rest is what windows and histograms do not hold.
type size struct {
	name                            string
	after                           time.Duration
	live, windows, histograms, rest int64
	resident                        int64
}

// newHeap lets a process write to the directory that HEAP names, else to a temporary one.
func newHeap(t *testing.T, run *exec.Cmd) *heap {
	t.Helper()
	h := &heap{dir: os.Getenv("HEAP")}
	if h.dir == "" {
		h.dir = t.TempDir()
	}
	if err := os.MkdirAll(h.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(h.path("live"))
	run.Env = append(os.Environ(), "H2SURGE_HEAP="+h.dir, "GODEBUG=memprofilerate=512")
	return h
}

func (h *heap) path(name string) string { return filepath.Join(h.dir, name) }

// watch measures after a quarter and after a half of the run, and near its end.
func (h *heap) watch(t *testing.T, pid int, lasts time.Duration) (sizes []size) {
	t.Helper()
	begin := time.Now()
	for _, s := range []size{{name: "quarter", after: lasts / 4}, {name: "half", after: lasts / 2}, {name: "end", after: lasts*95/100 - looks*lookPause}} {
		time.Sleep(time.Until(begin.Add(s.after)))
		h.least(t, pid, &s)
		sizes = append(sizes, s)
	}
	return sizes
}

// least measures some times, and keeps the least size and its profile.
func (h *heap) least(t *testing.T, pid int, s *size) {
	t.Helper()
	for i := range looks {
		if live := h.measure(t, pid); i == 0 || live < s.live {
			s.live, s.resident = live, resident(t, pid)
			if err := os.Rename(h.path("heap.pb.gz"), h.profile(s.name)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(lookPause)
	}
}

func (h *heap) profile(name string) string { return h.path("heap-" + name + ".pb.gz") }

// measure asks the process for the size of its live heap, in bytes.
func (h *heap) measure(t *testing.T, pid int) (live int64) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		b, err := os.ReadFile(h.path("live"))
		if errors.Is(err, fs.ErrNotExist) && time.Now().Before(deadline) {
			continue
		}
		if err != nil {
			t.Fatalf("H2SURGE must be built with -tags soak: %v", err)
		}
		if _, err := fmt.Sscan(string(b), &live); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(h.path("live")); err != nil {
			t.Fatal(err)
		}
		return live
	}
}

// check holds windows and histograms against their bounds, and the rest at the end against what it was before.
func (h *heap) check(t *testing.T, sizes []size) {
	t.Helper()
	var before int64
	for i := range sizes {
		s := &sizes[i]
		s.windows = h.heldBy(t, s.name, `-focus=result\.\(\*Windows\)`)
		s.histograms = h.heldBy(t, s.name, `-focus=histogram\.\(\*H\)\.grow`, `-ignore=result\.\(\*Windows\)`)
		s.rest = s.live - s.windows - s.histograms
		t.Logf("FIGURE %-8s live heap %5d KiB: windows %4d, histograms %4d, rest %5d; resident %6d KiB",
			s.name, s.live>>10, s.windows>>10, s.histograms>>10, s.rest>>10, s.resident>>10)
		if bound := int64(s.after.Seconds()+10) * windowOctets; s.windows > bound {
			t.Errorf("the windows hold %d KiB, their bound is %d", s.windows>>10, bound>>10)
		}
		if s.histograms > histogramOctets {
			t.Errorf("the histograms hold %d KiB, their bound is %d", s.histograms>>10, histogramOctets>>10)
		}
		if s.name != "end" {
			before = max(before, s.rest)
		} else if s.rest > before+restGrowth {
			t.Errorf("the live heap without windows and histograms grew from %d to %d KiB, %d allowed; go tool pprof -sample_index=inuse_space -base %s %s shows where",
				before>>10, s.rest>>10, (before+restGrowth)>>10, h.profile("half"), h.profile("end"))
		}
	}
}

var accounted = regexp.MustCompile(`Showing nodes accounting for (\d+)B`)

// heldBy is what the allocations that pprof's filters select hold, in bytes.
func (h *heap) heldBy(t *testing.T, name string, filters ...string) int64 {
	t.Helper()
	args := append([]string{"tool", "pprof", "-top", "-sample_index=inuse_space", "-unit=B", "-nodefraction=0", "-nodecount=1000000"}, filters...)
	out, err := exec.Command("go", append(args, h.profile(name))...).Output()
	if err != nil {
		t.Fatal(err)
	}
	m := accounted.FindSubmatch(out)
	if m == nil {
		t.Fatalf("pprof shows no sum: %s", out)
	}
	n, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// resident is the memory of a process, in bytes.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	var size, pages int64
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(b), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
