package runner

import (
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
)

// TestLease: a runner whose lease has expired sends nothing until a renewal, and ends with its plan.
func TestLease(t *testing.T) {
	t.Parallel()
	far := rv.Clock() + int64(time.Hour)
	for name, tt := range map[string]struct {
		start  rv.Start
		renew  []rv.Lease
		repeat int64 // LeaseUntil of a repeated Start
		sends  bool
		gaps   int64
		term   int64
	}{
		"valid":               {start: rv.Start{LeaseUntil: far, Term: 1}, sends: true, term: 1},
		"none":                {start: rv.Start{}, gaps: 1},
		"renewed first":       {start: rv.Start{}, renew: []rv.Lease{{Until: far}}, sends: true, gaps: 1},
		"expired":             {start: rv.Start{LeaseUntil: 1, Term: 3}, gaps: 1, term: 3},
		"renewed":             {start: rv.Start{LeaseUntil: 1, Term: 3}, renew: []rv.Lease{{Until: far, Term: 4}}, sends: true, gaps: 1, term: 4},
		"renewed by a Start":  {start: rv.Start{LeaseUntil: 1}, repeat: far, sends: true, gaps: 1},
		"of a former leader":  {start: rv.Start{LeaseUntil: 1, Term: 3}, renew: []rv.Lease{{Until: far, Term: 2}}, gaps: 1, term: 3},
		"after a newer term":  {start: rv.Start{LeaseUntil: 1}, renew: []rv.Lease{{Term: 2}, {Until: far, Term: 1}}, gaps: 1, term: 2},
		"read after its time": {start: rv.Start{LeaseUntil: 1}, renew: []rv.Lease{{Until: 2}}, gaps: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, 0)
			plan := lifeCycle(p.address, rv.Rate{Name: "r", Count: 100, Period: time.Second, Duration: 300 * time.Millisecond})
			plan.LeaseDuration = time.Minute
			r := ready(t, plan, split.Whole(plan))
			tt.start.At = rv.Clock()
			if err := r.Start(tt.start); err != nil {
				t.Fatal(err)
			}
			for _, l := range tt.renew {
				r.Renew(l)
			}
			if tt.repeat != 0 {
				if err := r.Start(rv.Start{At: tt.start.At, LeaseUntil: tt.repeat}); err != nil {
					t.Fatal(err)
				}
			}
			<-r.Done()
			s := r.Snapshot()
			law(t, s)
			if sent := p.requests.Load(); sent != s.Counters.Sent || sent > 0 != tt.sends || s.Counters.Sent+s.Counters.Dropped != 30 {
				t.Errorf("the target got %d requests; %+v", sent, s.Counters)
			}
			if s.LeaseGaps.Count > tt.gaps || !tt.sends && s.LeaseGaps.Count != tt.gaps || s.Term != tt.term || s.LeaseExpired {
				t.Errorf("gaps %+v, term %d, expired %v", s.LeaseGaps, s.Term, s.LeaseExpired)
			}
		})
	}
}

// TestLeaseExpiredShows: the snapshot of a paused runner says that it is paused.
func TestLeaseExpiredShows(t *testing.T) {
	p := newPeer(t, 0)
	plan := lifeCycle(p.address, rv.Rate{Name: "r", Count: 100, Period: time.Second, Duration: time.Hour})
	plan.LeaseDuration = time.Minute
	r := ready(t, plan, split.Whole(plan))
	if err := r.Start(rv.Start{At: rv.Clock(), LeaseUntil: 1}); err != nil {
		t.Fatal(err)
	}
	if s := r.Snapshot(); !s.LeaseExpired || s.State != rv.StateRunning || s.LeaseUntil != 1 {
		t.Errorf("state %s, expired %v, until %d", s.State, s.LeaseExpired, s.LeaseUntil)
	}
	until := rv.Clock() + int64(time.Hour)
	r.Renew(rv.Lease{Until: until})
	if s := r.Snapshot(); s.LeaseExpired || s.LeaseUntil != until {
		t.Errorf("after the renewal: expired %v, until %d", s.LeaseExpired, s.LeaseUntil)
	}
}

func TestLeaseWithoutDuration(t *testing.T) {
	p := newPeer(t, 0)
	plan := lifeCycle(p.address, rv.Rate{Name: "r", Count: 100, Period: time.Second, Duration: time.Second})
	r := ready(t, plan, split.Whole(plan))
	if err := r.Start(rv.Start{At: rv.Clock(), LeaseUntil: rv.Clock()}); err == nil {
		t.Error("a plan without leaseDuration takes a lease")
	}
}
