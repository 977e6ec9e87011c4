package shards

import (
	"testing"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
)

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
