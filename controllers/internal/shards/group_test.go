package shards

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/internal/load/split"
)

// driven is a group whose time and runners are variables of a test.
type driven struct {
	*testing.T
	g       *Group
	now     time.Time
	desired Desired
	runners []runnerv1alpha1.Snapshot
	silent  map[int]bool
}

func drive(t *testing.T, shards int) *driven {
	plan := &runnerv1alpha1.Plan{
		Shards: shards, Targets: []runnerv1alpha1.Target{{Name: "pcf", Connections: shards}},
		Rates: []runnerv1alpha1.Rate{{Name: "hold", Count: 1000, Period: time.Second, Duration: 10 * time.Second}},
	}
	d := &driven{T: t, now: time.Unix(1000, 0), desired: Desired{
		Plan: plan, Shards: shards, Policy: v1alpha1.ShardLostFail, Pods: map[int]Pod{}, Record: &record.Record{
			Live: record.Live{Generation: 1}, Changes: []record.Change{{Revision: 1, Generation: 1, Members: split.All(shards)}},
		},
	}}
	for i := range shards {
		d.desired.Pods[i] = Pod{Name: fmt.Sprint("pod-", i), UID: types.UID(fmt.Sprint("uid-", i)), Address: fmt.Sprint("host-", i)}
		d.runners = append(d.runners, runnerv1alpha1.Snapshot{Shard: i, Boot: fmt.Sprint("boot-", i), State: runnerv1alpha1.StateWaiting})
	}
	d.g = New(d.desired, Options{Timeout: 2 * time.Second, Unreachable: time.Minute, Lead: time.Second}, d.now)
	return d
}

// round lets time pass, and answers each call as the runners would.
func (d *driven) round(after time.Duration) (kinds []Kind, v *View) {
	d.now = d.now.Add(after)
	d.g.Accept(d.desired, d.now)
	out := d.g.Next(Moment{Now: d.now, Leading: true, Pace: Pace{Least: time.Second, Regular: time.Second, Hurried: 100 * time.Millisecond}})
	for _, c := range out.Calls {
		kinds = append(kinds, c.Kind)
		d.g.Heard(c.ID, d.answer(c), d.now)
	}
	return kinds, out.View
}

func (d *driven) answer(c Call) Answer {
	if d.silent[c.ID.Shard] {
		return Answer{Err: errors.New("no answer")}
	}
	s := &d.runners[c.ID.Shard]
	s.Sequence++
	s.Clock = int64(d.now.Sub(time.Unix(0, 0)))
	switch c.Kind {
	case CallUpdate:
		s.Revision, s.Generation = c.Update.Revision, c.Update.Generation
		if s.State == runnerv1alpha1.StateWaiting {
			s.State = runnerv1alpha1.StateReady
		}
	case CallStart:
		s.State, s.StartAt, s.StartedAt = runnerv1alpha1.StateRunning, s.Clock, s.Clock
	case CallStop:
		s.State, s.Stopped = runnerv1alpha1.StateDrained, c.Stop.Reason
	case CallTeardown:
		s.State = runnerv1alpha1.StateDone
	case CallAck:
		return Answer{}
	}
	n := *s
	return Answer{Snapshot: &n, Clock: Sample{Offset: int64(d.now.Sub(d.g.zero)) - s.Clock, RTT: time.Millisecond}}
}

// TestGroup: from the first look to the acknowledgement, each step follows from what the runners said and what is desired.
func TestGroup(t *testing.T) {
	d := drive(t, 2)
	change := func(f func(*record.Record)) func() {
		return func() {
			next := *d.desired.Record
			f(&next)
			d.desired.Record = &next
		}
	}
	start := change(func(r *record.Record) { // of a later generation with the same load
		r.Live.Generation = 2
		r.Start = &record.Start{Live: r.Live}
	})
	stop := change(func(r *record.Record) { r.Stop = &record.Stop{Reason: "spec.stop"} })
	end := change(func(r *record.Record) { r.End = &record.End{} })
	for i, step := range []struct {
		what   string
		do     func()
		want   Kind
		states State
	}{
		{"the first look", nil, CallSnapshot, Absent},
		{"shares", nil, CallUpdate, Connecting},
		{"a look at runners that are ready", nil, CallSnapshot, Ready},
		{"the start", start, CallStart, Ready},
		{"a look at runners that send", nil, CallSnapshot, Active},
		{"the stop", stop, CallStop, Active},
		{"teardown", nil, CallTeardown, Draining},
		{"nothing before the results are stored", nil, CallNone, Done},
		{"the acknowledgement", end, CallAck, Done},
		{"nothing", nil, CallNone, Done},
	} {
		if step.do != nil {
			step.do()
		}
		got, v := d.round(time.Second)
		var want []Kind
		if step.want != CallNone {
			want = []Kind{step.want, step.want}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("step %d, %s (-want +got):\n%s", i, step.what, diff)
		}
		if v.Proposal != nil {
			t.Errorf("step %d, %s: proposes %+v", i, step.what, v.Proposal)
		}
		if r := d.desired.Record; (v.Progress != nil) != (r.Start != nil && r.End == nil) {
			t.Errorf("step %d, %s: progress %+v; want some between the start and the end", i, step.what, v.Progress)
		}
		for _, s := range v.Shards {
			if s.State != step.states {
				t.Errorf("step %d, %s: shard %d is %s, want %s", i, step.what, s.Index, s.State, step.states)
			}
		}
	}
}

// TestGroupWithNoNews: nothing is due until the time that a round returned.
func TestGroupWithNoNews(t *testing.T) {
	d := drive(t, 1)
	d.g.Accept(d.desired, d.now)
	m := Moment{Now: d.now, Leading: true, Pace: Pace{Least: time.Second, Regular: time.Second, Hurried: 100 * time.Millisecond}}
	out := d.g.Next(m)
	if len(out.Calls) != 1 || out.Wait != 100*time.Millisecond || d.g.Due(d.now.Add(out.Wait-1)) || !d.g.Due(d.now.Add(out.Wait)) {
		t.Errorf("%d calls, the next round after %s", len(out.Calls), out.Wait)
	}
	m.Now = m.Now.Add(out.Wait)
	if out = d.g.Next(m); len(out.Calls) != 0 || out.View != nil {
		t.Errorf("calls %v of a runner that is in a call, view %v; want none", out.Calls, out.View)
	}
}

// TestEarlyEndStaysALoss: a runner that failed has final counts, and its load is missing. It is asked again while another runner is silent.
func TestEarlyEndStaysALoss(t *testing.T) {
	d := drive(t, 3)
	d.desired.Policy = v1alpha1.ShardLostContinue
	d.round(time.Second)
	d.round(time.Second)
	d.round(time.Second)
	d.desired.Record = &record.Record{Start: &record.Start{}}
	d.round(time.Second)
	d.runners[1].State, d.runners[1].Problem, d.runners[1].Message = runnerv1alpha1.StateDone, runnerv1alpha1.ProblemInternal, "out of files"
	d.round(time.Second)
	d.silent = map[int]bool{2: true}
	before := d.runners[1].Sequence
	var v *View
	for range 12 {
		_, v = d.round(time.Second)
	}
	if d.runners[1].Sequence == before {
		t.Fatal("the runner was not asked again")
	}
	if s := v.Shards[1]; s.State != Lost || s.Lost == nil || s.Lost.Message != "out of files" {
		t.Errorf("state %s, loss %v; want Lost", s.State, s.Lost)
	}
}

// TestChangeAfterALoss: a change can be decided before a loss, and stored with it. It still names the shard of the lost runner, and gives no share
// to the runner that has the index now, which would send the slots of the lost one again.
func TestChangeAfterALoss(t *testing.T) {
	d := drive(t, 2)
	d.desired.Policy = v1alpha1.ShardLostRebalance
	change := record.Change{Revision: 2, Generation: 2, At: int64(5 * time.Second), Members: split.All(2)}
	for _, step := range []struct {
		do   func(*record.Record)
		want bool // the second runner has a share
	}{
		{func(*record.Record) {}, true},
		{func(*record.Record) {}, true},
		{func(r *record.Record) {
			r.Start, r.Pods = &record.Start{}, map[int]record.Pod{0: {UID: "uid-0"}, 1: {UID: "uid-1"}}
		}, true},
		{func(*record.Record) {
			d.desired.Ended = []Recorded{{Shard: &record.Shard{Index: 1, Pod: "uid-1", Member: true, Loss: &record.Loss{}}}}
			d.desired.Pods[1] = Pod{Name: "pod-1b", UID: "uid-1b", Address: "host-1b"}
			d.runners[1] = runnerv1alpha1.Snapshot{Shard: 1, Boot: "boot-1b", State: runnerv1alpha1.StateWaiting}
		}, false},
		{func(r *record.Record) { r.Changes = append(r.Changes, change) }, false},
	} {
		next := *d.desired.Record
		step.do(&next)
		d.desired.Record = &next
		if _, v := d.round(time.Second); v.Shards[1].Member != step.want {
			t.Errorf("changes %+v: the runner in pod %s is a member: %v", next.Changes, v.Shards[1].Pod.Name, v.Shards[1].Member)
		}
	}
}

// TestLostShareStays: with Continue, the pod that the Job creates in place of a lost one is not asked for anything, and the others keep their
// shares, until a change removed the shard.
func TestLostShareStays(t *testing.T) {
	d := drive(t, 2)
	d.desired.Policy = v1alpha1.ShardLostContinue
	d.round(time.Second)
	d.round(time.Second)
	d.desired.Record = &record.Record{Changes: d.desired.Record.Changes, Start: &record.Start{},
		Pods: map[int]record.Pod{0: {UID: "uid-0"}, 1: {UID: "uid-1"}}}
	d.round(time.Second)
	d.desired.Ended = []Recorded{{Shard: &record.Shard{Index: 1, Pod: "uid-1", Member: true, Loss: &record.Loss{}}}}
	d.desired.Pods[1] = Pod{Name: "pod-1b", UID: "uid-1b", Address: "host-1b"}
	d.runners[1] = runnerv1alpha1.Snapshot{Shard: 1, Boot: "boot-1b", State: runnerv1alpha1.StateWaiting}
	for range 5 {
		_, v := d.round(time.Second)
		if s := v.Shards[1]; s.State != Lost || s.Pod.Name != "pod-1" || v.Proposal != nil {
			t.Fatalf("shard 1 is %s in pod %s, proposal %+v; want the lost runner, and no change", s.State, s.Pod.Name, v.Proposal)
		}
	}
	next := *d.desired.Record
	next.Changes = append(next.Changes, record.Change{Revision: 2, Generation: 2, At: int64(9 * time.Second), Members: []int{0}})
	d.desired.Record, d.desired.Shards = &next, 1
	if _, v := d.round(time.Second); v.Shards[1].Pod.UID != "uid-1b" {
		t.Errorf("after the change, shard 1 is in pod %s; want pod-1b", v.Shards[1].Pod.Name)
	}
}
