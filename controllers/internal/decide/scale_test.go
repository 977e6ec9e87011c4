package decide

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/run/runtest"
	"github.com/h2surge/h2surge/controllers/internal/shards"
)

// scaling is a run of which the Job has some indices, spec wants some, and each shard is in a state:
// m has a part, l is leaving, L has left and is recorded, j waits for a part, x was lost and is recorded, - has
// no pod.
func scaling(indices, wanted int, letters string) *run.Facts {
	f := runtest.New(runtest.WithJob, runtest.Started)
	f.Job.Spec.Completions, f.Record.Live.Shards = ptr.To(int32(indices)), wanted
	f.Pods = map[int]*corev1.Pod{}
	for i, letter := range letters {
		uid := types.UID(rune('a' + i))
		sh := shards.Shard{Pod: shards.Pod{UID: uid}, Member: slices.Contains([]rune("mlLx"), letter), Left: letter == 'L'}
		if sh.Member {
			sh.Snapshot = &runnerv1alpha1.Snapshot{State: runnerv1alpha1.StateRunning}
		}
		if letter == 'm' || letter == 'x' {
			f.View.Members = append(f.View.Members, i)
		}
		switch letter {
		case 'x':
			sh.Lost = &record.Loss{}
			f.Record.Shards = append(f.Record.Shards, record.Shard{Index: i, Pod: uid, Member: true, Loss: &record.Loss{}})
		case 'L':
			f.Record.Shards = append(f.Record.Shards, record.Shard{Index: i, Pod: uid, Member: true})
		case '-':
			sh.Pod = shards.Pod{}
		default:
			f.Pods[i] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}}
		}
		f.View.Shards = append(f.View.Shards, sh)
	}
	for i := range f.Record.Shards {
		f.Ended = append(f.Ended, shards.Recorded{Shard: &f.Record.Shards[i]})
	}
	return f
}

func TestIndices(t *testing.T) {
	tests := map[string]struct {
		indices, wanted         int
		shards                  string
		completed, failed       string
		unsettled               bool
		wantRoom, wantedIndices int
	}{
		"as it is":                      {2, 2, "mm", "", "", false, 2, 2},
		"more":                          {2, 4, "mm", "", "", false, 4, 4},
		"fewer, not dealt yet":          {3, 1, "mmm", "", "", false, 1, 3},
		"fewer, leaving":                {3, 1, "mll", "", "", false, 1, 3},
		"fewer, one has left":           {3, 1, "mlL", "", "", false, 1, 3},
		"fewer, all have left":          {3, 1, "mLL", "", "", false, 1, 1},
		"fewer, one was lost":           {3, 1, "mLx", "", "2", false, 1, 1},
		"a joiner may go":               {2, 1, "mj", "", "", false, 1, 1},
		"a joiner may get a part":       {2, 1, "mj", "", "", true, 1, 2},
		"no pod yet":                    {2, 1, "m-", "", "", false, 1, 1},
		"more, but the Job is behind":   {1, 2, "mL", "1", "", false, 2, 1},
		"more, after it has noticed":    {1, 2, "mL", "", "", false, 2, 2},
		"wanted again while leaving":    {3, 3, "mml", "", "", false, 3, 3},
		"more while one is leaving":     {3, 5, "mml", "", "", false, 5, 3},
		"more while one has left":       {3, 5, "mmL", "", "", false, 5, 3},
		"a hole at the end":             {3, 3, "mmL", "2", "", false, 2, 2},
		"a hole by a failure":           {3, 3, "mmL", "", "2", false, 2, 2},
		"a hole below one with a part":  {4, 4, "mmLm", "2", "", false, 2, 4},
		"a hole, the one above is gone": {4, 4, "mmLL", "2-3", "", false, 2, 2},
		"a lost one is no hole":         {3, 3, "mmx", "", "2", false, 3, 3},
		"more, a pod is yet to go":      {2, 4, "mmLj", "", "", false, 2, 2},
		"more, the pod is gone":         {2, 4, "mmL-", "", "", false, 4, 4},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := scaling(tt.indices, tt.wanted, tt.shards)
			f.Job.Status.CompletedIndexes = tt.completed
			if tt.failed != "" {
				f.Job.Status.FailedIndexes = &tt.failed
			}
			if capacity, indices := Capacity(f), indices(f, !tt.unsettled); capacity != tt.wantRoom || indices != tt.wantedIndices {
				t.Errorf("capacity for %d, %d indices; want %d and %d", capacity, indices, tt.wantRoom, tt.wantedIndices)
			}
		})
	}
}
