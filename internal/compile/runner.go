package compile

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

var runnerPath = field.NewPath("spec", "runner")

func (c *compiler) runner() {
	r := &c.spec.Runner
	if between(c, runnerPath.Child("shards"), r.Shards, 1, 256) {
		c.plan.Shards = int(r.Shards)
	}
	if r.CPUsPerShard != nil && between(c, runnerPath.Child("cpusPerShard"), *r.CPUsPerShard, 1, 256) {
		c.plan.CPUsPerShard = int(*r.CPUsPerShard)
	}
	c.losses()
	_, errs := PodTemplate(r.Template)
	c.report(errs)
}

// losses checks what is to be done when not all shards are there. Only a cluster can lose one.
func (c *compiler) losses() {
	r := &c.spec.Runner
	c.optional(runnerPath.Child("startTimeout"), r.StartTimeout, startSpan)
	divided := slices.ContainsFunc(c.spec.Rates, func(r v1alpha1.Rate) bool { return r.EndsByCount() })
	if r.MinShards != nil {
		at := runnerPath.Child("minShards")
		between(c, at, *r.MinShards, 1, 256)
		switch {
		case *r.MinShards > r.Shards:
			c.fail(at, "minShards must be at most runner.shards")
		case *r.MinShards < r.Shards && divided:
			c.fail(at, "minShards below runner.shards does not go with a stage that is a closedLoop that ends by requests")
		}
	}
	switch r.OnShardLost {
	case v1alpha1.ShardLostFail, v1alpha1.ShardLostContinue:
	case v1alpha1.ShardLostRedeal:
		if divided {
			c.fail(runnerPath.Child("onShardLost"), "redeal does not go with a stage that is a closedLoop that ends by requests")
		}
	default:
		c.fail(runnerPath.Child("onShardLost"), "must be one of fail, continue, redeal")
	}
}
