package loadtest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/internal/plan"
	"github.com/h2surge/h2surge/test/builder"
)

func TestListed(t *testing.T) {
	for list, want := range map[string][]int{
		"": nil, "0": {0}, "0,3-5": {0, 3, 4, 5}, "2-3,7": {2, 3, 7}, "x,1-y,4": {4},
	} {
		var got []int
		for i := range 10 {
			if run.Listed(list, i) {
				got = append(got, i)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", list, diff)
		}
	}
}

// scaling is a run of which the Job has some indices, spec wants some, and each shard is in a state:
// m has a part, l is leaving, L has left and is recorded, j waits for a part, x was lost and is recorded, - has
// no pod.
func scaling(indices, wanted int, shards string) *scope {
	s := newScope(withJob, decided)
	s.Job.Spec.Completions, s.Record.Live.Shards = ptr.To(int32(indices)), wanted
	s.Pods = map[int]*corev1.Pod{}
	for i, letter := range shards {
		uid := types.UID(rune('a' + i))
		sh := collect.Shard{Pod: collect.Pod{UID: uid}, Member: slices.Contains([]rune("mlLx"), letter), Left: letter == 'L'}
		if sh.Member {
			sh.Snapshot = &runnerv1alpha1.Snapshot{State: runs}
		}
		if letter == 'm' || letter == 'x' {
			s.View.Members = append(s.View.Members, i)
		}
		switch letter {
		case 'x':
			sh.Lost = &collect.Loss{}
			s.Record.Shards = append(s.Record.Shards, record.Shard{Index: i, Pod: uid, Member: true, Loss: &record.Loss{}})
		case 'L':
			s.Record.Shards = append(s.Record.Shards, record.Shard{Index: i, Pod: uid, Member: true})
		case '-':
			sh.Pod = collect.Pod{}
		default:
			s.Pods[i] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}}
		}
		s.View.Shards = append(s.View.Shards, sh)
	}
	for i := range s.Record.Shards {
		s.Ended = append(s.Ended, run.Ended{Shard: &s.Record.Shards[i]})
	}
	return s
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
			s := scaling(tt.indices, tt.wanted, tt.shards)
			s.Job.Status.CompletedIndexes = tt.completed
			if tt.failed != "" {
				s.Job.Status.FailedIndexes = &tt.failed
			}
			if capacity, indices := decide.Capacity(s.Facts), decide.Indices(s.Facts, !tt.unsettled); capacity != tt.wantRoom || indices != tt.wantedIndices {
				t.Errorf("capacity for %d, %d indices; want %d and %d", capacity, indices, tt.wantRoom, tt.wantedIndices)
			}
		})
	}
}

func TestStopByLosses(t *testing.T) {
	tests := map[string]struct {
		shards    string
		policy    v1alpha1.ShardLostAction
		minShards *int32
		want      string
	}{
		"nobody lost":                    {"mm", "", nil, ""},
		"by default":                     {"mx", "", nil, decide.StopByLoss},
		"fail":                           {"mx", v1alpha1.ShardLostFail, nil, decide.StopByLoss},
		"continue":                       {"mx", v1alpha1.ShardLostContinue, nil, ""},
		"redeal":                         {"mx", v1alpha1.ShardLostRebalance, nil, ""},
		"enough are left":                {"mmx", v1alpha1.ShardLostContinue, ptr.To[int32](2), ""},
		"too few are left":               {"mxx", v1alpha1.ShardLostRebalance, ptr.To[int32](2), decide.StopByTooFew},
		"too few, but by fail before":    {"mxx", v1alpha1.ShardLostFail, ptr.To[int32](2), decide.StopByLoss},
		"fewer because they were scaled": {"mL", v1alpha1.ShardLostContinue, ptr.To[int32](2), ""},
	}
	for name, tt := range tests {
		s := scaling(3, 3, tt.shards)
		s.LoadTest.Spec.Runner.OnShardLost, s.LoadTest.Spec.Runner.MinShards = tt.policy, tt.minShards
		if got := stopped(t, s); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	idle := scaling(2, 2, "mx")
	idle.Record.Shards[0].Member = false
	if got := stopped(t, idle); got != "" {
		t.Errorf("one that had no part: %q", got)
	}
}

// stopped returns why a pass decides to stop the run; empty: it does not.
func stopped(t *testing.T, s *scope) string {
	t.Helper()
	if err := decide.Next(s.Facts, s.Record, nil); err != nil {
		t.Fatal(err)
	}
	if s.Record.Stop == nil {
		return ""
	}
	return s.Record.Stop.Reason
}

func TestLossTolerated(t *testing.T) {
	tests := map[string]struct {
		policy  v1alpha1.ShardLostAction
		lost    []int
		stopped string
		want    bool
	}{
		"fail":              {v1alpha1.ShardLostFail, []int{1}, decide.StopByLoss, false},
		"continue":          {v1alpha1.ShardLostContinue, []int{1}, "", true},
		"redeal":            {v1alpha1.ShardLostRebalance, []int{1}, "", true},
		"stopped by a user": {v1alpha1.ShardLostRebalance, []int{1}, decide.StopBySpec, true},
		"too few were left": {v1alpha1.ShardLostRebalance, []int{1}, decide.StopByTooFew, false},
		"nobody was left":   {v1alpha1.ShardLostContinue, []int{0, 1}, "", false},
	}
	for name, tt := range tests {
		s := newScope(withJob, decided, runnersAre(done, done))
		s.LoadTest.Spec.Runner.OnShardLost = tt.policy
		for _, i := range tt.lost {
			s.View.Shards[i].Snapshot.Problem = runnerv1alpha1.ProblemInternal
			shardLost(i)(s)
		}
		s.Report.Stopped = tt.stopped
		facts := decide.VerdictFacts(s.Facts)
		if facts.LossTolerated != tt.want || (facts.Problem == "") != (tt.policy != v1alpha1.ShardLostFail) {
			t.Errorf("%s: tolerated %v, problem %q", name, facts.LossTolerated, facts.Problem)
		}
	}
}

func TestDistributedTo(t *testing.T) {
	s := newScope(withJob, decided, runnersAre(runs, runs, runs), shardLost(1))
	to := func(numbers ...int) (out []record.Edit) {
		for i, n := range numbers {
			out = append(out, shardsEdited(int64(i+2), 1, n))
		}
		return out
	}
	tests := map[string]struct {
		members []int
		edits   []record.Edit
		want    bool
	}{
		"all":                  {[]int{0, 1, 2}, to(3), true},
		"all but a lost one":   {[]int{0, 2}, to(3), true},
		"one is missing":       {[]int{0, 1}, to(3), false},
		"one is too many":      {[]int{0, 1, 2}, to(2), false},
		"overtaken by another": {[]int{0, 1}, to(3, 2), true},
		"another is no one's":  {[]int{0}, to(3, 2), true},
	}
	for name, tt := range tests {
		if got := decide.DistributedTo(s.Facts, tt.members, tt.edits); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// TestStarters: two of three runners are ready, the third has a pod that is not.
func TestStarters(t *testing.T) {
	tests := map[string]struct {
		minShards int32
		timeout   time.Duration
		after     time.Duration
		edit      func(*scope)
		want      []int
		fails     string // a reason
	}{
		"all are wanted":           {after: time.Hour, fails: v1alpha1.ReasonStartTimeout},
		"in time":                  {minShards: 2, after: time.Minute},
		"after the limit":          {minShards: 2, after: 3 * time.Minute, want: []int{0, 2}},
		"too few":                  {minShards: 3, after: 3 * time.Minute, fails: v1alpha1.ReasonStartTimeout},
		"within startTimeout":      {minShards: 2, timeout: 5 * time.Second, after: 4 * time.Second},
		"after startTimeout":       {minShards: 2, timeout: 5 * time.Second, after: 5 * time.Second, want: []int{0, 2}},
		"startTimeout without":     {timeout: 5 * time.Second, after: 5 * time.Second, fails: v1alpha1.ReasonStartTimeout},
		"too late for these, too":  {minShards: 2, timeout: 5 * time.Second, after: time.Hour, want: []int{0, 2}, fails: v1alpha1.ReasonStartTimeout},
		"another attempt":          {minShards: 2, after: time.Second, edit: podEnded(1, 0)},
		"lost in the last attempt": {minShards: 2, after: time.Second, edit: podEnded(1, 2), want: []int{0, 2}},
		"too many lost":            {minShards: 2, after: time.Second, edit: func(s *scope) { podEnded(1, 2)(s); podEnded(2, 2)(s) }, fails: v1alpha1.ReasonRunnerLost},
		"chosen by another":        {minShards: 1, after: time.Second, edit: func(s *scope) { s.Record.Append(record.Change{Revision: 2, Members: []int{0, 2}}) }, want: []int{0, 2}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScope(func(s *scope) { s.Plan.Shards = 3 }, withJob, runnersAre(readyState, connecting, readyState))
			for i := range 3 {
				s.Pods[i] = &corev1.Pod{}
			}
			podsAre(s)
			s.Now = now.Add(tt.after)
			if tt.minShards > 0 {
				s.LoadTest.Spec.Runner.MinShards = &tt.minShards
			}
			if tt.timeout > 0 {
				s.LoadTest.Spec.Runner.StartTimeout = &metav1.Duration{Duration: tt.timeout}
			}
			if tt.edit != nil {
				tt.edit(s)
			}
			r := recording(t, s)
			later := s.Now
			s.Now = now
			s.Waits = r.waitsOf(s)
			s.Now = later
			decide.Starters(s.Facts, s.Record)
			if diff := cmp.Diff(tt.want, s.Starters()); diff != "" {
				t.Errorf("starts with (-want +got):\n%s", diff)
			}
			reason := ""
			if f := decide.StartFailure(s.Facts); f != nil {
				reason = f.Reason
			}
			if reason != tt.fails {
				t.Errorf("fails by %q, want %q", reason, tt.fails)
			}
		})
	}
}

func podsAre(s *scope) {
	for _, pod := range s.Pods {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: desired.RunnerContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now)}},
		}}
	}
}

// podEnded ends a pod after some Jobs were lost before.
func podEnded(shard, losses int) func(*scope) {
	return func(s *scope) {
		s.Pods[shard].Status.Phase = corev1.PodFailed
		s.Pods[shard].Status.ContainerStatuses = nil
		s.Record.Losses = losses
	}
}

func TestPresentShards(t *testing.T) {
	started := scalableSpec(2)
	tests := map[string]struct {
		edit   func(*v1alpha1.LoadTestSpec)
		before *record.Live
		shards int
		rate   int64
		why    bool
	}{
		"more":              {edit: func(s *v1alpha1.LoadTestSpec) { s.Runner.Shards = 4 }, shards: 4, rate: 100},
		"too many":          {edit: func(s *v1alpha1.LoadTestSpec) { s.Runner.Shards = 5 }, shards: 2, rate: 100, why: true},
		"too many, faster":  {edit: func(s *v1alpha1.LoadTestSpec) { s.Runner.Shards, s.Rates[0].RequestsPerSecond = 5, ptr.To[int64](7) }, shards: 2, rate: 7, why: true},
		"another duration":  {edit: func(s *v1alpha1.LoadTestSpec) { s.Runner.Shards, s.Rates[0].Duration.Duration = 3, time.Hour }, shards: 2, rate: 100, why: true},
		"after changes":     {edit: func(s *v1alpha1.LoadTestSpec) { s.Runner.Shards, s.Rates[0].Duration.Duration = 5, time.Hour }, before: &record.Live{Rates: []record.Rate{{Count: 50, Period: time.Second}}, Shards: 3}, shards: 3, rate: 50, why: true},
		"divided by number": {edit: func(s *v1alpha1.LoadTestSpec) { s.Runner.Shards = 3 }, shards: 2, why: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var err error
			s := newScope(withJob)
			spec := started.DeepCopy()
			if name == "divided by number" {
				spec.Rates = []v1alpha1.Rate{builder.ClosedLoop("most", 10)}
			}
			s.LoadTest.Spec = *spec
			compiled, why := unlimited.compileLive(s, &s.LoadTest.Spec)
			if compiled == nil {
				t.Fatal(why)
			}
			s.Plan = compiled
			if s.Record.Plan.Hash, err = plan.Hash(compiled); err != nil {
				t.Fatal(err)
			}
			decided(s)
			if tt.before != nil {
				s.Record.Live = *tt.before
			}
			s.LoadTest.Generation = 2
			tt.edit(&s.LoadTest.Spec)
			got, err := unlimited.presentOf(s)
			if err != nil {
				t.Fatal(err)
			}
			if got.Shards != tt.shards || got.Rates[0].Count != tt.rate || (got.Why != "") != tt.why {
				t.Errorf("%d shards, %d a second, %q; want %d, %d, %v", got.Shards, got.Rates[0].Count, got.Why, tt.shards, tt.rate, tt.why)
			}
		})
	}
}

// scalableSpec can be run by up to four shards.
func scalableSpec(shards int32) *v1alpha1.LoadTestSpec {
	return &builder.Minimal("pcf").Shards(shards).Connections(8).Edit(func(s *v1alpha1.LoadTestSpec) {
		s.Chains[0].MaxInFlight = ptr.To[int32](4)
	}).Build().Spec
}
