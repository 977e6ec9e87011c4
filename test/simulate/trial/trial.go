package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

var (
	flagSeed   = flag.Int64("seed", -1, "run this seed in this process; -1: fixed seeds")
	flagEvents = flag.String("events", "", "the events of -seed, instead of those that it draws")
)

// World is the system of a trial. It lives in a bubble of testing/synctest: its time is virtual.
type World interface {
	// Do lets an event happen, or makes it wait for its trigger. It returns before the time of the next event.
	Do(Event)
	// End ends all faults, waits for the end of what runs, checks it, and stops all goroutines of the world.
	End()
}

// Simulation is a World with the events that happen in it.
type Simulation struct {
	Actions  []Action
	Triggers []Trigger
	// Horizon is the time in which events happen.
	Horizon time.Duration
	// Limit is the time of a CPU that no trial needs.
	Limit time.Duration
	New   func(*testing.T, *Run) World
}

// Run is a trial as its world sees it.
type Run struct {
	Seed  uint64
	start time.Time
	mu    sync.Mutex // guards the lines of the log
}

// Rand returns the random numbers of a part of the world.
func (r *Run) Rand(part string) *rand.Rand { return Rand(r.Seed, part) }

// Log adds a line to the log. A failure is reported with the last ones.
func (r *Run) Log(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Printf("%10.3f %s\n", time.Since(r.start).Seconds(), fmt.Sprintf(format, args...))
}

// Broken reports that a rule does not hold, and ends the process: what follows may be a consequence.
func (r *Run) Broken(rule, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	r.Log("RULE %s: %s", rule, message)
	r.end(Result{Outcome: "rule", Rule: rule, Message: message})
	os.Exit(1)
}

func (r *Run) end(result Result) {
	result.Simulated = time.Since(r.start)
	line, _ := json.Marshal(result)
	fmt.Printf("\n%s%s\n", resultMark, line)
}

const resultMark = "@result "

// here runs the trial of the flags in this process.
func (s Simulation) here(t *testing.T) {
	seed := uint64(*flagSeed)
	events := s.Generate(seed)
	if *flagEvents != "" {
		var err error
		events, err = Parse(*flagEvents)
		must(t, err)
	}
	synctest.Test(t, func(t *testing.T) {
		r := &Run{Seed: seed, start: time.Now()}
		w := s.New(t, r)
		for _, e := range events {
			time.Sleep(time.Until(r.start.Add(e.At)))
			r.Log("EVENT %s", e)
			w.Do(e)
		}
		if slices.ContainsFunc(events, func(e Event) bool { return e.On != "" }) {
			time.Sleep(time.Until(r.start.Add(s.Horizon))) // its trigger can come
		}
		w.End()
		if !t.Failed() {
			r.end(Result{Outcome: Passed})
		}
	})
}

// Passed is the outcome of a trial without a failure.
const Passed = "passed"

// Result is how a trial ended.
type Result struct {
	// Outcome is passed, rule, panic, deadlock (all goroutines wait), hang (it needs more than the limit) or failed
	// (something else).
	Outcome string
	// Rule is the name of the rule, or where the process panicked.
	Rule, Message string
	Simulated     time.Duration
	// CPU is the time of the process.
	CPU time.Duration `json:"-"`
	Log string        `json:"-"`
}

// String returns the result in one line.
func (r Result) String() string {
	message, _, _ := strings.Cut(r.Message, "\n")
	return strings.TrimSpace(r.Outcome+" "+r.Rule) + ": " + message
}

func (r Result) same(o Result) bool { return r.Outcome == o.Outcome && r.Rule == o.Rule }

// process runs trials as processes of a test binary.
type process struct {
	Simulation
	binary, test string
}

// run runs a trial. With one thread that nothing interrupts, goroutines run in nearly the same order each time.
func (p process) run(ctx context.Context, seed uint64, events []Event) Result {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.binary, "-test.run", "^"+p.test+"$", "-test.timeout", "0",
		"-seed", strconv.FormatUint(seed, 10), "-events", Join(events, ";"))
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1", "GOGC=400")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // shows the goroutines
	cmd.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Start()
	if err == nil {
		go p.watch(ctx, cmd.Process.Pid, cancel)
		err = cmd.Wait()
	}
	result := read(out.String(), err, ctx.Err())
	if cmd.ProcessState != nil {
		result.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	return result
}

// watch calls stop if a process hangs: it has used the limit, or nothing of it for as long in real time. What other
// processes take from it does not count.
func (p process) watch(ctx context.Context, pid int, stop func()) {
	const progress = 10 * time.Millisecond
	used, since := time.Duration(0), time.Now()
	for used < p.Limit && time.Since(since) < p.Limit {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second / 4):
		}
		if now := cpuOf(pid); now > used+progress {
			used, since = now, time.Now()
		}
	}
	stop()
}

// cpuOf returns the CPU time of a process, from its clock (clock_getcpuclockid(3)).
func cpuOf(pid int) time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(int32(^pid<<3|2), &t) // it fails for a process that has ended
	return time.Duration(t.Nano())
}

// inOrder returns the first goroutines of a dump. Those that wait for something outside of the bubble, such as a lock,
// come first: while one of them waits, the time of the bubble stands.
func inOrder(dump string) string {
	all := strings.Split(dump, "\n\n")
	slices.SortStableFunc(all[1:], func(a, b string) int {
		return strings.Count(a, "(durable") - strings.Count(b, "(durable")
	})
	dump = strings.Join(all, "\n\n")
	return dump[:min(len(dump), 20_000)]
}

var (
	dumpStart = regexp.MustCompile(`(?m)^(?:panic|fatal error|SIGQUIT): (.*)$`)
	place     = regexp.MustCompile(`(?m)^github\.com/h2surge/h2surge/(\S+)\(`)
)

// read returns the result of a process from what it printed.
func read(out string, exit, stopped error) (r Result) {
	log, dump := out, ""
	if at := dumpStart.FindStringSubmatchIndex(out); at != nil {
		log, dump = out[:at[0]], inOrder(out[at[0]:])
		r = Result{Outcome: "panic", Message: out[at[2]:at[3]]}
	}
	log, result, found := strings.Cut(log, "\n"+resultMark)
	switch {
	case stopped != nil && exit != nil:
		r = Result{Outcome: "hang", Message: "it did not end in time"}
	case strings.Contains(r.Message, "deadlock"):
		r.Outcome = "deadlock"
	case dump != "":
		if m := place.FindStringSubmatch(dump); m != nil {
			r.Rule = m[1]
		}
	case !found || json.NewDecoder(strings.NewReader(result)).Decode(&r) != nil || r.Outcome == Passed && exit != nil:
		r = Result{Outcome: "failed", Message: fmt.Sprint("no result: ", exit)}
	}
	lines := strings.SplitAfter(log, "\n")
	r.Log = strings.Join(lines[max(0, len(lines)-60):], "") + dump
	return r
}
