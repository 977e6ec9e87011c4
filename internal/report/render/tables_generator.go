package render

import (
	"fmt"
	"strconv"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
)

// healthTable has the health of the generator over all shards.
func healthTable(r *runnerv1alpha1.Report) *table {
	g := &r.Generator
	t := &table{ID: "health", Topic: topicGenerator, Caption: "Generator", Left: 2, Head: []string{"", ""},
		Detail: true}
	t.add("shards", fmt.Sprintf("%d, %s; %s", g.Shards, shardChanges(g), exclusive(g)))
	t.add("workers", fmt.Sprintf("%d, %s", g.Workers, cpus(g.CPUs)))
	t.add("lag, p99 of the worst shard", micro(g.LagP99Microseconds))
	if text := idleText(&g.Idle, micro); text != "" {
		t.add("idle strategy", text)
	}
	for _, pause := range []struct {
		name string
		us   int64
	}{{"throttled", g.ThrottledMicroseconds}, {"garbage collection", g.GCPauseMicroseconds},
		{"start skew", g.StartSkewMicroseconds}} {
		if pause.us > 0 {
			t.add(pause.name, micro(pause.us))
		}
	}
	t.add("CPU time", cpuTime(r))
	t.add("connections", connections(g))
	for i := range r.Targets {
		if x := &r.Targets[i]; x.TLSHandshakesPerSecond > 0 {
			t.add("TLS handshakes, "+printable(x.Name), build.FormatRate(x.TLSHandshakesPerSecond)+"/s, warm-up included")
		}
	}
	t.add("bytes", fmt.Sprintf("%s sent, %s received", grouped(r.Bytes.Sent), grouped(r.Bytes.Received)))
	return t
}

// connections is "10 opened, 2 of them to reconnect, 3 with a resumed TLS session, 1 with early data".
func connections(g *runnerv1alpha1.GeneratorResult) string {
	out := fmt.Sprintf("%s opened, %s of them to reconnect", grouped(g.Connects), grouped(g.Reconnects))
	if g.Resumed > 0 {
		out += fmt.Sprintf(", %s with a resumed TLS session", grouped(g.Resumed))
	}
	if g.EarlyData > 0 {
		out += fmt.Sprintf(", %s with early data", grouped(g.EarlyData))
	}
	return out
}

// cpuTime returns the CPU time of the runners, and the CPU time of one request, with warm-up requests.
func cpuTime(r *runnerv1alpha1.Report) string {
	out := lasting(r.CPUSeconds)
	if n := r.Requests.Sent + r.WarmUp.Sent; n > 0 {
		out += fmt.Sprintf(", %.2f \u00b5s per request, warm-up included", r.CPUSeconds/float64(n)*1e6)
	}
	return out
}

// shardChanges is "1 joined late, 2 left early, 0 lost".
func shardChanges(g *runnerv1alpha1.GeneratorResult) string {
	var out string
	if g.ShardsJoined > 0 {
		out += fmt.Sprintf("%d joined late, ", g.ShardsJoined)
	}
	if g.ShardsLeft > 0 {
		out += fmt.Sprintf("%d left early, ", g.ShardsLeft)
	}
	return out + fmt.Sprintf("%d lost", g.ShardsLost)
}

func exclusive(g *runnerv1alpha1.GeneratorResult) string {
	if !g.ExclusiveWanted && g.ExclusiveShards == 0 {
		return "exclusive CPUs not requested"
	}
	return fmt.Sprintf("%d had exclusive CPUs", g.ExclusiveShards)
}

func cpus(list []int) string {
	if len(list) == 0 {
		return "not pinned"
	}
	return "on CPUs " + strings.Trim(fmt.Sprint(list), "[]")
}

// shardTable is empty if the report has no shards, as that of an old version, or if it has one shard without a known
// pod and node.
func shardTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "shards", Topic: topicGenerator, Caption: "Shards", Left: 3, Most: 20, Detail: true, Head: []string{
		"shard", "runs on", "CPUs", "sent", "succeeded", "p50", "p99", "lag p99", "throttled", "GC pauses",
		"CPU time", "start skew", "connects",
	}, Wide: []string{"runs on", "CPUs", "succeeded", "GC pauses", "start skew", "connects"}}
	if len(r.Shards) == 1 && podAndNode(&r.Shards[0]) == "-" {
		return t
	}
	for i := range r.Shards {
		s := &r.Shards[i]
		t.Rows = append(t.Rows, tableRow{Bad: s.Lost, Cells: []any{
			shardName(s), podAndNode(s), shardCPUs(s), s.Sent, s.Succeeded,
			measured(s.ResponseTime.Count, s.ResponseTime.P50), measured(s.ResponseTime.Count, s.ResponseTime.P99),
			timeCell(s.LagP99Microseconds), timeCell(s.ThrottledMicroseconds), timeCell(s.GCPauseMicroseconds),
			timeCell(s.CPUSeconds * 1e6), timeCell(s.StartSkewMicroseconds), s.Connects,
		}})
	}
	return t
}

// shardName is "3 (joined at 12.00 s, lost)".
func shardName(s *runnerv1alpha1.ShardResult) string {
	var what []string
	if s.Joined > 0 {
		what = append(what, "joined at "+offset(s.Joined))
	}
	if s.Left > 0 {
		what = append(what, "left at "+offset(s.Left))
	}
	if s.Lost {
		what = append(what, "lost")
	}
	name := strconv.Itoa(s.Shard)
	if len(what) > 0 {
		name += " (" + strings.Join(what, ", ") + ")"
	}
	return name
}

func podAndNode(s *runnerv1alpha1.ShardResult) string {
	var known []string
	for _, name := range []string{s.Pod, s.Node} {
		if name != "" {
			known = append(known, name)
		}
	}
	if len(known) == 0 {
		return "-"
	}
	return strings.Join(known, " on ")
}

func shardCPUs(s *runnerv1alpha1.ShardResult) string {
	out := "not pinned"
	if len(s.CPUs) > 0 {
		out = strings.Trim(fmt.Sprint(s.CPUs), "[]")
	}
	if s.Exclusive {
		out += ", exclusive"
	}
	if s.IdleStrategy == runnerv1alpha1.IdleSpin {
		out += ", Spin"
	}
	return out
}
