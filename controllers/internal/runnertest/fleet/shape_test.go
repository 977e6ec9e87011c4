package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/runnertest"
	"github.com/h2surge/h2surge/internal/report/build"
)

// TestShape: the snapshots of simulated runners are ones that the operator accepts, and their distributions only grow.
func TestShape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan := &runnerv1alpha1.Plan{
			Shards: 1,
			Rates:  []runnerv1alpha1.Rate{{Count: 500, Period: time.Second, Duration: 10 * time.Second}},
			Chains: []runnerv1alpha1.Chain{{Steps: make([]runnerv1alpha1.Step, 3)}},
		}
		r := runnertest.New(plan, "boot", 0).Shape(newShape(plan).apply)
		ctx := context.Background()
		share := runnerv1alpha1.Share{Shards: 1, Slots: runnerv1alpha1.Slots{Of: 1, Residues: []int64{0}}, Connections: []int{1}}
		if err := r.Update(ctx, runnerv1alpha1.Update{Revision: 1, Members: []int{0}, Share: share}); err != nil {
			t.Fatal(err)
		}
		windows := build.NewWindows(plan, 1)
		for i, want := range []struct {
			after      time.Duration
			sent, done int64
		}{{0, 0, 0}, {2100 * time.Millisecond, 1050, 1000}, {time.Second, 1550, 1500}, {time.Minute, 5000, 5000}} {
			time.Sleep(want.after)
			s, err := r.Snapshot(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				if err := r.Start(ctx, runnerv1alpha1.Start{At: s.Clock}); err != nil {
					t.Fatal(err)
				}
			}
			if s.Counters.Sent != want.sent || s.Counters.Done != want.done || s.ResponseTime.Count != want.done {
				t.Errorf("after %s: %d sent, %d done, %d times; want %d, %d", want.after, s.Counters.Sent, s.Counters.Done, s.ResponseTime.Count, want.sent, want.done)
			}
			var steps int64
			for _, step := range s.Steps {
				steps += step.Sent
			}
			if steps != want.sent {
				t.Errorf("after %s: the steps sent %d, want %d", want.after, steps, want.sent)
			}
			if err := build.NewMerge(plan, 1).Add(s); err != nil {
				t.Errorf("after %s: %v", want.after, err)
			}
			if err := windows.Add(s); err != nil {
				t.Errorf("after %s: %v", want.after, err)
			}
		}
	})
}
