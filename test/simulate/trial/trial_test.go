package trial_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/h2surge/h2surge/test/simulate/trial"
)

// toy is a world with a defect of each kind. It breaks a rule if a load of at least 5 follows a restart.
type toy struct {
	*trial.Run
	restarted bool
}

func (w *toy) Do(e trial.Event) {
	switch e.Do {
	case "load":
		if w.restarted && e.Int("rate") >= 5 {
			w.Broken("rate", "%d requests after a restart", e.Int("rate"))
		}
	case "restart":
		w.restarted = true
	case "panic":
		panic("a defect")
	case "deadlock":
		var mu sync.WaitGroup
		mu.Add(1)
		mu.Wait()
	case "locked":
		var mu sync.Mutex
		mu.Lock()
		time.AfterFunc(time.Second, mu.Unlock)
		mu.Lock()
	case "hang":
		for {
			w.restarted = true
		}
	}
}

func (w *toy) End() { time.Sleep(time.Minute) }

var toys = trial.Simulation{
	Actions: []trial.Action{
		{Name: "start", Args: []trial.Arg{{Name: "shards", Low: 1, High: 5}}},
		{Name: "load", Weight: 30, Args: []trial.Arg{{Name: "rate", Low: 1, High: 40}}},
		{Name: "restart", Weight: 5},
		{Name: "nothing", Weight: 100, Args: []trial.Arg{{Name: "ms", Low: 0, High: 20_000}}},
	},
	Triggers: []trial.Trigger{{Name: "write", Weight: 1}},
	Horizon:  time.Minute,
	Limit:    5 * time.Second,
	New:      func(_ *testing.T, r *trial.Run) trial.World { return &toy{Run: r} },
}

// TestToy is the campaign of toys: the other tests run it in a process, where seeds may fail.
func TestToy(t *testing.T) {
	if os.Getenv("TOY") != "" {
		toys.Seeds(t, 12)
	}
}

// toyProcess returns what TestToy prints with these flags.
func toyProcess(t *testing.T, flags ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"-test.run", "^TestToy$", "-test.v"}, flags...)...)
	cmd.Env = append(os.Environ(), "TOY=1")
	out, _ := cmd.CombinedOutput()
	return string(out)
}

func TestResults(t *testing.T) {
	for events, want := range map[string]string{
		"0s start; 1s load rate=9":             `@result {"Outcome":"passed"`,
		"0s restart; 1s load rate=9":           `@result {"Outcome":"rule","Rule":"rate","Message":"9 requests after a restart","Simulated":1000000000}`,
		"1s panic":                             "panic: a defect",
		"1s deadlock":                          "panic: deadlock",
		"0s restart; 1.5s nothing; 2s nothing": "1.500 EVENT 1.5s nothing",
	} {
		t.Run(events, func(t *testing.T) {
			if out := toyProcess(t, "-seed", "1", "-events", events); !strings.Contains(out, want) {
				t.Errorf("want %s, got %s", want, out)
			}
		})
	}
}

func TestCampaign(t *testing.T) {
	dir := t.TempDir()
	out := toyProcess(t, "-keep", dir)
	for _, want := range []string{
		": rule rate: ", "5 of 5 repeats", "of which these 3 are left", "load rate=5\n", "start shards=1\n", "12 seeds",
		"outcomes: map[passed:11 rule:1]", "RULE rate",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if kept, _ := filepath.Glob(filepath.Join(dir, "*.txt")); len(kept) != 1 {
		t.Errorf("%d reports, want one for each kind of failure", len(kept))
	}
}

// TestFailures checks the outcomes that end the process of a trial, as its parent sees them.
func TestFailures(t *testing.T) {
	for action, want := range map[string]string{
		"panic": "panic test/simulate/trial_test.(*toy).Do: a defect", "deadlock": "deadlock: deadlock: ",
		"locked": "[sync.Mutex.Lock", "hang": "hang: ",
	} {
		t.Run(action, func(t *testing.T) {
			t.Setenv("TOY_ACTION", action)
			if out := toyProcess(t); !strings.Contains(out, want) {
				t.Errorf("want %s, got %s", want, out)
			}
		})
	}
}

func init() {
	if action := os.Getenv("TOY_ACTION"); action != "" {
		toys.Actions = []trial.Action{{Name: action}}
		if action == "hang" {
			toys.Limit = 300 * time.Millisecond
		}
	}
}

func TestEvents(t *testing.T) {
	events := toys.Generate(10)
	events[1].On, events[1].Wait = "write", time.Second
	text := trial.Join(events, "; ")
	parsed, err := trial.Parse(text)
	if err != nil || trial.Join(parsed, "; ") != text {
		t.Errorf("%v: %s became %s", err, text, trial.Join(parsed, "; "))
	}
	if again := trial.Join(toys.Generate(12), "; "); again != trial.Join(toys.Generate(12), "; ") || again == text {
		t.Errorf("one seed gave other events than before, or two seeds gave %s", text)
	}
	if !slices.IsSortedFunc(events, func(a, b trial.Event) int { return int(a.At - b.At) }) || events[0].Do != "start" ||
		len(events) < 20 {
		t.Errorf("events are not sorted, do not begin with start, or are too few: %s", text)
	}
	for _, text := range []string{"1s", "x load", "1s load rate=x", "1s@write load"} {
		if _, err := trial.Parse(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}
