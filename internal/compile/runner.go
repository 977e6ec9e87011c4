package compile

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
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
	_, errs := PodTemplate(r.Template)
	c.report(errs)
}
