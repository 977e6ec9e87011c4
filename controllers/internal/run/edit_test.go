package run_test

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/run/runtest"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/plan"
	"github.com/h2surge/h2surge/test/builder"
)

func TestUnlike(t *testing.T) {
	base := []runnerv1alpha1.Rate{runtest.PerSecond(100)}
	with := func(f func(*runnerv1alpha1.Rate)) []runnerv1alpha1.Rate {
		r := runtest.PerSecond(100)
		f(&r)
		return []runnerv1alpha1.Rate{r}
	}
	own := []runnerv1alpha1.Rate{runtest.PerSecond(1), {Name: "own", Chain: 2}, {Name: "more", Chain: 2, Duration: 1}}
	if got, want := run.RateDifference(own, []runnerv1alpha1.Rate{own[0], own[1], {Name: "more", Chain: 2}}), "spec.chains[1].rates[1]: only "; !strings.HasPrefix(got, want) {
		t.Errorf("a stage of a chain: %q, want %q", got, want)
	}
	for name, tt := range map[string]struct {
		now  []runnerv1alpha1.Rate
		want string // a part; empty: alike
	}{
		"the same":         {base, ""},
		"another count":    {[]runnerv1alpha1.Rate{runtest.PerMinute(7)}, ""},
		"another duration": {with(func(r *runnerv1alpha1.Rate) { r.Duration++ }), "spec.rates[0]"},
		"a bound":          {with(func(r *runnerv1alpha1.Rate) { r.Requests = 1 }), "spec.rates[0]"},
		"another mode":     {with(func(r *runnerv1alpha1.Rate) { r.ClosedLoop = true }), "spec.rates[0]"},
		"another name":     {with(func(r *runnerv1alpha1.Rate) { r.Name = "x" }), "spec.rates[0]"},
		"one more":         {append(base, runtest.PerSecond(1)), "must have 1 stages"},
	} {
		if got := run.RateDifference(base, tt.now); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestPresent: an edit in the moment of the start is not held back by the API server.
func TestPresent(t *testing.T) {
	tests := map[string]struct {
		edit func(*v1alpha1.LoadTestSpec)
		want int64  // requests a second
		why  string // a part
	}{
		"another rate":     {func(s *v1alpha1.LoadTestSpec) { s.Rates[0].RequestsPerSecond = ptr.To[int64](7) }, 7, ""},
		"another template": {func(s *v1alpha1.LoadTestSpec) { s.Templates[0].Path = "/other" }, 100, run.EditedAtStart},
		"also a template": {func(s *v1alpha1.LoadTestSpec) {
			s.Templates[0].Path, s.Rates[0].RequestsPerSecond = "/other", ptr.To[int64](7)
		}, 7, run.EditedAtStart},
		"another stage":    {func(s *v1alpha1.LoadTestSpec) { s.Rates = append(s.Rates, builder.PerSecond("more", 1, time.Second)) }, 100, "must have 1 stages"},
		"another duration": {func(s *v1alpha1.LoadTestSpec) { s.Rates[0].Duration.Duration = time.Hour }, 100, "spec.rates[0]"},
		"no rate at all":   {func(s *v1alpha1.LoadTestSpec) { s.Rates[0].RequestsPerSecond = ptr.To[int64](0) }, 100, "at least one stage that is not a warm-up must have a rate above 0"},
		"more connections": {func(s *v1alpha1.LoadTestSpec) { s.Runner.Shards = 3 }, 100, "all targets together have 3 connections; allowed: at most 2"},
		"a negative rate":  {func(s *v1alpha1.LoadTestSpec) { s.Rates[0].RequestsPerSecond = ptr.To[int64](-1) }, 100, "spec.rates[0].requestsPerSecond"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := runtest.New(runtest.WithJob)
			f.Config = &configv1alpha1.OperatorConfig{}
			f.Config.Limits.Connections = 2
			f.LoadTest = builder.Minimal("pcf").Edit(tt.edit).Build()
			f.LoadTest.Namespace, f.LoadTest.Generation = "core", 2
			started, _, errs := compile.Compile("core/pcf", &builder.Minimal("pcf").Build().Spec)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			f.Plan = started
			var err error
			if f.Record.Plan.Hash, err = plan.Hash(started); err != nil {
				t.Fatal(err)
			}
			runtest.Started(f)
			got, err := f.PresentOf()
			if err != nil {
				t.Fatal(err)
			}
			if got.Rates[0].Count != tt.want || (got.Why == "") != (tt.why == "") || !strings.Contains(got.Why, tt.why) {
				t.Errorf("%d a second, %q; want %d, %q", got.Rates[0].Count, got.Why, tt.want, tt.why)
			}
		})
	}
}

// TestDescribesAnother: fields that the plan does not have, after the end of a test that started and of one that did not.
func TestDescribesAnother(t *testing.T) {
	tests := map[string]struct {
		edit func(*v1alpha1.LoadTestSpec)
		want bool
	}{
		"nothing":          {func(*v1alpha1.LoadTestSpec) {}, false},
		"a TTL":            {func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](1) }, false},
		"suspend and stop": {func(s *v1alpha1.LoadTestSpec) { s.Suspend, s.Stop = true, true }, false},
		"the budget":       {func(s *v1alpha1.LoadTestSpec) { s.Runner.PodDisruptionBudget = v1alpha1.PodDisruptionBudgetDisabled }, false},
		"a template":       {func(s *v1alpha1.LoadTestSpec) { s.Templates[0].Path = "/other" }, true},
		"the shards":       {func(s *v1alpha1.LoadTestSpec) { s.Runner.Shards = 2 }, true},
		"the lock":         {func(s *v1alpha1.LoadTestSpec) { s.Lock = "core" }, true},
		"resources":        {func(s *v1alpha1.LoadTestSpec) { s.Runner.Resources = &corev1.ResourceRequirements{} }, true},
		"the pod template": {func(s *v1alpha1.LoadTestSpec) { s.Runner.PodTemplate = &runtime.RawExtension{Raw: []byte("{}")} }, true},
		"a timeout":        {func(s *v1alpha1.LoadTestSpec) { s.Runner.StartTimeout = &v1alpha1.Duration{Duration: time.Hour} }, true},
		"the least shards": {func(s *v1alpha1.LoadTestSpec) { s.Runner.MinShards = ptr.To[int32](1) }, true},
		"the retention":    {func(s *v1alpha1.LoadTestSpec) { s.Runner.ResultRetention = &v1alpha1.Duration{Duration: time.Hour} }, true},
		"what losses do":   {func(s *v1alpha1.LoadTestSpec) { s.Runner.OnShardLost = v1alpha1.ShardLostContinue }, true},
	}
	for name, tt := range tests {
		for _, started := range []bool{true, false} {
			f := runtest.New(runtest.WithJob)
			f.LoadTest = builder.Minimal("pcf").Build()
			f.LoadTest.Namespace = "core"
			compiled, hash := planOf(t, f)
			f.Plan, f.Record.Plan.Hash = compiled, hash
			if started {
				runtest.Started(f)
			}
			f.Record.End = &record.End{PlanHash: hash, Unplanned: run.Unplanned(&f.LoadTest.Spec)}
			tt.edit(&f.LoadTest.Spec)
			if got, err := f.DescribesAnother(); got != tt.want || err != nil {
				t.Errorf("%s (started: %v): %v, %v; want %v", name, started, got, err, tt.want)
			}
			f.Record.End.Unplanned = "" // of an earlier version
			_, now := planOf(t, f)
			if got, err := f.DescribesAnother(); got != (now != hash) || err != nil {
				t.Errorf("%s (started: %v), without the digest: %v, %v", name, started, got, err)
			}
		}
	}
}

// planOf returns the plan of the present spec, and its hash.
func planOf(t *testing.T, f *run.Facts) (*runnerv1alpha1.Plan, string) {
	t.Helper()
	compiled, _, errs := compile.Compile("core/pcf", &f.LoadTest.Spec)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	hash, err := plan.Hash(compiled)
	if err != nil {
		t.Fatal(err)
	}
	return compiled, hash
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
		"in a queue":        {edit: func(s *v1alpha1.LoadTestSpec) { s.Runner.Shards, s.Rates[0].RequestsPerSecond = 3, ptr.To[int64](7) }, shards: 2, rate: 7, why: true},
		"same, in a queue":  {edit: func(s *v1alpha1.LoadTestSpec) { s.Rates[0].RequestsPerSecond = ptr.To[int64](7) }, shards: 2, rate: 7},
		"with a queue":      {edit: func(s *v1alpha1.LoadTestSpec) { s.Runner.Shards = 3 }, shards: 2, rate: 100, why: true},
		"elastic":           {edit: func(s *v1alpha1.LoadTestSpec) { s.Runner.Shards = 3 }, shards: 3, rate: 100},
		"divided by number": {edit: func(s *v1alpha1.LoadTestSpec) { s.Runner.Shards = 3 }, shards: 2, why: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var err error
			f := runtest.New(runtest.WithJob)
			f.Config = &configv1alpha1.OperatorConfig{}                     // no limits
			if name == "elastic" || strings.HasSuffix(name, "in a queue") { // it admitted the Job
				f.Job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse}}
			}
			if name == "with a queue" { // which admitted the Job before the Job controller saw it
				f.Job.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "load"}
			}
			if name == "elastic" {
				f.Job.Annotations = map[string]string{run.AnnotationElastic: "true"}
			}
			spec := started.DeepCopy()
			if name == "divided by number" {
				spec.Rates = []v1alpha1.Rate{builder.ClosedLoop("most", 10)}
			}
			f.LoadTest.Spec = *spec
			compiled, why := f.CompileLive(&f.LoadTest.Spec)
			if compiled == nil {
				t.Fatal(why)
			}
			f.Plan = compiled
			if f.Record.Plan.Hash, err = plan.Hash(compiled); err != nil {
				t.Fatal(err)
			}
			runtest.Started(f)
			if tt.before != nil {
				f.Record.Live = *tt.before
			}
			f.LoadTest.Generation = 2
			tt.edit(&f.LoadTest.Spec)
			got, err := f.PresentOf()
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
