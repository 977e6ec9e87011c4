package loadtest

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/record"
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
		run := &record.Record{}
		if tc.recorded != "" {
			run.Shards = []record.Shard{{Index: 0, Pod: tc.recorded}}
		}
		s := &scope{run: run, view: &collect.View{Shards: []collect.Shard{tc.shard}}}
		if got := s.recordsStored(); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
