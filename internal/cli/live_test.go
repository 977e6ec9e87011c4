package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/terminal"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/report/build"
)

// livePlan has a stage for each kind of rate.
func livePlan() *rv.Plan {
	p := testPlan()
	p.Rates = []rv.Rate{
		{Name: "many", Count: 5000, Period: time.Second, Duration: time.Minute},
		{Name: "few", Count: 5, Period: time.Second, Duration: time.Minute},
		{Name: "rare", Count: 30, Period: time.Minute, Duration: time.Minute},
		{Name: "most", Count: maxRate(), Period: time.Second, Duration: time.Minute},
		{Name: "rush", ClosedLoop: true, Duration: time.Minute},
		{Name: "loop", ClosedLoop: true, Count: 64, Duration: time.Minute},
		{Name: "pair", ClosedLoop: true, Count: 2, RampFrom: new(int64), Duration: time.Minute},
		{Name: "fixed", ClosedLoop: true, Count: 4, Requests: 100},
	}
	return p
}

// inStage is a live of a run that is in a stage: -1 before the first, 8 after the last.
func inStage(t *testing.T, stage int, said *strings.Builder) (*live, *fakeEngine) {
	t.Helper()
	e := newFakeEngine(nil)
	e.lasting = true
	plan := livePlan()
	if _, err := e.given(plan, []int{0}, ""); err != nil {
		t.Fatal(err)
	}
	if stage >= 0 {
		if err := e.Start(rv.Start{At: 1}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range plan.Rates {
		if s := &e.snapshot; i < stage {
			s.Stages[i].Begun, s.Stages[i].Ended = int64(i)*1e9, int64(i+1)*1e9
		} else if i == stage {
			s.Stages[i].Begun = int64(i) * 1e9
		}
	}
	l := newLive(e, rv.Share{Shards: 1}, &job{plan: plan}, &progress{w: said, errs: said, plan: plan})
	if stage >= 0 {
		l.begin(1)
	}
	return l, e
}

func TestKeysChangeTheRun(t *testing.T) {
	for _, tc := range []struct {
		name  string
		stage int
		keys  string
		says  string
		// updates: count per period in seconds of the stage, and whether it is suspended
		updates string
	}{
		{"up and down in tenths of the manifest's rate", 0, "++-", "rate 5500/s\nrate 6000/s\nrate 5500/s\n", "55000/10 60000/10 55000/10"},
		{"back to the manifest's", 0, "+-", "rate 5500/s\nrate 5000/s\n", "55000/10 5000/1"},
		{"down to a tenth", 0, "----------", "rate 4500/s\nrate 4000/s\nrate 3500/s\nrate 3000/s\nrate 2500/s\nrate 2000/s\nrate 1500/s\nrate 1000/s\nrate 500/s\nrate 500/s: keys cannot change it further\n",
			"45000/10 40000/10 35000/10 30000/10 25000/10 20000/10 15000/10 10000/10 5000/10"},
		{"by 1/s at least", 1, "+----", "rate 6/s\nrate 5/s\nrate 4/s\nrate 3/s\nrate 2/s\n", "60/10 5/1 40/10 30/10 20/10"},
		{"not below 1/s", 2, "-+", "rate 0.5/s: keys cannot change it further\nrate 1.5/s\n", "900/600"},
		{"not above what a manifest may say", 3, "+-", "rate 100000000/s: keys cannot change it further\nrate 90000000/s\n", "900000000/10"},
		{"closed loop", 4, "+-", strings.Repeat("stage rush is a closed loop without concurrency: it has no rate\n", 2), ""},
		{"concurrency", 5, "+--", "rate 70 in flight\nrate 64 in flight\nrate 58 in flight\n", "70/0 64/0 58/0"},
		{"a ramp of concurrency", 6, "+---", "rate 1 to 3 in flight\nrate 0 to 2 in flight\nrate 0 to 1 in flight\nrate 0 to 1 in flight: keys cannot change it further\n", "3/0 2/0 1/0"},
		{"concurrency of a stage that ends by requests", 7, "+", "stage fixed is a closed loop that ends by requests: its concurrency cannot change\n", ""},
		{"pause", 0, "pp", "paused\nresumed, rate 5000/s\n", "5000/1! 5000/1"},
		{"a rate in a pause", 0, "p+p", "paused\nrate 5500/s, paused\nresumed, rate 5500/s\n", "5000/1! 55000/10! 55000/10"},
		{"pause in a closed loop", 4, "pp", "paused\nresumed, closed loop\n", "0/0! 0/0"},
		{"before the start", -1, "+p", "no stage is active: there is no rate to change\nno stage is active: there is nothing to pause\n", ""},
		{"after the last stage", 8, "-p", "no stage is active: there is no rate to change\nno stage is active: there is nothing to pause\n", ""},
		{"help, and other keys", 0, "?xQ\r", terminal.KeysHelp + "\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var said strings.Builder
			l, e := inStage(t, tc.stage, &said)
			for _, key := range []byte(tc.keys) {
				l.press(key)
			}
			if diff := cmp.Diff(tc.says, said.String()); diff != "" {
				t.Errorf("says (-want +got):\n%s", diff)
			}
			var updates []string
			for i, u := range e.updates {
				if u.Revision != int64(i)+2 || u.At <= 1 || u.Share.Shards != 1 {
					t.Errorf("update %d: %+v", i, u)
				}
				r := u.Rates[tc.stage]
				updates = append(updates, fmt.Sprintf("%d/%.0f%s", r.Count, r.Period.Seconds(), map[bool]string{true: "!"}[u.Suspended]))
			}
			if got := strings.Join(updates, " "); got != tc.updates {
				t.Errorf("updates %q, want %q", got, tc.updates)
			}
		})
	}
}

// What is shown as asked for follows, and so do the windows.
func TestChangesAreShown(t *testing.T) {
	var said strings.Builder
	l, e := inStage(t, 0, &said)
	var slowed []float64
	l.changed = func(at time.Duration, rates []rv.Rate) {
		if at <= 0 {
			t.Errorf("at %v", at)
		}
		asked := 0.0
		if rates != nil {
			asked = build.Asked(&rates[0])
		}
		slowed = append(slowed, asked)
	}
	l.press(terminal.KeyFaster)
	l.press(terminal.KeyPause)
	if diff := cmp.Diff([]float64{5500, 0}, slowed); diff != "" {
		t.Errorf("slowed (-want +got):\n%s", diff)
	}
	if got := l.shown.plan.Rates[0].Count; got != 55000 || l.job.plan.Rates[0].Count != 5000 {
		t.Errorf("shown %d, the plan has %d", got, l.job.plan.Rates[0].Count)
	}
	e.refuse = errors.New("the runner\nhas ended")
	l.press(terminal.KeyFaster)
	if want := "not changed: the runner has ended\n"; !strings.HasSuffix(said.String(), want) || !l.suspended || l.steps[0] != 1 {
		t.Errorf("%q, suspended %v, %d steps", said.String(), l.suspended, l.steps[0])
	}
}

const map1 = `---
apiVersion: v1
kind: ConfigMap
metadata: {name: bodies}
data: {a: one}
`

// compiled is what a manifest comes to.
func compiled(t *testing.T, manifest string) (*source, *job) {
	t.Helper()
	s := &source{files: []string{file(t, "m.yaml", manifest)}, form: &urlForm{}}
	j, err := s.compile()
	if err != nil {
		t.Fatal(err)
	}
	return s, j
}

func TestManifestIsReadAgain(t *testing.T) {
	replace := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(manifest) }
	for _, tc := range []struct {
		name, manifest, says string
		count                int64 // of the update; 0: none
	}{
		{"another rate", replace("requestsPerSecond: 100", "requestsPerSecond: 250"), "stage r: rate 250/s, was 110/s\n", 250},
		{"another form of the rate", replace("requestsPerSecond: 100", "requestsPer: {count: 90, period: 1m}"), "stage r: rate 1.5/s, was 110/s\n", 90},
		{"what keys have changed is over", manifest, "stage r: rate 100/s, was 110/s\n", 100},
		{"written otherwise", replace("path: /}", "path: '/'}", "requestsPerSecond: 100", "requestsPerSecond: 101"), "stage r: rate 101/s, was 110/s\n", 101},
		{"another target", replace("connections: 8", "connections: 9", "requestsPerSecond: 100", "requestsPerSecond: 250"), "m.yaml:6: spec.targets[0].connections: " + onlyRates, 0},
		{"another path", replace("path: /", "path: /x"), "m.yaml:8: spec.templates[0].path: " + onlyRates, 0},
		{"another duration", replace("duration: 1s", "duration: 2s"), "m.yaml:12: spec.rates[0].duration: " + onlyRates, 0},
		{"another mode", replace("requestsPerSecond: 100", "closedLoop: {}"), "m.yaml:12: spec.rates[0].closedLoop: " + onlyRates, 0},
		{"another stage", replace("  thresholds:", "    - {name: s, requestsPerSecond: 1, duration: 1s}\n  thresholds:"), "m.yaml:11: spec.rates: " + onlyRates, 0},
		{"one threshold less", manifest[:strings.Index(manifest, "  thresholds:")], "m.yaml:4: spec.thresholds: " + onlyRates, 0},
		{"another name", replace("name: small", "name: large"), "m.yaml: name of the plan " + onlyRates, 0},
		{"another generateName", replace("name: small", "generateName: large-"), "m.yaml: name of the plan " + onlyRates, 0},
		{"a mistake", replace("target: a,", "target: b,"), "m.yaml:10: spec.chains[0].target: there is no target \"b\"", 0},
		{"no manifest", "{", "m.yaml:1: ", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var said strings.Builder
			s, j := compiled(t, manifest)
			e := newFakeEngine(nil)
			e.lasting = true
			if _, err := e.given(j.plan, []int{0}, ""); err != nil {
				t.Fatal(err)
			}
			l := newLive(e, rv.Share{}, j, &progress{w: &said, errs: &said, plan: j.plan})
			l.name, l.reread = s.files[0], s.compile
			if err := e.Start(rv.Start{At: 1}); err != nil {
				t.Fatal(err)
			}
			l.begin(1)
			l.press(terminal.KeyFaster)
			said.Reset()
			if err := os.WriteFile(s.files[0], []byte(tc.manifest), 0o600); err != nil {
				t.Fatal(err)
			}
			if !l.again() {
				t.Fatal("it is not read")
			}
			l.took(<-l.reading)
			says := strings.ReplaceAll(said.String(), strings.TrimSuffix(s.files[0], "m.yaml"), "")
			if tc.count == 0 && !strings.HasSuffix(says, "\nthe test continues unchanged\n") || !strings.HasPrefix(says, tc.says) {
				t.Errorf("says %q, want %q", says, tc.says)
			}
			switch updates := e.updates[1:]; {
			case tc.count == 0 && len(updates) > 0:
				t.Errorf("updates: %+v", updates)
			case tc.count > 0 && (len(updates) != 1 || updates[0].Rates[0].Count != tc.count || l.steps[0] != 0):
				t.Errorf("updates %+v, %d steps", updates, l.steps[0])
			}
		})
	}
}

func TestTheSameManifestChangesNothing(t *testing.T) {
	var said strings.Builder
	l, e := inStage(t, 0, &said)
	l.reread = func() (*job, error) { return l.job, nil }
	l.again()
	if l.took(<-l.reading); len(e.updates) > 0 || said.String() != "the manifest has the active rates\n" {
		t.Errorf("%d updates, says %q", len(e.updates), said.String())
	}
}

func TestManifestIsReadAtTheStart(t *testing.T) {
	var said strings.Builder
	l, e := inStage(t, -1, &said)
	l.reread = func() (*job, error) {
		p := livePlan()
		p.Rates[0].Count = 1
		return &job{plan: p}, nil
	}
	if !l.again() || len(e.updates) > 0 {
		t.Fatalf("updates before the start: %+v", e.updates)
	}
	at := rv.Clock() + int64(time.Hour)
	l.begin(at)
	l.took(<-l.reading)
	if len(e.updates) != 1 || e.updates[0].At != 1 || e.updates[0].Rates[0].Count != 1 {
		t.Errorf("updates %+v", e.updates)
	}
}

func TestRefusalOfContent(t *testing.T) {
	_, was := compiled(t, manifest+map1)
	_, is := compiled(t, manifest+map1)
	was.files, is.files = []compile.File{{Path: "a", Content: []byte("one")}}, []compile.File{{Path: "a", Content: []byte("two")}}
	err := refusal("m.yaml", was, is)
	if want := "m.yaml: the content of a ConfigMap or Secret " + onlyRates; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	is.files = was.files
	if err := refusal("m.yaml", was, is); err != nil {
		t.Error(err)
	}
}

// SIGHUP ends a run that has no file to read again, once.
func TestHangUp(t *testing.T) {
	c := make(chan os.Signal, 2)
	e := newFakeEngine(answered(10, 0, 1000))
	e.lasting, e.stubborn = true, true
	go func() {
		<-e.started
		c <- syscall.SIGHUP
		c <- syscall.SIGHUP
		c <- os.Interrupt
	}()
	got := h2surge(t, e, c, "run", "-f", "-")
	if got.code != 4 || len(e.stops) != 2 || !e.stops[0].Drain || e.stops[1].Drain {
		t.Errorf("exit code %d, stops %+v\n%s", got.code, e.stops, got.errors)
	}
}
