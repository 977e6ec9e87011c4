package runner

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
)

// connecting returns a runner that has its share and connects.
func connecting(t *testing.T, plan *rv.Plan, share rv.Share) *Runner {
	t.Helper()
	r, err := New(plan, Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	if err := r.Update(rv.Update{Revision: 1, Share: share}); err != nil {
		t.Fatal(err)
	}
	return r
}

// ready is a runner that has had a share and has connected.
func ready(t *testing.T, plan *rv.Plan, share rv.Share) *Runner {
	t.Helper()
	r := connecting(t, plan, share)
	await(t, r, rv.StateReady)
	return r
}

// TestSetupRunsOnce: a runner that gets another share before the start, because the test starts with fewer shards, keeps what setup has captured.
func TestSetupRunsOnce(t *testing.T) {
	p := newPeer(t, 0)
	plan := lifeCycle(p.address, rv.Rate{Name: "r", Count: 100, Period: time.Second, Requests: 10})
	create := rv.Chain{Name: "begin", Phase: rv.PhaseSetup, Weight: 1, Captures: []string{"session"}, Publish: []int{1}, Steps: plan.Chains[0].Steps[:1]}
	plan.Globals, plan.Chains = []string{"session"}, append(plan.Chains, create)
	plan.Variables[0] = rv.Variable{Name: "ue", Counter: &rv.Counter{Step: 1}}
	shares, err := split.Distribute(plan, []int{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	r := ready(t, plan, shares[0])
	captured := r.Snapshot().Globals
	for revision := range int64(2) {
		whole := split.Whole(plan)
		whole.Connections[0] -= int(revision)
		if err := r.Update(rv.Update{Revision: 2 + revision, Share: whole}); err != nil {
			t.Fatal(err)
		}
	}
	await(t, r, rv.StateReady)
	s := r.Snapshot()
	if n := p.requests.Load(); n != 1 || s.Counters.Setup.Sent != 1 || len(captured) != 1 || !slices.Equal(s.Globals, captured) {
		t.Errorf("%d requests of setup, %+v; captured %q, and then %q", n, s.Counters.Setup, captured, s.Globals)
	}
	if err := r.Start(rv.Start{At: rv.Clock(), Globals: s.Globals}); err != nil {
		t.Fatal(err)
	}
	<-r.Done()
	if s := r.Snapshot(); s.Counters.Succeeded != 10 {
		t.Errorf("%+v", s.Counters)
	}
	for number, n := range p.bodies {
		if n != 1 {
			t.Errorf("the number %s was drawn %d times", number, n)
		}
	}
}

// inTime runs a story about shares. Its lead is by how much the instants that it depends on are delayed. A story whose
// shares reached the runners too late returns false, checks nothing, and runs again with a longer lead.
func inTime(t *testing.T, story func(t *testing.T, lead time.Duration) bool) {
	t.Helper()
	for lead := 20 * time.Millisecond; lead < time.Minute; lead *= 4 {
		if story(t, lead) {
			return
		}
		t.Logf("shares came late after a lead of %v", lead)
	}
	t.Error("shares always came late")
}

// TestScalingWhileRunning: a second runner joins a test that runs, takes half of it over, and leaves again.
// Rates have changed before and change meanwhile.
func TestScalingWhileRunning(t *testing.T) { inTime(t, scale) }

func scale(t *testing.T, lead time.Duration) bool {
	const ms = int64(time.Millisecond)
	p := newPeer(t, 0)
	rate := func(n int64) []rv.Rate {
		return []rv.Rate{{Name: "r", Count: n, Period: time.Second, Duration: 1600 * time.Millisecond}}
	}
	plan := lifeCycle(p.address, rate(500)...)
	plan.Chains = append(plan.Chains, rv.Chain{Name: "end", Phase: rv.PhaseTeardown, Steps: plan.Chains[0].Steps[:1], Captures: plan.Chains[0].Captures})
	shares, err := split.Distribute(plan, []int{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	stays := ready(t, plan, split.Whole(plan))
	at := rv.Clock() + int64(lead)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(stays.Start(rv.Start{At: at}))
	// 200 ms of 500/s, 600 of 1000/s, 400 of 500/s, a pause of 100, 400 of 500/s.
	missed := rv.Update{Revision: 2, Generation: 5, At: 200 * ms, Rates: rate(1000)}
	must(stays.Update(with(missed, split.Whole(plan))))

	idle := shares[1]
	idle.Slots.Residues = nil
	joins := ready(t, plan, idle)
	must(joins.Start(rv.Start{At: at, Changes: []rv.Update{missed}}))
	if s := joins.Snapshot(); s.Revision != 2 || s.Generation != 5 || s.StartAt != at {
		t.Errorf("revision %d, generation %d, start at %d, want %d", s.Revision, s.Generation, s.StartAt, at)
	}
	members := []int{0, 1}
	for i, r := range []*Runner{stays, joins} {
		must(r.Update(rv.Update{Revision: 3, At: 500 * ms, Members: members, Rates: rate(1000), Share: shares[i]}))
		must(r.Update(rv.Update{Revision: 4, At: 800 * ms, Members: members, Rates: rate(500), Share: shares[i]}))
	}
	must(stays.Update(rv.Update{Revision: 5, At: 1000 * ms, Members: []int{0}, Share: split.Whole(plan)}))
	must(joins.Update(rv.Update{Revision: 5, At: 1000 * ms, Members: []int{0}, Leave: true}))
	must(stays.Update(rv.Update{Revision: 6, At: 1200 * ms, Share: split.Whole(plan), Suspended: true}))
	must(stays.Update(rv.Update{Revision: 7, At: 1300 * ms, Share: split.Whole(plan)}))
	if rv.Clock() >= at+500*ms {
		return false
	}
	<-joins.Done()
	await(t, stays, rv.StateDrained)
	must(stays.Teardown(rv.Teardown{}))
	<-stays.Done()

	first, second := stays.Snapshot(), joins.Snapshot()
	law(t, first)
	law(t, second)
	want := [2]int64{100 + 300 + 150 + 50 + 100 + 200, 150 + 50}
	if got := [2]int64{first.Stages[0].Slots, second.Stages[0].Slots}; got != want {
		t.Errorf("slots %v, want %v", got, want)
	}
	sent := first.Counters.Sent + second.Counters.Sent + first.Counters.Teardown.Sent + second.Counters.Teardown.Sent
	if p.requests.Load() != sent || first.Counters.Teardown.Sent != 1 || second.Counters.Teardown.Sent != 0 {
		t.Errorf("sent %d, in teardown %+v and %+v, the peer counted %d", sent, first.Counters.Teardown, second.Counters.Teardown, p.requests.Load())
	}
	if second.EndedAt != at+1000*ms || second.Problem != "" || second.Stopped != "" {
		t.Errorf("the one that leaves: ended at %d, want %d: %s %s", second.EndedAt-at, 1000*ms, second.Problem, second.Stopped)
	}
	if first.Revision != 7 || second.Revision != 5 {
		t.Errorf("revisions %d and %d, want 7 and 5", first.Revision, second.Revision)
	}
	return true
}

func with(u rv.Update, s rv.Share) rv.Update {
	u.Share = s
	return u
}

// TestLateShareIsTaken: all of a test that has run for a while, on a runner that was idle: what is due comes
// at once.
func TestLateShareIsTaken(t *testing.T) { inTime(t, takeLate) }

func takeLate(t *testing.T, lead time.Duration) bool {
	p := newPeer(t, 0)
	lasts := 400*time.Millisecond + lead // 500 slots a second
	plan := lifeCycle(p.address, rv.Rate{Name: "a", Count: 1000, Period: time.Second, Duration: 100 * time.Millisecond},
		rv.Rate{Name: "b", Count: 500, Period: time.Second, Duration: lasts})
	idle := split.Whole(plan)
	idle.Slots.Residues = nil
	r := ready(t, plan, idle)
	at := rv.Clock() - int64(200*time.Millisecond)
	if err := r.Start(rv.Start{At: at}); err != nil {
		t.Fatal(err)
	}
	end := int64(100*time.Millisecond + lasts)
	over := func() bool { return rv.Clock() >= at+end }
	eventually(func() bool { return over() || r.Snapshot().State == rv.StateRunning })
	err := r.Update(rv.Update{Revision: 2, At: int64(50 * time.Millisecond), Share: split.Whole(plan)})
	if over() {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	<-r.Done()
	s := r.Snapshot()
	law(t, s)
	if s.Stages[0].Slots != 50 || s.Stages[1].Slots != int64(lasts/(2*time.Millisecond)) || s.Stages[1].Ended != end {
		t.Errorf("stages %+v", s.Stages)
	}
	return true
}

func TestMessagesOutOfPlace(t *testing.T) {
	p := newPeer(t, 0)
	plan := lifeCycle(p.address, rv.Rate{Name: "r", Count: 100, Period: time.Second, Duration: time.Minute})
	whole := split.Whole(plan)
	other := split.Whole(plan)
	other.Slots = rv.Slots{Of: 2, Residues: []int64{1}}
	r, err := New(plan, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // never fails
	update := func(u rv.Update) func() error { return func() error { return r.Update(u) } }
	start := func(changes ...rv.Update) func() error {
		return func() error { return r.Start(rv.Start{At: rv.Clock(), Changes: changes}) }
	}
	for _, tt := range []struct {
		name     string
		do       func() error
		want     string // "": it is accepted
		conflict bool
	}{
		{"leave without a share", update(rv.Update{Revision: 1, Leave: true}), "leave: the runner has no share yet", true},
		{"no share", update(rv.Update{Revision: 1}), "share.shard: 0 of 0", false},
		{"no revision", update(rv.Update{Share: whole}), "revision: 0 is not positive", false},
		{"no instant", func() error { return r.Start(rv.Start{}) }, "at: 0 is not positive", false},
		{"a negative lease", func() error { return r.Start(rv.Start{At: 1, LeaseUntil: -1}) }, "leaseUntil and term", false},
		{"an offset before the start", update(rv.Update{Revision: 1, At: 5, Share: whole}), "at: 5 is an offset from the start", true},
		{"the first", update(rv.Update{Revision: 3, Share: whole}), "", false},
		{"suspended before the start", update(rv.Update{Revision: 4, Share: whole, Suspended: true}), "", false},
		{"ready", func() error { await(t, r, rv.StateReady); return nil }, "", false},
		{"an old change", start(rv.Update{Revision: 4}), "changes[0].revision: 4 is not newer than 4", false},
		{"changes out of order", start(rv.Update{Revision: 5}, rv.Update{Revision: 5}), "changes[1].revision", false},
		{"instants out of order", start(rv.Update{Revision: 5, At: 7}, rv.Update{Revision: 6, At: 6}), "changes[1].at: 6 is before 7", false},
		{"a negative instant", start(rv.Update{Revision: 5, At: -7}), "changes[0].at: -7 is before 0", false},
		{"rates of another plan", start(rv.Update{Revision: 5, Rates: make([]rv.Rate, 2)}), "changes[0].rates[0]: exactly one of", false},
		{"a share among changes", start(rv.Update{Revision: 5, Share: whole}), "changes[0]: share and leave", false},
		{"leave among changes", start(rv.Update{Revision: 5, Leave: true}), "changes[0]: share and leave", false},
		{"the start", start(rv.Update{Revision: 5}, rv.Update{Revision: 6, At: int64(time.Hour)}), "", false},
		{"before the last", update(rv.Update{Revision: 7, At: 1, Share: whole}), "at: 1 is before 3600000000000 of revision 6", true},
		{"negative", update(rv.Update{Revision: 7, At: -1, Share: whole}), "at: -1 is negative", false},
		{"leave", update(rv.Update{Revision: 7, At: int64(2 * time.Hour), Leave: true}), "", false},
		{"leave again", update(rv.Update{Revision: 7, At: int64(2 * time.Hour), Leave: true}), "", false},
		{"another share behind it", update(rv.Update{Revision: 8, At: int64(2 * time.Hour), Share: other}), "must leave", true},
	} {
		err := tt.do()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) || errors.Is(err, ErrConflict) != tt.conflict {
			t.Errorf("%s: error %v, want %q, conflict %v", tt.name, err, tt.want, tt.conflict)
		}
	}
	if !eventually(func() bool { return !r.Snapshot().Suspended }) || r.Snapshot().Revision != 7 {
		t.Errorf("revision %d, suspended %v", r.Snapshot().Revision, r.Snapshot().Suspended)
	}
}
