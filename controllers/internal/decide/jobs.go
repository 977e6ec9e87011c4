package decide

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/internal/load/split"
)

// Attempt returns the number of the Job that the run needs, and how many Jobs before it lost a runner; false: it has
// its Job. template is the hash of the pod template.
func Attempt(f *run.Facts, template string) (attempt, losses int, needed bool) {
	attempt, losses = f.Record.Attempt, f.Record.Losses
	switch {
	case attempt == 0:
		return firstAttempt(f), losses, true
	case f.Record.Plan.Digest != f.PlanDigest || f.Record.Plan.Template != template:
		return attempt + 1, 0, true
	// Pending: the test must not have runners, and its Job was not deleted yet
	case f.Job == nil || f.Record.State == record.Pending:
		return attempt, losses, true
	case lostBeforeStart(f) != "" && !lastAttempt(f):
		return attempt + 1, losses + 1, true
	}
	return attempt, losses, false
}

// firstAttempt is the number of the first Job: above those of Jobs that the record does not know.
func firstAttempt(f *run.Facts) int {
	attempt := 1
	for slices.ContainsFunc(f.FormerJobs,
		func(job *batchv1.Job) bool { return job.Name == desired.JobName(f.LoadTest, attempt) }) {
		attempt++
	}
	return attempt
}

// Prepare records an attempt. Its first change gives a share to each shard of the plan.
func Prepare(f *run.Facts, next *record.Record, attempt, losses int, template string) error {
	if attempt != next.Attempt {
		next.Plan = record.Plan{
			Name: desired.PlanName(f.LoadTest, f.PlanDigest), Hash: f.PlanHash, Digest: f.PlanDigest, Template: template,
			Generation: f.LoadTest.Generation,
		}
		next.Changes = nil
		next.Append(record.Change{
			Revision: 1, Generation: f.LoadTest.Generation, Members: split.All(f.Plan.Shards),
			Rates: record.RatesOf(f.Plan.Rates), DecidedAt: f.MicroTime(),
		})
	}
	next.Attempt, next.Losses = attempt, losses
	return next.On(record.EventPrepare)
}
