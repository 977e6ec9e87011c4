package loop

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/slots"
)

// fleet is the shards of a test, each with two workers, whose members change while it runs. The shards are
// run one after another, in simulated time of their own.
type fleet struct {
	t    *testing.T
	plan *rv.Plan
	// first are the members at the start; each of events is what comes then.
	first  []int
	events []event
	// answer is how long the peer takes.
	answer time.Duration
	// sent counts the requests by stage and due time, slots by stage and slot, numbers by the value that occurs once.
	sent    map[slot]int
	slots   map[numbered]int
	numbers map[string]int
	// repeats counts the slots that a worker has sent again.
	repeats int
	// ended counts the workers by the offset of their end.
	ended map[int64]int
}

// event is a change for all. Without members, they stay. The shards of late learn of it late.
type event struct {
	at        time.Duration
	rates     []rv.Rate
	suspended bool
	members   []int
	late      map[int]time.Duration
}

type slot struct {
	stage int16
	due   time.Duration
}

// numbered is slot n of a stage.
type numbered struct {
	stage int16
	n     int64
}

const workersEach = 2

func newFleet(t *testing.T, first []int, events []event, rates ...rv.Rate) *fleet {
	p := gets(rates...)
	p.Targets[0].Connections = 12
	p.Chains[0].Steps[0].Path = rv.Text{{Literal: "/"}, {Variable: 1}}
	p.Variables = []rv.Variable{{Name: "n", Counter: &rv.Counter{Step: 1}}}
	for i := range rates { // chains with stages of their own
		if n := rates[i].Chain; n > len(p.Chains) {
			p.Chains = append(p.Chains, p.Chains[0])
			p.Chains[n-1].Name, p.Chains[n-1].StartAfter = fmt.Sprintf("c%d", n), time.Duration(n-2)*150*time.Millisecond
		}
	}
	return &fleet{t: t, plan: p, first: first, events: events, sent: map[slot]int{}, slots: map[numbered]int{}, numbers: map[string]int{}, ended: map[int64]int{}}
}

// run runs each shard that is a member at any time, from when it is until it is not.
func (f *fleet) run() {
	members := f.first
	for _, id := range members {
		f.live(id, -1)
	}
	for i, s := range f.events {
		if s.members == nil {
			continue
		}
		for _, id := range s.members {
			if !slices.Contains(members, id) {
				f.live(id, i)
			}
		}
		members = s.members
	}
}

func (f *fleet) share(members []int, id int) *rv.Share {
	f.t.Helper()
	shares, err := split.Distribute(f.plan, members)
	if err != nil {
		f.t.Fatal(err)
	}
	if i := slices.Index(members, id); i >= 0 {
		return &shares[i]
	}
	return nil
}

// live runs a shard that is a member from a step on: -1 from the start, else it has an empty share before.
func (f *fleet) live(id, from int) {
	members := f.first
	if from >= 0 {
		members = f.events[from].members
	}
	share := f.share(members, id)
	if from >= 0 {
		share.Slots.Residues = nil
	}
	for k, part := range split.Workers(share, workersEach) {
		f.work(id, k, from, part)
	}
}

// work runs the k-th worker of a shard.
func (f *fleet) work(id, k, from int, part rv.Share) {
	b := newBenchOf(f.t, f.plan, part, ok(0))
	b.serve = f.count(b)
	b.clock = int64(time.Hour) + int64(id)*1e9
	b.lead = 10*time.Millisecond + time.Duration(id*137_611+k) // clocks are never compared exactly
	if from >= 0 {
		b.lead -= f.events[from].at - 5*time.Millisecond
	}
	for i := range max(from, 0) {
		s := &f.events[i]
		b.missed = append(b.missed, slots.Change{At: int64(s.at), Rates: f.rates(s), Suspended: s.suspended})
	}
	gone := false
	for i := max(from, 0); i < len(f.events) && !gone; i++ {
		s := &f.events[i]
		c := slots.Change{Rates: f.rates(s), Suspended: s.suspended}
		if s.members != nil {
			if share := f.share(s.members, id); share == nil {
				c.Leave, gone = true, true
			} else {
				c.Share = &split.Workers(share, workersEach)[k]
			}
		}
		b.announce(c, s.at, s.late[id])
	}
	got := b.run()
	if got.Sent != got.Done || got.Dropped != 0 {
		f.t.Errorf("shard %d: %+v", id, got)
	}
	if !gone {
		f.ended[b.w.Read().EndedAt-b.startAt]++
	}
}

func (f *fleet) rates(s *event) []rv.Rate {
	if s.rates == nil {
		return f.plan.Rates
	}
	return s.rates
}

// announce gives the worker a change early, or late by so much.
func (b *bench) announce(c slots.Change, at, late time.Duration) {
	b.onStart = append(b.onStart, func() {
		c.At = b.startAt + int64(at)
		if late == 0 {
			b.w.Change(c)
			return
		}
		b.in(time.Duration(c.At+int64(late)-b.clock), func() { b.w.Do(func(w *Worker) { w.Change(c) }) })
	})
}

// count is a peer that notes for which slot a request is.
func (f *fleet) count(b *bench) func(*simRequest) reply {
	own := map[numbered]bool{}
	return func(r *simRequest) reply {
		for id := range book.ID(b.w.requests.Len()) {
			q := b.w.requests.At(id)
			if !q.InFlight {
				continue
			}
			if b.w.cfg.Rates[q.Stage].ChainsPerSecond && !q.Starts {
				continue
			}
			if q.Stream == r.Stream && b.conns[r.Conn].data == q.Conn {
				f.sent[slot{q.Stage, time.Duration(q.Due - b.startAt)}]++
				s := b.w.slots.OfStage(int(q.Stage))
				is := numbered{q.Stage, s.Passed(q.Due) - s.Passed(b.startAt+b.w.slots.Span(int(q.Stage), b.clock).From)}
				if own[is] && !s.Rate().ClosedLoop {
					f.repeats++
				}
				own[is] = true
				f.slots[is]++
			}
		}
		f.numbers[r.Fields[":path"]]++
		return reply{After: f.answer, Status: 200}
	}
}

// alone is what one shard sends when it learns of all changes in time.
func (f *fleet) alone() *fleet {
	one := newFleet(f.t, []int{0}, nil, f.plan.Rates...)
	one.plan = f.plan
	for _, s := range f.events {
		s.members, s.late = nil, nil
		one.events = append(one.events, s)
	}
	one.run()
	return one
}

func (f *fleet) total() (n int) {
	for _, k := range f.sent {
		n += k
	}
	return n
}

// lost are the slots that one shard has sent and the fleet has not.
func (f *fleet) lost(one *fleet) (n int) {
	for s := range one.slots {
		if f.slots[s] == 0 {
			n++
		}
	}
	return n
}

func (f *fleet) repeated() string {
	for s, n := range f.sent {
		if n != 1 {
			return fmt.Sprintf("the slot of stage %d due at %v %d times", s.stage, s.due, n)
		}
	}
	return f.repeatedNumber()
}

func (f *fleet) repeatedNumber() string {
	for v, n := range f.numbers {
		if n != 1 {
			return fmt.Sprintf("the number %s %d times", v, n)
		}
	}
	return ""
}

// scalings are tests in which rates change, the load is suspended, and shards join, leave and are lost.
func scalings() map[string]*fleet {
	const ms = time.Millisecond
	first, second, third := perSecond(997, 700*ms), perSecond(401, 600*ms), perSecond(1511, 500*ms)
	rates := []rv.Rate{first, second, third}
	bent := []rv.Rate{perSecond(1373, 700*ms), perSecond(211, 600*ms), third}
	bounded := []rv.Rate{{Name: "a", Count: 997, Period: time.Second, Requests: 601}, {Name: "b", Count: 503, Period: time.Second, Requests: 499}}
	own := func(r rv.Rate, chain int) rv.Rate {
		r.Chain = chain
		return r
	}
	beside := []rv.Rate{first, second, own(perSecond(53, 800*ms), 2), own(perSecond(307, 500*ms), 2), own(chainsPerSecond(211, 900*ms), 3)}
	besideBent := slices.Clone(beside)
	besideBent[0].Count, besideBent[2].Count, besideBent[4].Count = 1373, 97, 67
	boundedBent := slices.Clone(bounded)
	boundedBent[0].Count, boundedBent[1].Count = 1999, 307
	return map[string]*fleet{
		"1, 2, 1, 3": {plan: gets(rates...), first: []int{0}, events: []event{
			{at: 101 * ms, rates: bent},
			{at: 203 * ms, members: []int{0, 1}, rates: bent},
			{at: 303 * ms, rates: bent, suspended: true},
			{at: 371 * ms, rates: bent},
			{at: 503 * ms, rates: bent, members: []int{0}},
			{at: 807 * ms, suspended: true},
			{at: 853 * ms},
			{at: 1107*ms + 1, members: []int{0, 1, 2}},
		}},
		"one of three is lost": {plan: gets(rates...), first: []int{0, 1, 2}, events: []event{
			{at: 403 * ms, rates: bent},
			{at: 655 * ms, rates: bent, members: []int{0, 2}},
			{at: 905 * ms, rates: rates},
			{at: 1405 * ms, rates: rates, members: []int{0, 2, 3}},
		}},
		"in a pause": {plan: gets(rates...), first: []int{0, 1}, events: []event{
			{at: 203 * ms, suspended: true},
			{at: 255 * ms, suspended: true, members: []int{0, 1, 2, 3}},
			{at: 301 * ms, suspended: true, members: []int{1, 2, 3}},
			{at: 307 * ms, rates: bent},
			{at: 955 * ms, rates: bent, suspended: true, members: []int{2, 3}},
			{at: 999 * ms, rates: bent, members: []int{0, 1, 2}},
		}},
		"bounded by requests": {plan: gets(bounded...), first: []int{0}, events: []event{
			{at: 101 * ms, members: []int{0, 1, 2}},
			{at: 203 * ms, rates: boundedBent},
			{at: 703 * ms, rates: boundedBent, members: []int{1}},
			{at: 801 * ms, rates: bounded, members: []int{0, 1}},
		}},
		"own rates": {plan: gets(beside...), first: []int{0, 1}, events: []event{
			{at: 101 * ms, suspended: true}, // in the pause before the third schedule
			{at: 137 * ms},
			{at: 203 * ms, rates: besideBent, members: []int{0, 1, 2}},
			{at: 403 * ms, rates: besideBent, suspended: true},
			{at: 455 * ms, rates: besideBent, members: []int{1, 2}},
			{at: 903 * ms, members: []int{1, 2, 3}},
			{at: 1111 * ms, members: []int{0, 3}},
		}},
		"at the ends of stages": {plan: gets(rates...), first: []int{0, 1}, events: []event{
			{at: 700 * ms, rates: bent, members: []int{0}},
			{at: 1300 * ms, members: []int{0, 1, 2}, suspended: true},
			{at: 1400 * ms, members: []int{1, 2}},
		}},
	}
}

// TestScaling: whichever shards join and leave, all shards together send each slot once, no number is drawn twice,
// and all see the end at the same offset.
func TestScaling(t *testing.T) {
	for name, s := range scalings() {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, s.first, s.events, s.plan.Rates...)
			f.run()
			one := f.alone()
			if diff := cmp.Diff(one.sent, f.sent); diff != "" {
				t.Errorf("slots (-of one shard +of all):\n%s", diff)
			}
			if again := f.repeated(); again != "" {
				t.Error(again)
			}
			if len(f.ended) != 1 || len(one.ended) != 1 {
				t.Errorf("ends: %v, of one shard %v", f.ended, one.ended)
			}
		})
	}
}

// TestLateShare: a shard that learns late of another share sends each of its slots once, also if another stage is active.
func TestLateShare(t *testing.T) {
	for name, s := range scalings() {
		whole := newFleet(t, s.first, s.events, s.plan.Rates...).alone()
		for i := range s.events {
			if s.events[i].members == nil {
				continue
			}
			for _, late := range []time.Duration{time.Microsecond, 30 * time.Millisecond, 400 * time.Millisecond} {
				if !whole.before(s.events[i].at + late) {
					continue // the worker has ended before
				}
				t.Run(fmt.Sprintf("%s/%d by %v", name, i, late), func(t *testing.T) {
					f := newFleet(t, s.first, slices.Clone(s.events), s.plan.Rates...)
					f.delay(i, late)
					f.run()
					if lost := f.lost(whole); lost > 0 {
						t.Errorf("%d slots are lost", lost)
					}
				})
			}
		}
	}
}

// before says whether an instant is before the end of the test.
func (f *fleet) before(at time.Duration) bool {
	for end := range f.ended {
		return int64(at) < end
	}
	return false
}

// delay makes the last member after an event learn of it late, and of later events not before it.
func (f *fleet) delay(i int, late time.Duration) {
	who := f.events[i].members[len(f.events[i].members)-1]
	for k := i; k < len(f.events); k++ {
		f.events[k].late = map[int]time.Duration{who: max(late-f.events[k].at+f.events[i].at, 1)}
	}
}

// TestLateChangesOfAStageThatIsOver: if its share is the same, a shard that learns of a change when another
// stage is active sends as many requests as a shard that learns of it in time.
func TestLateChangesOfAStageThatIsOver(t *testing.T) {
	const ms = time.Millisecond
	rates := []rv.Rate{perSecond(997, 700*ms), perSecond(401, 600*ms), perSecond(1511, 500*ms)}
	faster := []rv.Rate{perSecond(1373, 700*ms), perSecond(503, 600*ms), rates[2]}
	byRequests := []rv.Rate{{Name: "a", Count: 1000, Period: time.Second, Requests: 700}, rates[1]}
	slower := []rv.Rate{{Name: "a", Count: 500, Period: time.Second, Requests: 700}, rates[1]}
	late := func(d time.Duration) map[int]time.Duration { return map[int]time.Duration{1: d, 2: d / 3} }
	for name, f := range map[string]*fleet{
		"a rate":            newFleet(t, []int{0, 1, 2}, []event{{at: 650 * ms, rates: faster, late: late(90 * ms)}}, rates...),
		"over two":          newFleet(t, []int{0, 1, 2}, []event{{at: 650 * ms, rates: faster, late: late(800 * ms)}}, rates...),
		"a pause":           newFleet(t, []int{0, 1, 2}, []event{{at: 680 * ms, suspended: true, late: late(100 * ms)}, {at: 900 * ms, late: late(3)}}, rates...),
		"a pause that was":  newFleet(t, []int{0, 1, 2}, []event{{at: 680 * ms, suspended: true, late: late(300 * ms)}, {at: 710 * ms, late: late(270*ms + 3)}}, rates...),
		"a bound":           newFleet(t, []int{0, 1, 2}, []event{{at: 600 * ms, rates: slower, late: late(250 * ms)}}, byRequests...),
		"the last, drained": newFleet(t, []int{0, 1, 2}, []event{{at: 1750 * ms, suspended: true, late: late(49 * ms)}, {at: 2 * time.Second, late: late(3)}}, rates...),
	} {
		t.Run(name, func(t *testing.T) {
			f.t = t
			f.run()
			one := f.alone()
			if f.total() != one.total() || len(f.ended) != 1 || len(one.ended) != 1 {
				t.Errorf("%d are sent, by one %d; ends %v and %v", f.total(), one.total(), f.ended, one.ended)
			}
			for end := range one.ended {
				if f.ended[end] == 0 {
					t.Errorf("ends %v and %v", f.ended, one.ended)
				}
			}
		})
	}
}
