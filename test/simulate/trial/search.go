package trial

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	flagTime = flag.Duration("time", 0, "run new seeds for this time")
	flagKeep = flag.String("keep", "", "the folder for reports of seeds that fail")
)

// Seeds runs trials as the flags say: one seed in this process, new seeds for a time, or the seeds from 0 to fixed-1.
func (s Simulation) Seeds(t *testing.T, fixed uint64) {
	if *flagSeed >= 0 {
		s.here(t)
		return
	}
	c := &campaign{process: s.process(t), T: t, outcomes: map[string]int{}, seen: map[string]int{}, began: time.Now(),
		last: fixed}
	if *flagTime > 0 {
		c.next, c.last = uint64(c.began.Unix())<<20, 1<<63
		c.ends = c.began.Add(*flagTime)
	}
	c.Logf("seeds from %d", c.next)
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(c.work)
	}
	all.Wait()
	c.Log(c.summary())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s Simulation) process(t *testing.T) process {
	binary, err := os.Executable()
	must(t, err)
	return process{Simulation: s, binary: binary, test: t.Name()}
}

// shrinkTime bounds how long the events of one seed are made fewer.
const shrinkTime = 3 * time.Minute

// campaign runs many seeds, one on each CPU.
type campaign struct {
	process
	*testing.T
	began, ends time.Time // ends: zero for fixed seeds
	mu          sync.Mutex
	next, last  uint64 // guarded by mu, as all below
	trials      int
	events      int
	simulated   time.Duration
	cpu         time.Duration
	outcomes    map[string]int
	seen        map[string]int // trials by kind of failure
	failing     []string
}

// work runs seeds until there are no more.
func (c *campaign) work() {
	for seed, ok := c.take(); ok; seed, ok = c.take() {
		events := Generate(c.Actions, seed, c.Horizon)
		result := c.run(context.Background(), seed, events)
		if first := c.count(seed, len(events), result); first {
			c.report(seed, c.explain(seed, events, result))
		}
	}
}

func (c *campaign) take() (seed uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	return c.next - 1, c.next <= c.last && (c.ends.IsZero() || time.Now().Before(c.ends))
}

// count adds a result to the summary. It returns whether it is the first failure of its kind: only that one is
// explained.
func (c *campaign) count(seed uint64, events int, r Result) (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trials, c.events = c.trials+1, c.events+events
	c.simulated, c.cpu = c.simulated+r.Simulated, c.cpu+r.CPU
	c.outcomes[r.Outcome]++
	if r.Outcome == Passed {
		return false
	}
	kind := strings.TrimSpace(r.Outcome + " " + r.Rule)
	c.failing = append(c.failing, fmt.Sprintf("%d %s: %s", seed, kind, strings.SplitN(r.Message, "\n", 2)[0]))
	c.seen[kind]++
	return c.seen[kind] == 1
}

// explain returns the report of a seed that fails, with fewer events.
func (p process) explain(seed uint64, events []Event, r Result) string {
	ctx, cancel := context.WithTimeout(context.Background(), shrinkTime)
	defer cancel()
	small := p.shrink(ctx, seed, events, r)
	const repeats = 5
	same := 0
	for range repeats {
		if again := p.run(context.Background(), seed, small); again.same(r) {
			same, r = same+1, again
		}
	}
	return fmt.Sprintf("seed %d: %s %s: %s\n\nrepeat: go test ./test/simulate -run '^%s$' -v -seed %d -events '%s'\n"+
		"With these events, %d of %d repeats have this result. The seed has %d events, of which these %d are left:\n%s\n\nThe last lines of its log:\n%s",
		seed, r.Outcome, r.Rule, r.Message, p.test, seed, Join(small, "; "), same, repeats, len(events), len(small),
		Join(small, "\n"), r.Log)
}

// report shows a failure and keeps it in a file.
func (c *campaign) report(seed uint64, text string) {
	c.Error(text)
	if *flagKeep != "" {
		if err := os.WriteFile(filepath.Join(*flagKeep, fmt.Sprintf("%d.txt", seed)), []byte(text), 0o644); err != nil {
			c.Error(err)
		}
	}
}

func (c *campaign) summary() string {
	out := fmt.Sprintf("FIGURE simulate: %d seeds, %d events, %.1f simulated hours in %.1f minutes of CPU, %.0f times as fast as real time on a core; ",
		c.trials, c.events, c.simulated.Hours(), c.cpu.Minutes(), c.simulated.Seconds()/max(c.cpu.Seconds(), 0.001))
	for _, outcome := range slices.Sorted(maps.Keys(c.outcomes)) {
		out += fmt.Sprintf("%s %d ", outcome, c.outcomes[outcome])
	}
	if len(c.failing) > 0 {
		out += "\nseeds that failed:\n" + strings.Join(c.failing, "\n")
	}
	return out
}
