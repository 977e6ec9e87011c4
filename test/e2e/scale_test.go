//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestScale: kubectl scale from one shard to two, to one and to two again, under load. Not a request is
// lost or sent twice, and the runner that was there from the beginning is the same to the end.
func TestScale(t *testing.T) {
	t.Parallel()
	s := newStory(t, "scale").withTarget()
	const rps, length = 1000, 60
	s.apply(s.quickstart("elastic", 1, hold(rps, length*time.Second), withoutThresholds))
	s.awaitLoad(2*rps, short)
	first := s.runners()

	s.scale("elastic", 2)
	up := s.awaitShards("elastic", 2, 1)
	t.Logf("FIGURE kubectl scale 1 to 2, to the load rebalanced: %v, %v after the new runner's container ran",
		up.AppliedAt.Sub(up.Time.Time).Round(10*time.Millisecond), up.AppliedAt.Sub(s.lastStart()).Round(10*time.Millisecond))
	s.eventually(short, func() string { return s.targetSees(rps*0.9, rps*1.1) })

	s.scale("elastic", 1)
	down := s.awaitShards("elastic", 1, 2)
	t.Logf("FIGURE kubectl scale 2 to 1, to the load rebalanced: %v", down.AppliedAt.Sub(down.Time.Time).Round(10*time.Millisecond))
	s.eventually(short, func() string { return s.targetSees(rps*0.9, rps*1.1) })
	s.awaitRunning(1)

	s.scale("elastic", 2)
	s.awaitShards("elastic", 2, 3)

	lt := s.awaitCondition("elastic", v1alpha1.ConditionFinished, metav1.ConditionTrue, short)
	t.Logf("at the end:\n%s%s", conditions(lt), s.mustKubectl("", "get", "lt", "elastic"))
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	s.wantPassed(lt, "")
	s.wantSameAsTarget(lt)
	if sent := lt.Status.Results.Requests.Sent; sent != rps*length || lt.Status.Results.Partial {
		t.Errorf("sent %d of %d requests, partial %v", sent, rps*length, lt.Status.Results.Partial)
	}
	after := s.runners()
	if !slices.ContainsFunc(after, func(p corev1.Pod) bool { return p.UID == first[0].UID }) {
		t.Error("the first runner was replaced")
	}
	for _, p := range after {
		for _, c := range p.Status.ContainerStatuses {
			if c.RestartCount != 0 || c.State.Terminated != nil && c.State.Terminated.ExitCode != 0 {
				t.Errorf("container %s of %s: %+v", c.Name, p.Name, c.State)
			}
		}
	}
	if r := s.report(lt); len(r.Shards) != 3 {
		t.Errorf("the report has %d runners, want 3", len(r.Shards))
	}
}

// TestStartWithFewer: one of two runners cannot be placed; the test starts with the other one when its
// time is up, and sends the whole of the load.
func TestStartWithFewer(t *testing.T) {
	t.Parallel()
	s := newStory(t, "fewer").withTarget()
	const rps, length = 500, 5
	s.apply(s.quickstart("fewer", 2, hold(rps, length*time.Second), withoutThresholds, apart, func(spec *v1alpha1.LoadTestSpec) {
		one := int32(1)
		spec.Runner.MinShards, spec.Runner.StartTimeout = &one, &v1alpha1.Duration{Duration: 6 * time.Second}
	}))
	lt := s.awaitCondition("fewer", v1alpha1.ConditionFinished, metav1.ConditionTrue, short)
	t.Logf("at the end:\n%s", conditions(lt))
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, "")
	s.wantSameAsTarget(lt)
	if sent := lt.Status.Results.Requests.Sent; sent != rps*length {
		t.Errorf("sent %d of %d requests", sent, rps*length)
	}
	s.eventually(short, func() string { // the one that was never placed is let go
		for _, p := range s.runners() {
			if p.Status.Phase == corev1.PodPending && p.DeletionTimestamp == nil {
				return p.Name + " still waits for a node"
			}
		}
		return ""
	})
}

// TestStartTimeout: without minShards all are needed, and the test ends when they are not there in time.
func TestStartTimeout(t *testing.T) {
	t.Parallel()
	s := newStory(t, "start-timeout").withTarget()
	s.apply(s.quickstart("late", 2, withoutThresholds, apart, func(spec *v1alpha1.LoadTestSpec) {
		spec.Runner.StartTimeout = &v1alpha1.Duration{Duration: 3 * time.Second}
	}))
	lt := s.awaitCondition("late", v1alpha1.ConditionFinished, metav1.ConditionTrue, short)
	t.Logf("at the end:\n%s", conditions(lt))
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonUnschedulable)
	if lt.Status.StartTime != nil || s.stats().Requests != 0 {
		t.Errorf("started at %v, the target got %d requests", lt.Status.StartTime, s.stats().Requests)
	}
}

// apart allows one runner a node, of which there is one.
func apart(spec *v1alpha1.LoadTestSpec) {
	spec.Runner.PodTemplate = &runtime.RawExtension{Raw: []byte(`{"spec":{"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
		{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchExpressions":[{"key":"batch.kubernetes.io/job-completion-index","operator":"Exists"}]}}]}}}}`)}
}

func (s *story) scale(name string, shards int) {
	s.Helper()
	s.mustKubectl("", "scale", "loadtest/"+name, fmt.Sprintf("--replicas=%d", shards))
}

// awaitShards waits until the n-th change of runner.shards is in force, which must be to so many.
func (s *story) awaitShards(name string, shards, n int) (c v1alpha1.Change) {
	s.Helper()
	s.eventually(short, func() string {
		var all []v1alpha1.Change
		for _, c := range s.loadTest(name).Status.Changes {
			if c.Field == "runner.shards" {
				all = append(all, c)
			}
		}
		if len(all) < n || all[n-1].AppliedAt == nil {
			return fmt.Sprintf("changes of runner.shards: %+v", all)
		}
		c = all[n-1]
		return ""
	})
	if c.To != fmt.Sprint(shards) {
		s.Errorf("change %d of runner.shards is to %s, want %d", n, c.To, shards)
	}
	return c
}

// awaitRunning waits until so many runner containers run.
func (s *story) awaitRunning(n int) {
	s.Helper()
	s.eventually(short, func() string {
		running := 0
		for _, p := range s.runners() {
			if p.Status.Phase == corev1.PodRunning {
				running++
			}
		}
		if running != n {
			return fmt.Sprintf("%d runners run, want %d", running, n)
		}
		return ""
	})
}

// lastStart is when the last runner's container began to run.
func (s *story) lastStart() (at time.Time) {
	s.Helper()
	for _, p := range s.runners() {
		for _, c := range p.Status.ContainerStatuses {
			if c.State.Running != nil && c.State.Running.StartedAt.After(at) {
				at = c.State.Running.StartedAt.Time
			}
		}
	}
	return at
}
