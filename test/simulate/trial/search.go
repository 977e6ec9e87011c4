package trial

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

var (
	flagTime = flag.Duration("time", 0, "run new seeds for this time")
	flagKeep = flag.String("keep", "", "the folder for reports of seeds that fail")
	// What a new seed finds is not the fault of the change that CI looks at.
	flagLenient = flag.Bool("lenient", false, "a new seed that fails does not fail the test")
)

// Seeds runs trials as the flags say: one seed in this process, new seeds for a time, or the seeds from 0 to fixed-1.
func (s Simulation) Seeds(t *testing.T, fixed uint64) {
	if *flagSeed >= 0 {
		s.here(t)
		return
	}
	c := &campaign{process: s.process(t), T: t, last: fixed}
	if *flagTime > 0 {
		c.next, c.last, c.ends = rand.Uint64()>>2, 1<<63, time.Now().Add(*flagTime)
	}
	c.Logf("seeds from %d", c.next)
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(c.work)
	}
	all.Wait()
	c.Log(c.summary())
}

// Story runs a trial with events that do not depend on a seed. Arguments that they do not have are the simplest ones.
func (s Simulation) Story(t *testing.T, events string) {
	if *flagSeed >= 0 {
		s.here(t)
		return
	}
	parsed, err := Parse(events)
	must(t, err)
	for _, e := range parsed {
		for _, a := range s.Actions {
			for _, arg := range a.Args {
				if _, has := e.Args[arg.Name]; a.Name == e.Do && !has {
					e.Args[arg.Name] = arg.Low
				}
			}
		}
	}
	if r := s.process(t).run(t.Context(), 0, parsed); r.Outcome != Passed {
		t.Errorf("%s\n%s", r, r.Log)
	}
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
	ends time.Time // zero: after the last seed

	mu         sync.Mutex
	next, last uint64  // guarded by mu
	done       []ended // guarded by mu
}

// ended is a trial of a campaign that has ended, without its log.
type ended struct {
	Result
	seed   uint64
	events int
}

// work runs seeds until there are no more. The first failure of each kind is explained.
func (c *campaign) work() {
	for seed, ok := c.take(); ok; seed, ok = c.take() {
		events := c.Generate(seed)
		result := c.run(context.Background(), seed, events)
		if c.ends.IsZero() && result.Outcome != Passed && !c.repeats(seed, events, result) {
			c.Logf("seed %d failed once, and not when it was repeated: %s\n%s", seed, result, result.Log)
			continue
		}
		if first := c.add(seed, len(events), result); first && result.Outcome != Passed {
			text := c.explain(seed, events, result)
			if c.Log(text); !*flagLenient || c.ends.IsZero() {
				c.Fail()
			}
			if *flagKeep != "" {
				_ = os.WriteFile(filepath.Join(*flagKeep, fmt.Sprintf("%d.txt", seed)), []byte(text), 0o644)
			}
		}
	}
}

// repeats returns whether a seed fails again in one of three repeats. What fails once in hundreds of trials is for
// campaigns: it must not fail the tests of a change.
func (c *campaign) repeats(seed uint64, events []Event, r Result) bool {
	for range 3 {
		if c.run(context.Background(), seed, events).same(r) {
			return true
		}
	}
	return false
}

func (c *campaign) take() (seed uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	return c.next - 1, c.next <= c.last && (c.ends.IsZero() || time.Now().Before(c.ends))
}

// add adds a result to the summary. It returns whether it is the first of its kind.
func (c *campaign) add(seed uint64, events int, r Result) (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Log = ""
	first = !slices.ContainsFunc(c.done, func(e ended) bool { return e.same(r) })
	c.done = append(c.done, ended{r, seed, events})
	return first
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
	return fmt.Sprintf("seed %d: %s\n\nrepeat: go test ./test/simulate -run '^%s$' -v -seed %d -events '%s'\n"+
		"With these events, %d of %d repeats have this result. The seed has %d events, of which these %d are left:\n%s\n\nThe last lines of its log:\n%s",
		seed, r, p.test, seed, Join(small, "; "), same, repeats, len(events), len(small),
		Join(small, "\n"), r.Log)
}

// summary returns the figures of all trials, and the seeds that failed.
func (c *campaign) summary() string {
	var events int
	var simulated, cpu time.Duration
	outcomes, failed := map[string]int{}, ""
	for _, e := range c.done {
		events, simulated, cpu = events+e.events, simulated+e.Simulated, cpu+e.CPU
		if outcomes[e.Outcome]++; e.Outcome != Passed {
			failed += fmt.Sprintf("\nseed %d: %s", e.seed, e)
		}
	}
	return fmt.Sprintf("FIGURE simulate: %d seeds, %d events, %.1f simulated hours in %.1f minutes of CPU, "+
		"%.0f times as fast as real time on a core; outcomes: %v%s",
		len(c.done), events, simulated.Hours(), cpu.Minutes(), simulated.Seconds()/max(cpu.Seconds(), 0.001), outcomes,
		failed)
}
