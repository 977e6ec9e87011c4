package loadtest

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// TestRecordsStored: a run does not end before the report has the stored counts of each runner that ended early.
func TestRecordsStored(t *testing.T) {
	pod := collect.Pod{UID: "pod-1"}
	for name, tc := range map[string]struct {
		shard    collect.Shard
		recorded types.UID
		want     bool
	}{
		"it runs":                          {collect.Shard{Pod: pod}, "", true},
		"lost, not recorded":               {collect.Shard{Pod: pod, Lost: &collect.Loss{}}, "", false},
		"lost, another runner is recorded": {collect.Shard{Pod: pod, Lost: &collect.Loss{}, Stored: true}, "pod-0", false},
		"lost, not in the report yet":      {collect.Shard{Pod: pod, Lost: &collect.Loss{}}, "pod-1", false},
		"left, not in the report yet":      {collect.Shard{Pod: pod, Left: true}, "pod-1", false},
		"lost, in the report":              {collect.Shard{Pod: pod, Lost: &collect.Loss{}, Stored: true}, "pod-1", true},
	} {
		stored := &record.Record{}
		if tc.recorded != "" {
			stored.Shards = []record.Shard{{Index: 0, Pod: tc.recorded}}
		}
		s := &scope{Facts: &run.Facts{Record: stored, View: &collect.View{Shards: []collect.Shard{tc.shard}}}}
		if got := decide.RecordsStored(s.Facts); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
