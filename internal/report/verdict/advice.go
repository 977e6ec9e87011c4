package verdict

import (
	"fmt"
	"math"
	"strconv"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/internal/report/build"
)

// headroom is the share of its CPU that a worker may use at the rate asked for. Above it, requests that are due at
// the same time wait for the worker, and the lag grows fast. The sizing page of the docs calculates with the same
// share.
const headroom = 0.7

// AdviceShards is followed by the number of shards that a message recommends. The command line writes its own flag
// instead.
const AdviceShards = "try spec.runner.shards: "

// ConnectionsBound begins the message of a verdict whose advice is more connections.
const ConnectionsBound = "the connections were the bottleneck"

// advice says how many shards, or workers of the command line, are likely to be enough. It always recommends more than
// the run had: it is used only if the generator lagged or was throttled.
func advice(in *input) string {
	perShard := max(1, in.plan.CPUsPerShard)
	n := workersFor(in.load())
	shards := min((n+perShard-1)/perShard, split.MaxShards)
	if cpus := in.facts.CPUs; cpus > 0 && n > cpus {
		return fmt.Sprintf("it needs about %d workers with a CPU each, and this machine has %d: run the test in a cluster with %d shards", n, cpus, shards)
	}
	out := AdviceShards + strconv.Itoa(shards)
	if fewestConnections(in.plan) < shards*perShard {
		out += fmt.Sprintf(", with at least %d connections for each target", shards*perShard)
	}
	return out
}

// connectionsBound returns the message of the first bound whose connections or streams are fewer than the rate needs;
// "": there are enough. More shards do not help then, because the plan distributes its connections over them.
func connectionsBound(r *runnerv1alpha1.Report) string {
	for i := range r.Bounds {
		if b := &r.Bounds[i]; b.Bound != runnerv1alpha1.BoundMaxInFlight && b.Needed > b.Allowed {
			return b.Message
		}
	}
	return ""
}

// load is what the generator did in the stage that asked for most.
type load struct {
	workers int
	// asked and achieved are in requests per second.
	asked, achieved float64
	// busy is how many CPUs the workers used at the rate achieved; 0: it is not known.
	busy float64
	// throttled: the quota, and not the number of workers, limits the CPU time.
	throttled bool
}

// workersFor returns how many workers are enough for the rate asked for. Each worker can use headroom of a CPU or, if
// it was throttled, of the CPU time that it got. Example: two workers used 1.9 CPUs at 80,000 of 100,000 requests per
// second. The rate needs 2.375 CPUs and 4 workers.
func workersFor(l load) int {
	capacity := 1.0
	busy := l.busy
	if busy == 0 || busy > float64(l.workers) {
		busy = float64(l.workers)
	}
	if l.throttled {
		capacity = busy / float64(l.workers)
	}
	growth := 2.0
	if l.achieved > 0 {
		growth = max(1, l.asked/l.achieved)
	}
	return max(l.workers+1, int(math.Ceil(growth*busy/(headroom*capacity))))
}

// load returns the load of the stage with the highest rate. Without such a stage, a minimum of the rate is what the
// test asks for.
func (in *input) load() load {
	r := in.report
	out := load{workers: in.workers(), throttled: throttled(r) > MaxThrottled}
	for i := range r.Stages {
		if s := &r.Stages[i]; !s.WarmUp && ran(s) && build.AskedRequests(s) > out.asked {
			out.asked, out.achieved = build.AskedRequests(s), s.Achieved
		}
	}
	if out.asked == 0 {
		out.asked, out.achieved = in.leastRate(), r.Rate.Achieved
	}
	if sent := r.Requests.Sent + r.WarmUp.Sent; sent > 0 {
		out.busy = out.achieved * r.CPUSeconds / float64(sent)
	}
	return out
}

// workers returns the number of workers that the run had, or should have had if no runner reported it.
func (in *input) workers() int {
	if n := in.report.Generator.Workers; n > 0 {
		return n
	}
	return max(1, in.report.Generator.Shards) * max(1, in.plan.CPUsPerShard)
}

// leastRate returns the highest minimum of the rate, or 0 if no threshold has a minimum.
func (in *input) leastRate() (highest float64) {
	for i := range in.thresholds {
		if c := &in.thresholds[i]; c.result.Metric == runnerv1alpha1.MetricRate && c.isMinimum {
			limit, _ := strconv.ParseFloat(c.limit, 64) // compare has parsed it
			highest = max(highest, limit)
		}
	}
	return highest
}

func fewestConnections(plan *runnerv1alpha1.Plan) int {
	fewest := math.MaxInt
	for i := range plan.Targets {
		fewest = min(fewest, plan.Targets[i].Connections)
	}
	return fewest
}
