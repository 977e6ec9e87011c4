package build

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestMergeIsBuild: after each snapshot, in any order, the report of a Merge is that of Build.
func TestMergeIsBuild(t *testing.T) {
	const shards = 4
	plan := stagedPlan()
	plan.Listeners = []runnerv1alpha1.Listener{{Name: "events"}}
	random := rand.New(rand.NewPCG(1, 5))
	m := NewMerge(plan, shards)
	var recorders [shards]*recorder
	for i := range recorders {
		recorders[i] = newRecorder(plan, i)
		recorders[i].snapshot.State, recorders[i].snapshot.EndedAt = runnerv1alpha1.StateRunning, 0
	}
	latest := map[int]runnerv1alpha1.Snapshot{}
	var overtaken *runnerv1alpha1.Snapshot
	for round := range 200 {
		i := random.IntN(shards)
		r := recorders[i]
		for range random.IntN(20) {
			r.requestIn(1+random.IntN(3), random.IntN(3), []string{"succeeded", "failed", "dropped"}[random.IntN(3)], 1+random.Int64N(100_000))
			r.notified(1 + random.Int64N(100_000))
		}
		r.snapshot.Sequence++
		r.snapshot.Clock += random.Int64N(second)
		last := round >= 200-shards
		if last {
			i = round - (200 - shards)
			r = recorders[i]
			r.snapshot.Sequence++
			r.snapshot.State = runnerv1alpha1.StateDone
		}
		s := cloneOf(t, r.done())
		if !last {
			s.Histograms = nil
		}
		sent := s // without the times of steps, as some polls are
		if random.IntN(2) == 0 && !last {
			sent.Steps = append([]runnerv1alpha1.StepCounters(nil), s.Steps...)
			for k := range sent.Steps {
				for _, h := range sent.Steps[k].Distributions() {
					*h = runnerv1alpha1.Histogram{}
				}
			}
			sent.Targets = nil
			sent.StageSelections = append([]runnerv1alpha1.SelectionCounters(nil), s.StageSelections...)
			for k := range sent.StageSelections {
				sent.StageSelections[k].Time = runnerv1alpha1.Histogram{}
			}
			if err := m.Add(&sent); err != nil {
				t.Fatal(err)
			}
			s.Sequence++ // and then with them
			r.snapshot.Sequence++
		}
		if err := m.Add(&s); err != nil {
			t.Fatal(err)
		}
		if overtaken != nil {
			if err := m.Add(overtaken); err != nil {
				t.Fatal(err)
			}
		}
		if old, ok := latest[i]; ok {
			overtaken = &old
		}
		latest[i] = s
		in := Input{Plan: plan, PlanHash: "hash", Version: "v", ClockOffsets: map[Runner]int64{}}
		for _, s := range latest {
			in.Snapshots = append(in.Snapshots, s)
		}
		want, err := Build(in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Report(in, true)
		if err != nil {
			t.Fatal(err)
		}
		want.Windows, want.WindowsFrom = m.Windows().Complete()
		if diff := cmp.Diff(want, got.Report); diff != "" {
			t.Fatalf("round %d: report (-Build +Merge):\n%s", round, diff)
		}
		if diff := cmp.Diff(chainsOf(plan, in.Snapshots), got.Chains); diff != "" {
			t.Fatalf("round %d: chains (-want +got):\n%s", round, diff)
		}
		live, err := NewLive(plan, nil, in.Snapshots)
		if err != nil {
			t.Fatal(err)
		}
		if live.ErrorRate != got.ErrorRate {
			t.Fatalf("error rate %v, want %v", got.ErrorRate, live.ErrorRate)
		}
	}
}

// cloneOf shares nothing with s.
func cloneOf(t *testing.T, s runnerv1alpha1.Snapshot) (out runnerv1alpha1.Snapshot) {
	t.Helper()
	raw, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestMergeRefuses: a snapshot that counts less than the one before leaves the sum as it was.
func TestMergeRefuses(t *testing.T) {
	plan := testPlan()
	m, r := NewMerge(plan, 1), newRecorder(plan, 0)
	r.request(0, "succeeded", 1000)
	r.request(0, "succeeded", 2000)
	r.snapshot.State = runnerv1alpha1.StateRunning
	first := r.done()
	if err := m.Add(&first); err != nil {
		t.Fatal(err)
	}
	other := newRecorder(plan, 0)
	other.request(0, "succeeded", 3000)
	for name, change := range map[string]func(*runnerv1alpha1.Snapshot){
		"fewer times":    func(*runnerv1alpha1.Snapshot) {},
		"not readable":   func(s *runnerv1alpha1.Snapshot) { s.ResponseTime.Counts = []byte("!") },
		"too many steps": func(s *runnerv1alpha1.Snapshot) { s.Steps = append(s.Steps, s.Steps[0]) },
		"failed checks by name": func(s *runnerv1alpha1.Snapshot) {
			s.Steps[0].FailedBy = map[string]int64{"status": 3}
		},
	} {
		s := other.done()
		s.Sequence = 9
		change(&s)
		if err := m.Add(&s); err == nil {
			t.Errorf("%s: no error", name)
		}
		got, err := m.Report(Input{Snapshots: []runnerv1alpha1.Snapshot{first}}, false)
		if err != nil {
			t.Fatal(err)
		}
		if n := got.Report.ResponseTime.Count; n != 2 {
			t.Errorf("%s: %d response times, want 2", name, n)
		}
	}
}

// chainsOf merges the counters of each chain of the plan.
func chainsOf(plan *runnerv1alpha1.Plan, snapshots []runnerv1alpha1.Snapshot) []runnerv1alpha1.ChainCounters {
	out := make([]runnerv1alpha1.ChainCounters, len(plan.Chains))
	for _, s := range latest(snapshots) {
		for i := range s.Chains {
			addChain(&out[i], &s.Chains[i], 1)
		}
	}
	return out
}
