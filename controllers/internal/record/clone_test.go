package record

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
)

// TestCloneIsDecidedIn: decisions in a copy leave the record as it was.
func TestCloneIsDecidedIn(t *testing.T) {
	r := fullRecord(rand.New(rand.NewPCG(1, 1)))
	r.Edits, r.Thresholds = []Edit{{Field: "suspend"}}, []Threshold{{Name: "fast"}}
	r.Search = Search{Probes: make([]runnerv1alpha1.ProbeResult, 1, 2), Begun: 7}
	before, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	c := r.clone()
	if diff := cmp.Diff(r, c); diff != "" {
		t.Errorf("the copy differs (-record +copy):\n%s", diff)
	}
	now := metav1.NowMicro()
	c.State, c.Stop, c.Live = Stopping, &Stop{Reason: "spec.stop"}, Live{Shards: 3}
	c.Accepted(1 << 40)
	c.Append(Change{Revision: 1 << 41, Members: Set{1}})
	c.Changes[0].DecidedAt, c.Edits[0].AppliedAt, c.Thresholds[0].Abort = now, &now, true
	c.Shards[0].State, c.Shards[0].Counts = ShardLost, Counts{Name: "other"}
	c.Search.Probes, c.Search.Begun = append(c.Search.Probes, runnerv1alpha1.ProbeResult{Load: 1}), 0
	c.Search.Probes[0].Load = 2
	after, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Error("a decision in the copy changed the record")
	}
}

// TestSaveWritesChangesOnly: a pass that decides nothing writes nothing, also with times as the API server stores them.
func TestSaveWritesChangesOnly(t *testing.T) {
	ctx, c := context.Background(), newFake(t)
	s := NewStore(c, c)
	version := func() string {
		run := &statev1alpha1.LoadTestRun{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: "ns", Name: desired.RunName(loadTest())}, run); err != nil {
			t.Fatal(err)
		}
		return run.ResourceVersion
	}
	for _, f := range []func(*Record) error{prepare, begin, func(r *Record) error {
		r.Shards = append(r.Shards, Shard{Pod: "a", State: ShardLost, Time: time.Now(), Loss: &Loss{Time: time.Now()}})
		return nil
	}} {
		first, err := s.Save(ctx, loadTest(), f)
		if err != nil {
			t.Fatal(err)
		}
		written := version()
		again, err := s.Save(ctx, loadTest(), func(*Record) error { return nil })
		if err != nil || again != first || version() != written {
			t.Errorf("%v; version %s after %s", err, version(), written)
		}
	}
}
