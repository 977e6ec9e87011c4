package shards

import (
	"testing"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
)

// TestRevision: what all runners with a share have.
func TestRevision(t *testing.T) {
	has := func(n int64) Shard { return Shard{Member: true, Snapshot: &runnerv1alpha1.Snapshot{Revision: n}} }
	for want, all := range map[int64][]Shard{0: {has(3), {Member: true}}, 2: {has(3), has(2), {}}} {
		if got := (&View{Shards: all}).Revision(); got != want {
			t.Errorf("revision %d, want %d", got, want)
		}
	}
}

// TestOver: a test is over when each runner with a share has ended, even if its shard has another runner now.
func TestOver(t *testing.T) {
	waits, sends, lost := Shard{}, Shard{Member: true}, Shard{Member: true, Lost: &record.Loss{}}
	done := Shard{Member: true, Snapshot: &runnerv1alpha1.Snapshot{State: runnerv1alpha1.StateDone}}
	for name, tt := range map[string]struct {
		view View
		want bool
	}{
		"nothing is known":         {View{}, false},
		"a runner sends":           {View{Shards: []Shard{done, sends}}, false},
		"all have ended":           {View{Shards: []Shard{done, lost}}, true},
		"none has a share":         {View{Shards: []Shard{waits}}, false},
		"the only one is replaced": {View{Shards: []Shard{waits}, Former: []Shard{lost}}, true},
		"another one sends":        {View{Shards: []Shard{waits, sends}, Former: []Shard{lost}}, false},
	} {
		if got := tt.view.Over(); got != tt.want {
			t.Errorf("%s: over %t, want %t", name, got, tt.want)
		}
	}
}
