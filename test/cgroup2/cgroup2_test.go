//go:build cgroup2

package cgroup2

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// row is a check and what its outcome must be.
type row struct {
	Check
	judge func(*testing.T, *Outcome)
}

// TestCgroup2 boots one machine for all rows.
func TestCgroup2(t *testing.T) {
	rows := slices.Concat(readings(), runs())
	job := Job{Target: Target{
		Group:   Group{Path: "/target", Files: files1("cpuset.cpus", "0")},
		Command: []string{CommandPath, "target", "--listen", address},
		Address: address,
	}}
	for i := range rows {
		job.Checks = append(job.Checks, rows[i].Check)
	}
	found := machine(t, &job)
	for i := range rows {
		r := &rows[i]
		t.Run(r.Name, func(t *testing.T) {
			o, ok := found[r.Name]
			if !ok {
				t.Fatal("the machine ended before this check did")
			}
			if o.Problem != "" {
				t.Errorf("the guest: %s", o.Problem)
			}
			t.Logf("%.1f s", o.Seconds)
			r.judge(t, &o)
		})
	}
}

// read is a row whose command prints a Reading. In want a Throttled of 1 is any time above 0.
func read(name string, view View, want Reading, groups ...Group) row {
	want.Online = 2
	if want.Allowed == nil {
		want.Allowed = []int{0, 1}
	}
	return row{Check{Name: name, Groups: groups, View: view, Command: []string{GuestPath, "probe"}}, func(t *testing.T, o *Outcome) {
		var got Reading
		if err := json.Unmarshal([]byte(o.Stdout), &got); err != nil || o.ExitCode != 0 {
			t.Fatalf("exit code %d, %v: %s%s", o.ExitCode, err, o.Stdout, o.Stderr)
		}
		got.Throttled = min(got.Throttled, 1)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("reading (-want +got):\n%s", diff)
		}
	}}
}

const (
	mebibyte = 1 << 20
	// limit and tight are memory limits, limitGo and tightGo are 90 percent of them in whole hundredths (runner/tune).
	limit, tight     = 256 * mebibyte, 128 * mebibyte
	limitGo, tightGo = limit / 100 * 90, tight / 100 * 90
	limitText        = "268435456"
	tightText        = "134217728"
)

// readings are what runner/cpu and runner/tune report.
func readings() []row {
	group := func(path string, keyvals ...string) Group { return Group{Path: path, Files: files1(keyvals...)} }
	// pod is the path that the kubelet's systemd driver makes for a Guaranteed pod's container.
	pod := func(podFiles, containerFiles []string) []Group {
		return []Group{
			group("/kubepods.slice"),
			group("/kubepods.slice/kubepods-pod0b7e.slice", podFiles...),
			group("/kubepods.slice/kubepods-pod0b7e.slice/cri-containerd-5f2d.scope", containerFiles...),
		}
	}
	kubelet := pod(
		[]string{"cpu.max", "20000 100000", "memory.max", limitText},
		[]string{"cpuset.cpus", "1", "cpu.max", "20000 100000", "memory.max", limitText})
	inKubelet := Reading{Allowed: []int{1}, Exclusive: true, Throttled: 1, MemoryLimit: limit, GoMemoryLimit: limitGo}
	podOnly := pod([]string{"cpu.max", "20000 100000", "memory.max", limitText}, nil)
	ofPod := Reading{Throttled: 1, MemoryLimit: limit, GoMemoryLimit: limitGo}
	return []row{
		read("no limits", HostView, Reading{}, group("/free")),

		read("one of two CPUs", HostView, Reading{Allowed: []int{1}, Exclusive: true}, group("/one", "cpuset.cpus", "1")),
		read("both CPUs", HostView, Reading{}, group("/both", "cpuset.cpus", "0-1")),
		read("one CPU by the group above", HostView, Reading{Allowed: []int{1}, Exclusive: true},
			group("/above", "cpuset.cpus", "1"), group("/above/own")),

		read("quota", HostView, Reading{Throttled: 1}, group("/quota", "cpu.max", "20000 100000")),
		// Far above: an emulated CPU that the machine around it has kept waiting seems to have run for long.
		read("quota above what is used", HostView, Reading{}, group("/wide", "cpu.max", "50000000 100000")),
		read("the tightest quota is above", HostView, Reading{Throttled: 1},
			group("/q", "cpu.max", "20000 100000"), group("/q/own", "cpu.max", "150000 100000")),
		read("the tightest quota is the own", HostView, Reading{Throttled: 1},
			group("/q", "cpu.max", "150000 100000"), group("/q/own", "cpu.max", "20000 100000")),

		read("memory", HostView, Reading{MemoryLimit: limit, GoMemoryLimit: limitGo}, group("/m", "memory.max", limitText)),
		read("the tightest memory limit is above", HostView, Reading{MemoryLimit: tight, GoMemoryLimit: tightGo},
			group("/m", "memory.max", tightText), group("/m/middle"), group("/m/middle/own", "memory.max", limitText)),
		read("the tightest memory limit is the own", HostView, Reading{MemoryLimit: tight, GoMemoryLimit: tightGo},
			group("/m", "memory.max", limitText), group("/m/own", "memory.max", tightText)),

		read("pod seen from the node", HostView, inKubelet, kubelet...),
		read("pod seen from its container", ContainerView, inKubelet, kubelet...),
		read("pod with the host's hierarchy mounted too", HostMount, inKubelet, kubelet...),
		read("pod without a cgroup namespace", BindView, inKubelet, kubelet...),
		read("limits of the pod only, seen from the node", HostView, ofPod, podOnly...),
		// What is above the root of the namespace cannot be seen, as docs/operate/install.md says.
		read("limits of the pod only, seen from its container", ContainerView, Reading{}, podOnly...),
	}
}

// run is a row whose command is "h2surge run" with a manifest, in one group.
func run(name, manifest string, view View, code int, judge func(*testing.T, *rv.Report), keyvals ...string) row {
	return row{Check{
		Name: name, View: view, Groups: []Group{{Path: "/run", Files: files1(keyvals...)}},
		Command: []string{CommandPath, "run", "-q", "-o", "json", "-f", manifest},
	}, func(t *testing.T, o *Outcome) {
		var r rv.Report
		if err := json.Unmarshal([]byte(o.Stdout), &r); err != nil || o.ExitCode != code {
			t.Fatalf("exit code %d, want %d; %v: %.500s\n%s", o.ExitCode, code, err, o.Stdout, o.Stderr)
		}
		t.Logf("generator %+v", r.Generator)
		t.Logf("verdict %s %s: %s", r.Verdict.Outcome, r.Verdict.Reason, r.Verdict.Message)
		judge(t, &r)
	}}
}

// runs are what the command line reports of itself.
func runs() []row {
	exclusive := func(shards int, cpus ...int) func(*testing.T, *rv.Report) {
		return func(t *testing.T, r *rv.Report) {
			g := &r.Generator
			if g.ExclusiveShards != shards || g.Workers != 1 || !slices.Equal(g.CPUs, cpus) || g.ThrottledMicroseconds != 0 {
				t.Errorf("want %d exclusive shards, one worker, CPUs %v, not throttled", shards, cpus)
			}
		}
	}
	throttled := func(t *testing.T, r *rv.Report) {
		if r.Generator.ThrottledMicroseconds == 0 {
			t.Error("the report shows no throttled time")
		}
		if v := &r.Verdict; v.Outcome != rv.OutcomeInconclusive || v.Reason != "GeneratorBound" || !strings.Contains(v.Message, "it was throttled for") {
			t.Error("want Inconclusive GeneratorBound: ... it was throttled for ...")
		}
	}
	return []row{
		run("run on one of two CPUs", slowManifest, HostView, 0, exclusive(1, 1), "cpuset.cpus", "1"),
		run("run on one of two CPUs in a container", slowManifest, ContainerView, 0, exclusive(1, 1), "cpuset.cpus", "1"),
		run("run on both CPUs", slowManifest, HostView, 0, exclusive(0, 0)),
		run("run with a quota", fastManifest, HostView, 3, throttled, "cpu.max", "20000 100000"),
		run("run with a quota in a container", fastManifest, ContainerView, 3, throttled, "cpu.max", "20000 100000"),
	}
}

const (
	address      = "127.0.0.1:8080"
	slowManifest = "/slow.yaml"
	fastManifest = "/fast.yaml"
)

// manifests are files of the guest. The slow one asks for what an emulated CPU can do, the fast one for far more than a fifth of it
// can. What is due and not sent waits for the timeout, so that of the fast one is far above what it
// takes: no request may be dropped, even if the machine around the emulated one is busy.
var manifests = map[string]string{
	slowManifest: loadTest("slow", "30s", "{name: hold, duration: 2s, requestsPerSecond: 50}", ""),
	fastManifest: loadTest("fast", "40s", "{name: hold, duration: 1s, requestsPerSecond: 60000}",
		`thresholds: [{name: rate, metric: Rate, min: 59990}]`),
}

func loadTest(name, timeout, rate, thresholds string) string {
	return strings.NewReplacer("NAME", name, "TIMEOUT", timeout, "RATE", rate, "THRESHOLDS", thresholds, "ADDRESS", address).Replace(`
apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: NAME}
spec:
  targets: [{name: target, url: "http://ADDRESS", connections: 1, connectTimeout: 1m}]
  templates: [{name: get, method: GET, path: /, timeout: TIMEOUT}]
  chains: [{name: get, target: target, steps: [{template: get}]}]
  rates: [RATE]
  THRESHOLDS
  runner: {cpusPerShard: 1}
`)
}

// files1 makes a Group's files of names and contents in turn.
func files1(keyvals ...string) map[string]string {
	files := map[string]string{}
	for pair := range slices.Chunk(keyvals, 2) {
		files[pair[0]] = pair[1]
	}
	return files
}
