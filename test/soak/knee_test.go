//go:build soak

package soak

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestKnees searches the capacity of ten targets, which is drawn for each of them, from a start that is drawn, too, within a factor of 64. The
// result must be within 3 % after at most 14 probes. It needs a machine that does nothing else.
func TestKnees(t *testing.T) {
	for i := range 10 {
		capacity := int64(math.Round(1000 * math.Pow(8, rand.Float64())))
		start := int64(math.Round(float64(capacity) * math.Pow(64, 2*rand.Float64()-1)))
		r := searchCapacity(t, capacity, start)
		wrong := 100 * (float64(r.Highest) - float64(capacity)) / float64(capacity)
		t.Logf("FIGURE search %d: capacity %d, start %d: %s %d (%+.1f%%), %d probes", i+1, capacity, start, r.Outcome, r.Highest, wrong, len(r.Probes))
		if r.Outcome != rv.SearchFound || math.Abs(wrong) > 3 || len(r.Probes) >= 15 {
			t.Errorf("%s: %s; probes %+v", r.Outcome, r.Message, r.Probes)
		}
	}
}

// TestKneeThatMoves lowers the capacity to a half while the search confirms its result.
func TestKneeThatMoves(t *testing.T) {
	const capacity = 3000
	first := searchCapacity(t, capacity, capacity)
	if first.Outcome != rv.SearchFound {
		t.Fatalf("%s: %s", first.Outcome, first.Message)
	}
	// A search with the same loads changes at the same probe: after the last but one.
	changes := time.Duration(len(first.Probes)-1) * (probeLasts + probeSettles)
	r := search(t, strconv.Itoa(capacity)+","+changes.String()+":"+strconv.Itoa(capacity/2), capacity)
	t.Logf("FIGURE a capacity that halves after %v: %s: %s", changes, r.Outcome, r.Message)
	if r.Outcome != rv.SearchMoved {
		t.Errorf("%s: %s; probes %+v", r.Outcome, r.Message, r.Probes)
	}
}

const (
	probeLasts   = 3 * time.Second
	probeSettles = 500 * time.Millisecond
)

func searchCapacity(t *testing.T, capacity, start int64) *rv.SearchResult {
	t.Helper()
	return search(t, strconv.FormatInt(capacity, 10), start)
}

// search runs "h2surge search" against "h2surge target" with a capacity.
func search(t *testing.T, capacity string, start int64) *rv.SearchResult {
	t.Helper()
	address := freeAddress(t)
	target := exec.Command(os.Getenv("H2SURGE"), "target", "--listen", address, "--capacity", capacity)
	target.Stderr = os.Stderr
	if err := target.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = target.Process.Kill()
		_ = target.Wait()
	}()
	out, err := exec.Command(os.Getenv("H2SURGE"), "search", "http://"+address, "-q", "-o", "json", "--p99", "50ms", "--start", strconv.FormatInt(start, 10),
		"--probe-duration", probeLasts.String(), "--settle-duration", probeSettles.String()).Output()
	var r rv.Report
	if json.Unmarshal(out, &r) != nil || r.Search == nil {
		t.Fatalf("%v: %s", err, out)
	}
	return r.Search
}

// freeAddress returns an address that nothing listens on. h2surge waits until the target does.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
