package decide

import (
	"testing"

	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

func TestStopByLosses(t *testing.T) {
	tests := map[string]struct {
		shards    string
		policy    v1alpha1.ShardLostAction
		minShards *int32
		want      string
	}{
		"nobody lost":                    {"mm", "", nil, ""},
		"by default":                     {"mx", "", nil, stopByLoss},
		"fail":                           {"mx", v1alpha1.ShardLostFail, nil, stopByLoss},
		"continue":                       {"mx", v1alpha1.ShardLostContinue, nil, ""},
		"redeal":                         {"mx", v1alpha1.ShardLostRebalance, nil, ""},
		"enough are left":                {"mmx", v1alpha1.ShardLostContinue, ptr.To[int32](2), ""},
		"too few are left":               {"mxx", v1alpha1.ShardLostRebalance, ptr.To[int32](2), stopByTooFew},
		"too few, but by fail before":    {"mxx", v1alpha1.ShardLostFail, ptr.To[int32](2), stopByLoss},
		"fewer because they were scaled": {"mL", v1alpha1.ShardLostContinue, ptr.To[int32](2), ""},
	}
	for name, tt := range tests {
		f := scaling(3, 3, tt.shards)
		f.LoadTest.Spec.Runner.OnShardLost, f.LoadTest.Spec.Runner.MinShards = tt.policy, tt.minShards
		if got := stopped(t, f); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	for shards, want := range map[string]string{"mx": "", "xj": stopByLoss, "xx": stopByLoss} {
		f := scaling(2, 2, shards)
		f.LoadTest.Spec.Runner.OnShardLost, f.LoadTest.Spec.Search = v1alpha1.ShardLostRebalance, &v1alpha1.Search{}
		if got := stopped(t, f); got != want {
			t.Errorf("search with %s: %q, want %q", shards, got, want)
		}
	}
	idle := scaling(2, 2, "mx")
	idle.Record.Shards[0].Member = false
	if got := stopped(t, idle); got != "" {
		t.Errorf("one that had no part: %q", got)
	}
}

// stopped returns why a pass decides to stop the run; empty: it does not.
func stopped(t *testing.T, f *run.Facts) string {
	t.Helper()
	if err := Next(f, f.Record, nil); err != nil {
		t.Fatal(err)
	}
	if f.Record.Stop == nil {
		return ""
	}
	return f.Record.Stop.Reason
}
