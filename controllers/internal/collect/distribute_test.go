package collect

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/runnertest"
	"github.com/h2surge/h2surge/controllers/internal/shards"
)

// scale asks for other shards, and lets the Job controller make pods for those that are new.
func (f *fleet) scale(shards int, generation int64) {
	f.desired.Shards, f.stored.Live.Generation = shards, generation
	for i := range shards {
		if _, ok := f.desired.Pods[i]; !ok {
			f.pod(i)
		}
	}
	f.view()
}

// pod makes a runner for a shard.
func (f *fleet) pod(i int) *runnertest.Runner {
	n := len(f.runners)
	r := runnertest.New(f.plan, fmt.Sprint("boot-", n), time.Duration(n)*time.Hour).Latency(3 * time.Millisecond)
	f.mu.Lock()
	f.runners = append(f.runners, r)
	f.mu.Unlock()
	f.desired.Pods[i] = shards.Pod{Name: fmt.Sprint("pod-", n), UID: types.UID(fmt.Sprint("uid-", n)), Address: fmt.Sprint(n)}
	return r
}

// startWith is the reconciler's decision to start with fewer shards.
func (f *fleet) startWith(members ...int) {
	next := f.stored.Changes[len(f.stored.Changes)-1]
	next.Revision, next.Members = next.Revision+1, members
	f.stored.Changes = append(f.stored.Changes, next)
	f.view()
}

// record stores what is known of runners that have left or were lost, as the reconciler does.
func (f *fleet) record(v *shards.View) {
	for i := range v.Shards {
		s := &v.Shards[i]
		if s.Lost == nil && !s.Left {
			continue
		}
		rec := shards.Recorded{Shard: &record.Shard{Index: i, Pod: s.Pod.UID, Member: s.Member, Loss: s.Lost}, Snapshot: s.Snapshot}
		if s.State == shards.Recovered {
			rec.State = record.ShardDone
		}
		if s.Lost != nil && !s.Pod.Ended {
			rec.Address = s.Pod.Address
		}
		k := slices.IndexFunc(f.desired.Ended, func(r shards.Recorded) bool { return r.Pod == s.Pod.UID })
		switch {
		case k < 0:
			f.desired.Ended = append(f.desired.Ended, rec)
		case s.State == shards.Recovered:
			f.desired.Ended[k] = rec
		}
		delete(f.desired.Pods, i)
	}
	f.view()
}

// sentByAll counts former runners too.
func (f *fleet) sentByAll(v *shards.View) int64 {
	n := f.sent(v)
	for i := range v.Former {
		n += v.Former[i].Snapshot.Counters.Sent
	}
	return n
}

func TestScaleUpAndDown(t *testing.T) {
	bubble(t, 1, func(t *testing.T, f *fleet) {
		f.plan.Rates[0].Duration = 30 * time.Second
		f.run()
		f.scale(3, 2)
		v := f.wait(3 * time.Second)
		if diff := cmp.Diff([]int{0, 1, 2}, v.Members); diff != "" || v.NotDistributed != "" {
			t.Fatalf("members (-want +got):\n%s%s", diff, v.NotDistributed)
		}
		if v = f.wait(3 * time.Second); v.Rate < 990 || v.Rate > 1010 {
			t.Errorf("rate %.0f, want 1000", v.Rate)
		}
		if own := v.Shards[2].Snapshot.Counters.Sent; own < 900 {
			t.Errorf("the third has sent %d only", own)
		}
		f.scale(2, 3)
		v = f.wait(2 * time.Second)
		if diff := cmp.Diff([]int{0, 1}, v.Members); diff != "" || !v.Shards[2].Left || v.Over() {
			t.Fatalf("left %v, over %v, members (-want +got):\n%s", v.Shards[2].Left, v.Over(), diff)
		}
		if f.runners[2].Acked() {
			t.Error("it was let go before its result was stored")
		}
		f.record(v)
		f.wait(time.Second)
		f.scale(3, 4) // the same shard again, by another pod
		v = f.wait(3 * time.Second)
		if diff := cmp.Diff([]int{0, 1, 2}, v.Members); diff != "" || len(v.Former) != 1 {
			t.Fatalf("%d former runners, members (-want +got):\n%s", len(v.Former), diff)
		}
		v = f.wait(time.Minute)
		if n := f.sentByAll(v); !v.Over() || n != 30_000 || len(losses(v)) != 0 {
			t.Errorf("states %v, sent %d, losses %v; want all done, 30000, none", states(v), n, losses(v))
		}
	})
}

// A leaver is acknowledged as soon as what it has counted is stored.
func TestLeaverIsLetGo(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fleet) {
		f.run()
		pod := f.desired.Pods[1]
		f.scale(1, 2)
		v := f.wait(2 * time.Second)
		f.record(v)
		f.desired.Pods[1] = pod // it still runs
		f.wait(time.Second)
		if !f.runners[1].Acked() {
			t.Error("it was not acknowledged")
		}
	})
}

func TestTakeOverWhileScaling(t *testing.T) {
	for _, after := range []time.Duration{0, 50 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 700 * time.Millisecond, 2 * time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			bubble(t, 1, func(t *testing.T, f *fleet) {
				f.plan.Rates[0].Duration = 20 * time.Second
				f.run()
				f.patch(2, 2000, false)
				f.wait(time.Second)
				f.scale(2, 3)
				f.wait(after)
				f.operator()
				v := f.wait(4 * time.Second)
				if diff := cmp.Diff([]int{0, 1}, v.Members); diff != "" {
					t.Fatalf("members (-want +got):\n%s", diff)
				}
				f.scale(1, 4)
				f.wait(after)
				f.operator()
				v = f.wait(3 * time.Second)
				if !v.Shards[1].Left {
					t.Errorf("states %v, members %v: the second has not left", states(v), v.Members)
				}
				f.record(v)
				f.operator()
				begun := f.runners[0].Begun()
				at := f.runners[0].Instants()[2]
				want := 1000*at.Sub(begun).Seconds() + 2000*(20*time.Second-at.Sub(begun)).Seconds()
				v = f.wait(time.Minute)
				if n := float64(f.sentByAll(v)); !v.Over() || n < want-1 || n > want+1 || len(losses(v)) != 0 {
					t.Errorf("states %v, sent %.0f, losses %v; want all done, %.0f, none", states(v), n, losses(v), want)
				}
			})
		})
	}
}

// A successor hears from others that a shard has no part any more before it hears from the shard itself.
func TestTakeOverFromOneThatHasDealtAway(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fleet) {
		f.plan.Rates[0].Duration = 10 * time.Second
		f.run()
		f.wait(time.Second)
		f.scale(1, 2)
		f.wait(2 * time.Second)
		f.runners[1].Latency(400 * time.Millisecond)
		f.operator()
		v := f.wait(2 * time.Second)
		if s := v.Shards[1]; !s.Left || !s.Member {
			t.Errorf("left %v, member %v; want both", s.Left, s.Member)
		}
	})
}

func TestLostPartIsDealtOut(t *testing.T) {
	for _, redeal := range []bool{true, false} {
		t.Run(fmt.Sprint(redeal), func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, f *fleet) {
				f.plan.Rates[0].Duration = 20 * time.Second
				if redeal {
					f.desired.Policy = v1alpha1.ShardLostRebalance
				}
				f.run()
				f.runners[1].Silence()
				p := f.desired.Pods[1]
				p.Ended, p.Why = true, "OOMKilled"
				f.desired.Pods[1] = p
				v := f.wait(2 * time.Second)
				if len(v.Members) != 3 {
					t.Errorf("members %v before it is stored what the lost one has counted", v.Members)
				}
				f.record(v)
				v = f.wait(4 * time.Second)
				want, members := 1000.0, []int{0, 2}
				if !redeal {
					want, members = 1000.0*2/3, []int{0, 1, 2}
				}
				if v.Rate < want-10 || v.Rate > want+10 {
					t.Errorf("rate %.0f, want %.0f", v.Rate, want)
				}
				if diff := cmp.Diff(members, v.Members); diff != "" {
					t.Errorf("members (-want +got):\n%s", diff)
				}
				if v = f.wait(time.Minute); !v.Over() || len(losses(v)) != 1 {
					t.Errorf("states %v, losses %v", states(v), losses(v))
				}
			})
		})
	}
}

// Those that were not ready in time join when they are.
func TestStartWithSome(t *testing.T) {
	bubble(t, 3, func(t *testing.T, f *fleet) {
		f.plan.Rates[0].Duration = 20 * time.Second
		f.runners[1].Connecting(10 * time.Second)
		if v := f.wait(3 * time.Second); v.AllReady {
			t.Fatal("all are ready")
		}
		f.startWith(0, 2)
		f.wait(time.Second)
		v := f.run()
		if diff := cmp.Diff([]int{0, 2}, v.Members); diff != "" {
			t.Fatalf("members (-want +got):\n%s", diff)
		}
		f.operator()
		if v = f.wait(2500 * time.Millisecond); v.Rate < 900 || v.Rate > 1100 {
			t.Errorf("rate %.0f, want the whole one", v.Rate)
		}
		v = f.wait(10 * time.Second)
		if diff := cmp.Diff([]int{0, 1, 2}, v.Members); diff != "" {
			t.Fatalf("members (-want +got):\n%s", diff)
		}
		v = f.wait(time.Minute)
		if n := f.sent(v); !v.Over() || n != 20_000 {
			t.Errorf("states %v, sent %d of 20000", states(v), n)
		}
	})
}

// A pod that does not come to be ready before the end holds nobody up, and is let go.
func TestJoinerThatComesTooLate(t *testing.T) {
	bubble(t, 1, func(t *testing.T, f *fleet) {
		f.run()
		f.scale(2, 2)
		f.runners[1].Connecting(time.Hour)
		v := f.wait(15 * time.Second)
		if !v.Over() || len(losses(v)) != 0 {
			t.Fatalf("over %v, states %v, losses %v", v.Over(), states(v), losses(v))
		}
		f.stored.End = &record.End{}
		f.wait(2 * time.Second)
		if !f.runners[1].Acked() || f.runners[1].Stopped() == nil {
			t.Error("it was not let go")
		}
	})
}

// One of two that join is long in coming: the other does not wait for it for ever.
func TestJoinersDoNotWaitForEachOther(t *testing.T) {
	bubble(t, 1, func(t *testing.T, f *fleet) {
		f.plan.Rates[0].Duration = time.Minute
		f.run()
		f.scale(3, 2)
		f.runners[2].Connecting(time.Hour)
		v := f.wait(4 * time.Second)
		if diff := cmp.Diff([]int{0, 1}, v.Members); diff != "" {
			t.Errorf("members (-want +got):\n%s", diff)
		}
	})
}

// A test that started with fewer than all of its shards continues with these when another operator takes over: a shard without a pod had no
// share that could be lost.
func TestSuccessorOfATestThatStartedWithFewer(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fleet) {
		f.plan.Rates[0].Duration = time.Minute
		late := f.desired.Pods[1]
		delete(f.desired.Pods, 1)
		f.startWith(0)
		f.wait(2 * time.Second)
		f.begin()
		f.wait(3 * time.Second)
		f.operator()
		if v := f.wait(3 * time.Second); len(losses(v)) != 0 {
			t.Fatalf("losses %v", losses(v))
		}
		f.desired.Pods[1] = late
		v := f.wait(4 * time.Second)
		if diff := cmp.Diff([]int{0, 1}, v.Members); diff != "" || len(losses(v)) != 0 {
			t.Errorf("losses %v, members (-want +got):\n%s", losses(v), diff)
		}
	})
}

// A successor waits for a runner whose shard had another runner before, if the record gives the share to the present one.
func TestSuccessorWaitsForAMemberThatReplacedAnother(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fleet) {
		f.plan.Rates[0].Duration = 20 * time.Second
		f.run()
		f.scale(1, 2)
		f.record(f.wait(3 * time.Second))
		f.wait(time.Second)
		f.scale(2, 3)
		if v := f.wait(4 * time.Second); len(v.Members) != 2 {
			t.Fatalf("members %v", v.Members)
		}
		f.stored.Pods = map[int]record.Pod{0: {UID: f.desired.Pods[0].UID}, 1: {UID: f.desired.Pods[1].UID}}
		f.runners[2].Silence()
		f.operator()
		if v := f.wait(30 * time.Second); v.Over() || !v.Shards[1].Member {
			t.Fatalf("over %t, member %t; the counts of runner 1 are not known", v.Over(), v.Shards[1].Member)
		}
		f.runners[2].Wake()
		if v := f.wait(5 * time.Second); !v.Over() || f.sentByAll(v) != 20_000 {
			t.Errorf("over %t, sent %d of 20000", v.Over(), f.sentByAll(v))
		}
	})
}
