package collect

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/shards"
)

// A runner that does not answer is shown within 10 seconds, and its rate is not that of the test.
func TestSilent(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fleet) {
		f.plan.Rates[0].Duration = 5 * time.Minute
		f.run()
		f.runners[1].Silence()
		v := f.wait(10 * time.Second)
		if !v.Shards[1].Silent || v.Shards[0].Silent || v.Rate > 510 || v.Rate < 490 {
			t.Errorf("silent %v and %v, rate %.0f; want only the second, and 500", v.Shards[0].Silent, v.Shards[1].Silent, v.Rate)
		}
		f.runners[1].Wake()
		if v = f.wait(4 * time.Second); v.Shards[1].Silent || v.Rate < 990 || len(losses(v)) != 0 {
			t.Errorf("silent %v, rate %.0f, losses %v after it answers again", v.Shards[1].Silent, v.Rate, losses(v))
		}
	})
}

// When the operator reaches no runner, no runner is lost, whatever the policy is.
func TestAllSilent(t *testing.T) {
	for name, lease := range map[string]time.Duration{"with leases": 30 * time.Second, "without": 0} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, f *fleet) {
				f.plan.Rates[0].Duration = 10 * time.Minute
				f.plan.LeaseDuration, f.desired.Policy = lease, v1alpha1.ShardLostRebalance
				f.run()
				for _, r := range f.runners {
					r.Silence()
				}
				v := f.wait(5 * time.Minute)
				if len(losses(v)) != 0 || v.Rate != 0 {
					t.Fatalf("losses %v, rate %.0f", losses(v), v.Rate)
				}
				for _, r := range f.runners {
					r.Wake()
				}
				if v = f.end(20 * time.Minute); !v.Over() || f.sent(v) != 600_000 || len(losses(v)) != 0 {
					t.Errorf("states %v, sent %d, losses %v; want all done, 600000, none", states(v), f.sent(v), losses(v))
				}
			})
		})
	}
}

// TestNoAnswerAfterTheEnd: a test that should have ended waits for no runner for ever, whether the operator reaches others or not.
func TestNoAnswerAfterTheEnd(t *testing.T) {
	tests := map[string]struct {
		lease  time.Duration
		silent []int
		stop   bool
		// lost: the runners are not lost before the first time, and lost after the second.
		not, lost time.Duration
		message   string
	}{
		"stop, one runner":        {0, []int{0}, true, 55 * time.Second, 70 * time.Second, "it may send requests until"},
		"stop, all runners":       {0, []int{0, 1, 2}, true, 55 * time.Second, 70 * time.Second, "it may send requests until"},
		"stop, leases":            {30 * time.Second, []int{0, 1, 2}, true, 25 * time.Second, 45 * time.Second, "its lease is over"},
		"plan's end, all runners": {0, []int{0, 1, 2}, false, 59 * time.Minute, 62 * time.Minute, "no answer for"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, max(1, len(tt.silent)), func(t *testing.T, f *fleet) {
				f.plan.Rates[0].Duration = 5 * time.Minute
				f.plan.LeaseDuration, f.desired.Policy = tt.lease, v1alpha1.ShardLostRebalance
				f.desired.Retention = time.Hour
				f.run()
				f.wait(10 * time.Second)
				for _, i := range tt.silent {
					f.runners[i].Silence()
				}
				if tt.stop {
					f.stored.Stop = &record.Stop{Reason: "spec.stop"}
				}
				if v := f.wait(tt.not); len(losses(v)) != 0 {
					t.Fatalf("losses after %v: %v", tt.not, losses(v))
				}
				v := f.wait(tt.lost - tt.not)
				if len(losses(v)) != len(tt.silent) || !v.Over() {
					t.Fatalf("losses after %v: %v, over %v", tt.lost, losses(v), v.Over())
				}
				if l := v.Shards[0].Lost; !strings.Contains(l.Message, tt.message) {
					t.Errorf("message %q, want %q in it", l.Message, tt.message)
				}
			})
		})
	}
}

// TestLease: the share of a silent runner goes to the others after its last lease, and not before. When it answers again it gets the change that
// takes its share, no lease, and its counts are part of the result.
func TestLease(t *testing.T) {
	bubble(t, 3, func(t *testing.T, f *fleet) {
		f.plan.Rates[0].Duration = 10 * time.Minute
		f.plan.LeaseDuration, f.desired.Policy = 30*time.Second, v1alpha1.ShardLostRebalance
		f.run()
		f.wait(20 * time.Second)
		if left := time.Until(f.runners[1].Leased()); left < 25*time.Second || left > 30*time.Second {
			t.Fatalf("its lease ends in %v", left)
		}
		f.runners[1].Silence()
		leased := f.runners[1].Leased()
		v := f.wait(time.Until(leased))
		if len(losses(v)) != 0 {
			t.Fatalf("losses %v before the lease ends", losses(v))
		}
		v = f.wait(8 * time.Second)
		if v.Shards[1].Lost == nil || !v.Shards[1].Lost.Time.After(leased) {
			t.Fatalf("loss %+v, the lease ended at %v", v.Shards[1].Lost, leased)
		}
		f.record(v)
		v = f.wait(2 * time.Second)
		if diff := cmp.Diff([]int{0, 2}, v.Members); diff != "" {
			t.Fatalf("members (-want +got):\n%s", diff)
		}
		if at := f.runners[0].Instants()[2]; !at.After(leased) {
			t.Errorf("the others have its share from %v on, its lease ended at %v", at, leased)
		}
		f.wait(time.Minute)
		f.runners[1].Wake()
		v = f.wait(2 * time.Second)
		if s := v.Shards[1]; s.State != shards.Recovered || s.Lost == nil || !f.runners[1].Leased().Equal(leased) {
			t.Errorf("state %s, loss %v, leased until %v; want Recovered, with a loss, and no lease after %v", s.State, s.Lost, f.runners[1].Leased(), leased)
		}
		if calls := f.runners[1].Calls(); calls[len(calls)-1] != "update" || f.runners[1].Stopped() != nil {
			t.Errorf("calls %v, want the change at the end", calls)
		}
		if got, want := v.Progress.Report.Requests.Sent, f.sent(v); got != want {
			t.Errorf("the report has %d requests, want %d", got, want)
		}
		v = f.end(10 * time.Minute)
		if r := v.Progress.Report; !v.Over() || r.Partial || r.Generator.ShardsLost != 0 {
			t.Errorf("over %v, partial %v, %d shards lost; want a whole result", v.Over(), r.Partial, r.Generator.ShardsLost)
		}
		f.stored.End = &record.End{}
		f.wait(2 * time.Second)
		if !f.runners[1].Acked() {
			t.Error("it was not let go")
		}
	})
}

// TestTakeOverWithARecoveredRunner: the counts of a runner that was lost and answered again are complete for the next operator, too.
func TestTakeOverWithARecoveredRunner(t *testing.T) {
	bubble(t, 3, func(t *testing.T, f *fleet) {
		f.plan.Rates[0].Duration = 5 * time.Minute
		f.plan.LeaseDuration, f.desired.Policy = 30*time.Second, v1alpha1.ShardLostRebalance
		f.run()
		f.runners[1].Silence()
		f.record(f.wait(40 * time.Second))
		f.runners[1].Wake()
		f.record(f.wait(3 * time.Second))
		f.operator()
		v := f.end(10 * time.Minute)
		if r := v.Progress.Report; v.Shards[1].State != shards.Recovered || !v.Over() || r.Partial || r.Generator.ShardsLost != 0 {
			t.Errorf("state %s, over %v, partial %v, %d shards lost; want Recovered and a whole result", v.Shards[1].State, v.Over(), r.Partial, r.Generator.ShardsLost)
		}
	})
}

// TestLeaseOfAFormerLeader: an operator that may have been replaced polls runners and renews no lease.
func TestLeaseOfAFormerLeader(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fleet) {
		f.plan.Rates[0].Duration = 10 * time.Minute
		f.plan.LeaseDuration, f.desired.Policy = 30*time.Second, v1alpha1.ShardLostRebalance
		f.run()
		f.replaced.Store(true)
		f.wait(2 * time.Second)
		leased := f.runners[0].Leased()
		v := f.wait(20 * time.Second)
		if now := f.runners[0].Leased(); !now.Equal(leased) || v.Shards[0].Trouble != "" {
			t.Errorf("the lease was until %v and is until %v, trouble %q; want it not renewed, and no trouble", leased, now, v.Shards[0].Trouble)
		}
		f.replaced.Store(false)
		f.wait(2 * time.Second)
		if !f.runners[0].Leased().After(leased) {
			t.Error("an operator that leads again does not renew the lease")
		}
	})
}

// A process that takes over does not know which leases were sent before.
func TestLeaseAfterTakeOver(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fleet) {
		f.plan.Rates[0].Duration = 10 * time.Minute
		f.plan.LeaseDuration, f.desired.Policy = 30*time.Second, v1alpha1.ShardLostRebalance
		f.run()
		f.wait(5 * time.Second)
		f.runners[1].Silence()
		f.operator()
		if v := f.wait(30 * time.Second); len(losses(v)) != 0 {
			t.Errorf("losses %v before its lease ends for sure", losses(v))
		}
		if v := f.wait(8 * time.Second); len(losses(v)) != 1 {
			t.Error("it is not lost after the lease")
		}
	})
}

// A change that the record does not take is proposed again, and no runner hears of it.
func TestProposalThatIsNotStored(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fleet) {
		f.plan.Rates[0].Duration = 5 * time.Minute
		f.run()
		f.refuse = true
		f.patch(2, 3000, false)
		v := f.wait(10 * time.Second)
		if v.Proposal == nil || f.runners[0].Instants()[2] != (time.Time{}) {
			t.Fatalf("proposal %v, runners have it from %v on", v.Proposal, f.runners[0].Instants()[2])
		}
		if lead := time.Until(f.runners[0].Begun().Add(time.Duration(v.Proposal.At))); lead < 450*time.Millisecond {
			t.Errorf("the proposal takes effect in %v", lead)
		}
		f.refuse = false
		f.wait(2 * time.Second)
		f.wantOneInstant(2)
	})
}
