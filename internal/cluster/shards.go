package cluster

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/mask"
	"github.com/h2surge/h2surge/internal/report/build"
)

// States that the operator sets, not the runner.
const (
	stateJoining = "Joining"
	stateLeft    = "Left"
	stateLost    = "Lost"
)

// shardCounts are numbers of shards of a test by state.
type shardCounts struct {
	v1alpha1.ShardCounts
	// asked is the number of shards in the spec, if the operator has not applied it yet; else 0.
	asked int32
}

func countShards(lt *v1alpha1.LoadTest) (n shardCounts) {
	if lt.Status.Shards == nil {
		return n
	}
	n.ShardCounts = *lt.Status.Shards
	if want := shardsOf(lt); want != n.Desired && !Finished(lt) {
		n.asked = want
	}
	return n
}

// shardsOf returns the number of shards in the spec.
func shardsOf(lt *v1alpha1.LoadTest) int32 { return max(1, lt.Spec.Runner.Shards) }

// leaving reports whether the spec has fewer shards than this one, which still waits for its last responses.
func leaving(lt *v1alpha1.LoadTest, r *v1alpha1.RunnerStatus) bool {
	if !sending(lt) || r.Shard < shardsOf(lt) {
		return false
	}
	switch r.State {
	case stateJoining, stateLeft, stateLost, "Done", "":
		return false
	}
	return true
}

// unsettled reports whether shards join or leave, or are not as in the spec.
func (n *shardCounts) unsettled() bool {
	return n.Joining+n.Leaving+n.Left+n.asked > 0
}

// String returns, for example, "2 of 4 ready, 2 joining, 1 lost; the spec has 5".
func (n *shardCounts) String() string {
	text := fmt.Sprintf("%d of %d ready", n.Ready, n.Desired)
	for _, part := range []struct {
		n    int32
		name string
	}{{n.Joining, "joining"}, {n.Leaving, "leaving"}, {n.Left, "left"}, {n.Lost, "lost"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.name)
		}
	}
	if n.asked > 0 {
		text += fmt.Sprintf("; the spec has %d", n.asked)
	}
	return text
}

// runnerText returns a message about a runner; "": it has no problem.
func runnerText(lt *v1alpha1.LoadTest, r *v1alpha1.RunnerStatus) string {
	word := ""
	switch {
	case r.State == stateJoining:
		word = "joining"
	case r.State == stateLost:
		word = "lost"
	case leaving(lt, r):
		word = "leaving"
	}
	if word != "" && r.Message != "" {
		word += ": "
	}
	return word + mask.Line(r.Message)
}

// podAndNode returns the pod and the node of a shard, such as " (pcf-1-0 on worker-a)", as far as they are known.
func podAndNode(r *v1alpha1.RunnerStatus) string {
	switch {
	case r.Pod == "":
		return ""
	case r.Node == "":
		return " (" + mask.Line(r.Pod) + ")"
	}
	return " (" + mask.Line(r.Pod) + " on " + mask.Line(r.Node) + ")"
}

// shardList returns the shards with problems first, then the shards that join or leave. The shards that have left are
// last.
func shardList(m *Frame) list {
	out := table("%5v  %-12.12v %-20.20v %-16.16v %8v %10v  %v", "SHARD", "STATE", "NODE", "CPUS", "LAG P99",
		"THROTTLED", "")
	runners := slices.Clone(m.Test.Status.Runners)
	slices.SortStableFunc(runners, func(a, b v1alpha1.RunnerStatus) int {
		return cmp.Compare(rank(m.Test, &b), rank(m.Test, &a))
	})
	for i := range runners {
		r := &runners[i]
		state, cpus := r.State, r.CPUs
		if leaving(m.Test, r) {
			state = "Leaving"
		}
		if r.Exclusive {
			cpus += " exclusive"
		}
		lag, throttled := m.health(r)
		out.add(r.Shard, orDash(state), orDash(r.Node), orDash(cpus), lag, throttled, mask.Line(r.Message))
	}
	if more := unlisted(m.Test); more > 0 {
		out.rows = append(out.rows, fmt.Sprintf("%d more have a problem", more))
	}
	return out
}

// unlisted is the number of shards with a problem that status counts and does not list.
func unlisted(lt *v1alpha1.LoadTest) int {
	if lt.Status.Shards == nil || lt.Status.CompletionTime != nil {
		return 0
	}
	return max(0, int(lt.Status.Shards.Unhealthy)-len(lt.Status.Runners))
}

func rank(lt *v1alpha1.LoadTest, r *v1alpha1.RunnerStatus) int {
	switch {
	case r.State == stateLost:
		return 3
	case r.State == stateLeft:
		return -1
	case r.Message != "":
		return 2
	case r.State == stateJoining || leaving(lt, r):
		return 1
	}
	return 0
}

// health returns the lag of a runner and for how long it was throttled, from status, or from the report if status does
// not have them.
func (m *Frame) health(r *v1alpha1.RunnerStatus) (lag, throttled string) {
	if r.LagP99Microseconds > 0 || r.ThrottledMicroseconds > 0 {
		return build.FormatTime(r.LagP99Microseconds), build.FormatTime(r.ThrottledMicroseconds)
	}
	lag, throttled = "-", "-"
	if m.Report == nil {
		return lag, throttled
	}
	for i := range m.Report.Shards {
		if s := &m.Report.Shards[i]; s.Shard == int(r.Shard) { // the last one is the newest runner of the shard
			lag, throttled = build.FormatTime(s.LagP99Microseconds), build.FormatTime(s.ThrottledMicroseconds)
		}
	}
	return lag, throttled
}

// healthText returns the greatest lag and the throttled time of all runners; "": status does not have them.
func healthText(g *v1alpha1.GeneratorStatus) string {
	if g == nil || g.LagP99Microseconds+g.ThrottledMicroseconds == 0 {
		return ""
	}
	return fmt.Sprintf("lag p99 %s, throttled %s in all", build.FormatTime(g.LagP99Microseconds),
		build.FormatTime(g.ThrottledMicroseconds))
}
