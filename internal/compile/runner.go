package compile

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

var runnerPath = field.NewPath("spec", "runner")

func (c *planner) runner() {
	r := &c.spec.Runner
	if c.structure.wrong("spec.runner.shards") {
		r.Shards = 1 // later checks use the number
	}
	c.plan.Shards = int(r.Shards)
	if r.CPUsPerShard != nil {
		c.plan.CPUsPerShard = int(*r.CPUsPerShard)
	}
	// Defaults stay out of the plan, so that runners of earlier builds accept it.
	if r.IdleStrategy != v1alpha1.IdleStrategyAuto {
		c.plan.IdleStrategy = runnerv1alpha1.IdleStrategy(r.IdleStrategy)
	}
	if r.SleepInterval.Duration != runnerv1alpha1.DefaultSleepInterval {
		c.plan.SleepInterval = r.SleepInterval.Duration
	}
	c.losses()
	c.resources()
	template, errs := PodTemplate(r.PodTemplate)
	c.report(errs)
	if template != nil {
		c.noTokens(template.Spec.Volumes)
	}
}

// noTokens refuses tokens of a service account: who takes over a runner must find no way to the API server. The
// template of the operator's configuration may have them.
func (c *planner) noTokens(volumes []corev1.Volume) {
	for i, v := range volumes {
		if v.Projected == nil {
			continue
		}
		at := runnerPath.Child("podTemplate", "spec", "volumes").Index(i).Child("projected", "sources")
		for k, source := range v.Projected.Sources {
			if source.ServiceAccountToken != nil {
				c.fail(at.Index(k).Child("serviceAccountToken"), "a runner pod of a LoadTest must not have a token of a service account")
			}
		}
	}
}

// resources checks what the API server would reject only when the Job creates pods.
func (c *planner) resources() {
	r, at := c.spec.Runner.Resources, runnerPath.Child("resources")
	if r == nil {
		return
	}
	_, request := r.Requests[corev1.ResourceCPU]
	_, limit := r.Limits[corev1.ResourceCPU]
	if c.spec.Runner.CPUsPerShard != nil && (request || limit) {
		c.fail(at, "resources must not set cpu when cpusPerShard is set, because cpusPerShard sets the request and the limit")
	}
	lists := []struct {
		name string
		list corev1.ResourceList
	}{{"requests", r.Requests}, {"limits", r.Limits}}
	for _, l := range lists {
		for _, name := range slices.Sorted(maps.Keys(l.list)) {
			at, quantity := at.Child(l.name).Key(string(name)), l.list[name]
			limit, limited := r.Limits[name]
			switch {
			case quantity.Sign() < 0:
				c.fail(at, "must not be negative")
			case l.name == "requests" && limited && quantity.Cmp(limit) > 0:
				c.fail(at, "must be at most the limit, %s", limit.String())
			}
		}
	}
}

// losses checks minShards and onShardLost. The command line ignores them, because it cannot lose a shard.
func (c *planner) losses() {
	r := &c.spec.Runner
	divided := slices.ContainsFunc(c.spec.Rates, func(r v1alpha1.Rate) bool { return r.EndsByCount() })
	if r.MinShards != nil {
		at := runnerPath.Child("minShards")
		switch {
		case *r.MinShards > r.Shards:
			c.fail(at, "minShards must be at most runner.shards")
		case *r.MinShards < r.Shards && divided:
			c.fail(at, "minShards below runner.shards cannot be used with a stage that is a closedLoop that ends by requests")
		}
	}
	if r.OnShardLost == v1alpha1.ShardLostRebalance {
		c.plan.LeaseDuration = r.LeaseDuration.Duration
		if divided {
			c.fail(runnerPath.Child("onShardLost"),
				"Rebalance cannot be used with a stage that is a closedLoop that ends by requests")
		}
	}
}
