package build

import (
	"fmt"
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Input is what Build makes a Report of. Build does not change it.
type Input struct {
	Plan     *runnerv1alpha1.Plan
	PlanHash string
	// Version of h2surge that makes the report.
	Version string
	// Snapshots are the last known of each shard, in any order. Of two with the same shard and
	// boot the one with the greater sequence counts; two boots of a shard both count, for both
	// sent.
	Snapshots []runnerv1alpha1.Snapshot
	// Lost are the runners whose last part is missing. They may have a snapshot or not.
	Lost []Runner
	// ClockOffsets are what is added to a runner's clock to get a common one, in nanoseconds. Runners
	// without an entry do not count for the start skew.
	ClockOffsets map[Runner]int64
	// StartWall and EndWall are the instants of the first and the last request; zero: not known.
	StartWall, EndWall time.Time
}

func (in *Input) isLost(r Runner) bool { return slices.Contains(in.Lost, r) }

// Build merges the snapshots into a Report; its verdict is left to internal/verdict. The error
// says which snapshot does not fit the plan or has a histogram that cannot be read.
func Build(in Input) (*runnerv1alpha1.Report, error) {
	snapshots := latest(in.Snapshots)
	sum, err := add(in.Plan, snapshots)
	if err != nil {
		return nil, err
	}
	return report(&in, snapshots, sum, true)
}

// report is the Report of a sum. It has the histograms and the response times of shards if times is true.
func report(in *Input, snapshots []runnerv1alpha1.Snapshot, sum *sum, times bool) (*runnerv1alpha1.Report, error) {
	sum.addUnanswered(in.Plan, snapshots, in.isLost)
	all, err := shards(in, snapshots, times)
	if err != nil {
		return nil, err
	}
	n := &sum.counts
	r := &runnerv1alpha1.Report{
		APIVersion: runnerv1alpha1.APIVersion,
		Kind:       runnerv1alpha1.ReportKind,
		Name:       in.Plan.Name,
		PlanHash:   in.PlanHash,
		Version:    in.Version,
		StartTime:  instant(in.StartWall),
		EndTime:    instant(in.EndWall),
		Partial:    partial(snapshots, in.Lost),
		Stopped:    stopped(snapshots),
		Requests:   n.Counters.Requests,
		WarmUp:     runnerv1alpha1.WarmUp{Sent: n.Counters.WarmUpSent},
		Graceful:   n.Counters.Graceful,
		Setup:      n.Counters.Setup,
		Teardown:   n.Counters.Teardown,
		Causes:     Causes(n.Causes),
		Failures:   sum.failures.List(),

		Authorizations:  authorizations(in.Plan, snapshots),
		Protocols:       append(Protocols(in.Plan, pointersTo(snapshots)...), overHTTP3(in.Plan)...),
		ExportFailure:   exportFailure(snapshots),
		TeardownFailure: teardownFailure(snapshots),
		Exhausted:       exhausted(snapshots),
		StatusCodes:     n.StatusCodes,
		Bytes:           runnerv1alpha1.Bytes{Sent: n.Counters.BytesSent, Received: n.Counters.BytesReceived},
		Stages:          stages(in.Plan, snapshots),
		Rate:            rate(in.Plan, snapshots),
		Steps:           sum.stepResults(in.Plan),
		Shards:          all,
		Chains:          totalOf(n.Chains),
	}
	r.ErrorRate = runnerv1alpha1.ErrorRate(ratio(r.Requests.Sent+r.Requests.Dropped-r.Requests.Succeeded,
		r.Requests.Sent+r.Requests.Dropped))
	sum.times.setTimes(r)
	if sum.forThresholds > 0 {
		r.Selections = sum.selectionResults(in.Plan, r, snapshots, times)
	}
	if times {
		r.Histograms = sum.times.histograms()
		h := sum.successful()
		r.SuccessfulResponseTime, r.Histograms.SuccessfulResponseTime = h.Times(), h.Encode()
		r.Targets = sum.targetResults(in.Plan)
		setHandshakes(in.Plan, r.Targets, lastEnd(snapshots))
		r.Operations = sum.operationResults(in.Plan)
		sum.setFigures(in.Plan, r)
	}
	r.Listeners = sum.listenerResults(in.Plan)
	r.Observations = observations(in.Plan, snapshots)
	r.Samples = samples(snapshots)
	for i := range snapshots {
		r.Slowest = AddSlowest(r.Slowest, snapshots[i].Slowest)
	}
	r.Bounds = sum.bounds(in.Plan, snapshots, r)
	r.Generator = generator(r.Shards, snapshots, n)
	r.Generator.Idle = idle(in.Plan, snapshots, &n.Generator, r.Lag.Count)
	r.CPUSeconds = n.Generator.CPUSeconds
	return r, nil
}

// latest drops superseded snapshots and sorts the rest, so that nothing depends on their order.
func latest(all []runnerv1alpha1.Snapshot) []runnerv1alpha1.Snapshot {
	if ordered(all) {
		return all
	}
	newest := map[Runner]*runnerv1alpha1.Snapshot{}
	for i := range all {
		k := runnerOf(&all[i])
		if old := newest[k]; old == nil || all[i].Sequence > old.Sequence {
			newest[k] = &all[i]
		}
	}
	out := make([]runnerv1alpha1.Snapshot, 0, len(newest))
	for _, s := range newest {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b runnerv1alpha1.Snapshot) int { return compare(runnerOf(&a), runnerOf(&b)) })
	return out
}

// ordered returns whether there is one snapshot of each runner, in the order of runners, as in most tests.
func ordered(all []runnerv1alpha1.Snapshot) bool {
	for i := 1; i < len(all); i++ {
		if compare(runnerOf(&all[i-1]), runnerOf(&all[i])) >= 0 {
			return false
		}
	}
	return true
}

// partial: something was sent, or should have been, that is not in the snapshots.
func partial(snapshots []runnerv1alpha1.Snapshot, lost []Runner) bool {
	return len(lost) > 0 || slices.ContainsFunc(snapshots, func(s runnerv1alpha1.Snapshot) bool {
		return s.State != runnerv1alpha1.StateDone
	})
}

func stopped(snapshots []runnerv1alpha1.Snapshot) string {
	for i := range snapshots {
		if snapshots[i].Stopped != "" && snapshots[i].Stopped != runnerv1alpha1.StopSearched {
			return snapshots[i].Stopped
		}
	}
	return ""
}

// authorizations adds up the authorizations of the targets of the plan, in its order.
func authorizations(plan *runnerv1alpha1.Plan,
	snapshots []runnerv1alpha1.Snapshot) (out []runnerv1alpha1.Authorization) {
	for i := range plan.Targets {
		if !plan.Targets[i].HasCredential() {
			continue
		}
		sum := runnerv1alpha1.Authorization{Target: plan.Targets[i].Name}
		for j := range snapshots {
			for k := range snapshots[j].Authorizations {
				if a := &snapshots[j].Authorizations[k]; a.Target == sum.Target {
					sum.Add(a, 1)
				}
			}
		}
		out = append(out, sum)
	}
	return out
}

func pointersTo(snapshots []runnerv1alpha1.Snapshot) []*runnerv1alpha1.Snapshot {
	out := make([]*runnerv1alpha1.Snapshot, len(snapshots))
	for i := range out {
		out[i] = &snapshots[i]
	}
	return out
}

func teardownFailure(snapshots []runnerv1alpha1.Snapshot) string {
	for i := range snapshots {
		if why := snapshots[i].TeardownFailure; why != "" {
			return why
		}
	}
	return ""
}

func exportFailure(snapshots []runnerv1alpha1.Snapshot) string {
	for i := range snapshots {
		if why := snapshots[i].ExportFailure; why != "" {
			return fmt.Sprintf("shard %d: %s", snapshots[i].Shard, why)
		}
	}
	return ""
}

func exhausted(snapshots []runnerv1alpha1.Snapshot) bool {
	return slices.ContainsFunc(snapshots, func(s runnerv1alpha1.Snapshot) bool { return s.Exhausted })
}

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// ratio returns part / whole, or 0 if whole is 0.
func ratio(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// checkCounts returns an error if the counts of a snapshot cannot belong to the plan or contradict each other. It
// does not read the distributions: Merge.Add and Build do.
func checkCounts(plan *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) error {
	if err := checkShape(plan, s); err != nil {
		return fmt.Errorf("snapshot of shard %d: %w", s.Shard, err)
	}
	for i := range s.Steps {
		if err := sumsTo(fmt.Sprintf("failedBy of step %d", i), s.Steps[i].FailedBy,
			s.Steps[i].FailedChecks); err != nil {
			return err
		}
		if err := sumsTo(fmt.Sprintf("statusCodes of step %d", i), s.Steps[i].StatusCodes,
			s.Steps[i].Done); err != nil {
			return err
		}
	}
	if err := checkFailures(s.Failures, &s.Counters.Outcomes, s.Counters.Dropped); err != nil {
		return err
	}
	for i := range s.Chains {
		if err := sumsTo(fmt.Sprintf("abortedBy of chain %d", i), s.Chains[i].AbortedBy,
			s.Chains[i].Aborted); err != nil {
			return err
		}
	}
	return nil
}

// checkShape: a runner that has not begun may have left out what has no entry yet.
func checkShape(plan *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) error {
	selections, forThresholds := selectionsOf(plan)
	for _, list := range []struct {
		name      string
		got, want int
	}{
		{"stages", len(s.Stages), len(plan.Rates)},
		{"steps", len(s.Steps), countSteps(plan)},
		{"chains", len(s.Chains), len(plan.Chains)},
		{"targets", len(s.Targets), len(plan.Targets)},
		{"selections", len(s.Selections), forThresholds},
		{"stage selections", len(s.StageSelections), len(selections) - forThresholds},
		{"listeners", len(s.Listeners), len(plan.Listeners)},
		{"observations", len(s.Observations), len(plan.Observe)},
	} {
		if list.got != 0 && list.got != list.want {
			return fmt.Errorf("it has %d %s, the plan has %d", list.got, list.name, list.want)
		}
	}
	return nil
}

func countSteps(plan *runnerv1alpha1.Plan) int {
	n := 0
	for i := range plan.Chains {
		n += len(plan.Chains[i].Steps)
	}
	return n
}

// generator sums up the generators' health over all runners.
func generator(runners []runnerv1alpha1.ShardResult, snapshots []runnerv1alpha1.Snapshot,
	sum *runnerv1alpha1.Snapshot) runnerv1alpha1.GeneratorResult {
	out := runnerv1alpha1.GeneratorResult{CPUs: []int{}}
	exclusive, lost, paused := map[int]bool{}, map[int]bool{}, map[int]bool{}
	for i := range runners {
		r := &runners[i]
		others, known := exclusive[r.Shard]
		exclusive[r.Shard] = r.Exclusive && (others || !known)
		lost[r.Shard] = lost[r.Shard] || r.Lost
		out.ShardsJoined += one(r.Joined > 0)
		out.ShardsLeft += one(r.Left > 0)
		out.Workers += r.Workers
		out.CPUs = append(out.CPUs, r.CPUs...)
		out.LagP99Microseconds = max(out.LagP99Microseconds, r.LagP99Microseconds)
		out.ThrottledMicroseconds += r.ThrottledMicroseconds
		out.GCPauseMicroseconds += r.GCPauseMicroseconds
		out.StartSkewMicroseconds = max(out.StartSkewMicroseconds, r.StartSkewMicroseconds)
		out.Connects += r.Connects
		out.Reconnects += r.Reconnects
		out.Resumed += r.Resumed
		out.EarlyData += r.EarlyData
	}
	out.Shards = len(exclusive)
	for shard := range exclusive {
		out.ExclusiveShards += one(exclusive[shard])
		out.ShardsLost += one(lost[shard])
	}
	for i := range snapshots {
		out.ExclusiveWanted = out.ExclusiveWanted || snapshots[i].Generator.ExclusiveWanted
		if g := snapshots[i].LeaseGaps; g.Count > 0 {
			paused[snapshots[i].Shard] = true
			out.LeaseExpired.Seconds = max(out.LeaseExpired.Seconds, time.Duration(g.Nanoseconds).Seconds())
		}
	}
	out.LeaseExpired.Shards, out.LeaseExpired.Dropped, out.Limited = len(paused), sum.LeaseGaps.Dropped, sum.Limited
	return out
}

// idle sums up what the workers did while they waited. A shard has the strategy of its last runner. Paced is the
// number of requests that have a lag.
func idle(plan *runnerv1alpha1.Plan, snapshots []runnerv1alpha1.Snapshot, sum *runnerv1alpha1.Generator,
	paced int64) (out runnerv1alpha1.IdleResult) {
	strategies := map[int]runnerv1alpha1.IdleStrategy{}
	for i := range snapshots {
		strategies[snapshots[i].Shard] = snapshots[i].Generator.IdleStrategy
	}
	for _, s := range strategies {
		out.SpinShards += one(s == runnerv1alpha1.IdleSpin)
		out.SleepShards += one(s == runnerv1alpha1.IdleSleep)
	}
	if out.SleepShards > 0 {
		out.SleepIntervalMicroseconds = plan.SleepsFor().Microseconds()
	}
	out.Naps = sum.Naps
	out.BatchMeanMicroseconds = sum.BatchedNanoseconds / max(1, paced) / 1000
	out.NapMeanMicroseconds = sum.NapNanoseconds / max(1, out.Naps) / 1000
	return out
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}
