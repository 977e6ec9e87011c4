//go:build soak

package soak

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestKnees searches the capacity of ten targets, which is drawn for each of them, from a start that is drawn, too, within a factor of 64. The
// result must be within 3 % after at most 14 probes. It needs a machine that does nothing else.
func TestKnees(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("FIGURE seed of the capacities and starts: %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range 10 {
		capacity := int64(math.Round(1000 * math.Pow(8, random.Float64())))
		start := int64(math.Round(float64(capacity) * math.Pow(64, 2*random.Float64()-1)))
		r := searchCapacity(t, capacity, start)
		wrong := 100 * (float64(r.Highest) - float64(capacity)) / float64(capacity)
		t.Logf("FIGURE search %d: capacity %d, start %d: %s %d (%+.1f%%), %d probes", i+1, capacity, start, r.Outcome, r.Highest, wrong, len(r.Probes))
		if r.Outcome != rv.SearchFound || math.Abs(wrong) > 3 || len(r.Probes) >= 15 {
			t.Errorf("%s: %s; probes %+v", r.Outcome, r.Message, r.Probes)
		}
	}
}

// TestKneeThatMoves halves the capacity after probe 4. With a precision of 50%, each load is at least 15% away from the capacity:
//
//	probe        1    2    3    4    5    6    7
//	load     1800 7200 3600 2546 3600 2546 2037
//	capacity 3000 3000 3000 3000 1500 1500 1500
//	held      yes   no   no  yes   no   no   no
//
// Probe 5 confirms the load of probe 3. It fails before and after the change, so the change may be at any time of it.
func TestKneeThatMoves(t *testing.T) {
	const capacity, start = 3000, 1800
	address := freeAddress(t)
	stop := startTarget(t, address, capacity)
	defer func() { stop() }()
	r := search(t, address, start, func(line string) {
		if strings.HasPrefix(line, "probe 4:") {
			stop()
			stop = startTarget(t, address, capacity/2)
		}
	}, "--precision", "50%")
	t.Logf("FIGURE a capacity that halves after probe 4: %s: %s", r.Outcome, r.Message)
	if r.Outcome != rv.SearchMoved || len(r.Probes) != 7 {
		t.Errorf("%s: %s; probes %+v", r.Outcome, r.Message, r.Probes)
	}
}

func searchCapacity(t *testing.T, capacity, start int64) *rv.SearchResult {
	t.Helper()
	address := freeAddress(t)
	defer startTarget(t, address, capacity)()
	return search(t, address, start, func(string) {})
}

// startTarget runs "h2surge target" with a capacity. The function that it returns ends the target.
func startTarget(t *testing.T, address string, capacity int64) func() {
	t.Helper()
	target := exec.Command(os.Getenv("H2SURGE"), "target", "--listen", address, "--capacity", strconv.FormatInt(capacity, 10))
	target.Stderr = os.Stderr
	if err := target.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		_ = target.Process.Kill()
		_ = target.Wait()
	}
}

// search runs "h2surge search". It calls onLine with each line that the command prints while it runs.
func search(t *testing.T, address string, start int64, onLine func(string), args ...string) *rv.SearchResult {
	t.Helper()
	cmd := exec.Command(os.Getenv("H2SURGE"), append([]string{"search", "http://" + address, "-o", "json", "--p99", "50ms", "--start", strconv.FormatInt(start, 10),
		"--probe-duration", "3s", "--settle-duration", "500ms"}, args...)...)
	var out bytes.Buffer
	cmd.Stdout = &out
	lines, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for scanner := bufio.NewScanner(lines); scanner.Scan(); {
		onLine(scanner.Text())
	}
	err = cmd.Wait() // the exit code is that of the result
	var report rv.Report
	if json.Unmarshal(out.Bytes(), &report) != nil || report.Search == nil {
		t.Fatalf("%v: %s", err, out.Bytes())
	}
	return report.Search
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
