package pace

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// model is a schedule as plain as possible: it lists all slots of the test, nanosecond by nanosecond, from the start
// again for each answer.
type model struct {
	rates   []rv.Rate
	slots   rv.Slots // at the start
	start   int64
	changes []Change
	// ends are closed loops that ended because the worker had sent all.
	ends []stageEnd
	// sent are the slots that the worker has taken, position those from which it continues a closed loop.
	sent     map[modelSlot]bool
	position []int64
	visited  int
}

type stageEnd struct {
	stage int
	at    int64
}

type modelSlot struct {
	stage int
	n     int64
}

type dueSlot struct {
	modelSlot
	due int64
}

// state is where the load is at an instant.
type state struct {
	stage     int
	rates     []rv.Rate
	rate      rv.Rate // the active one
	slots     rv.Slots
	suspended bool
	begun     int64
	active    int64 // active time of the stage
	zero      int64 // active time at which the rate took effect
	base, n   int64 // slots before that, and slots before now
	earlier   int64
	spans     []Span
	// all and own are the slots before now: of all workers, and of the worker.
	all, own []dueSlot
}

func (m *state) paced() bool {
	return m.stage >= 0 && m.stage < len(m.rates) && !m.rate.ClosedLoop
}

func (m *state) over() bool { return m.stage == len(m.rates) }

// next begins the next stage.
func (m *state) next(at int64) {
	if m.stage >= 0 {
		s := &m.spans[m.stage]
		s.Ended, s.To = true, at
		switch {
		case !m.rate.ClosedLoop:
			m.earlier += m.n
		case m.rate.Requests > 0:
			m.earlier += m.rate.Requests
		default:
			m.earlier += m.active
		}
	}
	m.stage++
	m.begun, m.active, m.zero, m.base, m.n = at, 0, 0, 0, 0
	if !m.over() {
		m.rate = m.rates[m.stage]
		m.spans[m.stage] = Span{Begun: true, From: at}
	}
}

func (m *state) change(c *Change) {
	m.rates, m.suspended = c.Rates, c.Suspended
	if c.Slots != nil {
		m.slots = *c.Slots
	}
	if m.paced() && !m.rate.SameRate(&m.rates[m.stage]) {
		m.rate = m.rates[m.stage]
		m.zero, m.base = m.active, m.n
	}
}

// isDue returns whether slot n is due at the active time, or was before.
func (m *state) isDue(n int64) bool { return m.reached(position(&m.rate, m.base, n)) }

// reached returns whether the integral of the rate is above a position after this nanosecond.
func (m *state) reached(position int64) bool {
	after, denominator := integral(&m.rate, m.active+1)
	before, _ := integral(&m.rate, m.zero)
	return (after-before)<<positionShift > position*denominator
}

// integral returns the number of slots of an even rate at the active time t, as a fraction.
func integral(r *rv.Rate, t int64) (numerator, denominator int64) {
	if r.RampFrom == nil {
		return t * r.Count, int64(r.Period)
	}
	t = min(t, int64(r.Duration))
	from, d := *r.RampFrom, int64(r.Duration)
	return 2*from*t*d + (r.Count-from)*t*t, 2 * d * int64(r.Period)
}

// points are the Poisson processes of the plan, by seed. Tests of this package do not run in parallel.
var points = map[uint64]*poisson{}

// position returns the position of slot n on the integral since slot base, in units.
func position(r *rv.Rate, base, n int64) int64 {
	k := n - base
	switch r.Arrivals {
	case rv.ArrivalsPoisson:
		p := points[r.Seed]
		if p == nil {
			p = newPoisson(Even{1, 1}, r.Seed, 0, nil)
			points[r.Seed] = p
		}
		units := p.position(n)
		if base > 0 {
			units -= p.position(base - 1)
		}
		return units
	case rv.ArrivalsBurst:
		k -= k % r.BurstSize
	}
	return k << positionShift
}

// ends returns whether the stage ends now.
func (m *state) ends() bool {
	switch {
	case m.stage < 0:
		return true
	case m.over() || m.suspended:
		return false
	case m.rate.Duration > 0 && m.active >= int64(m.rate.Duration):
		return true
	}
	alone := m.rate // without bursts, so that the last one may be smaller
	if alone.Arrivals == rv.ArrivalsBurst {
		alone.Arrivals = rv.ArrivalsEven
	}
	return m.paced() && m.rate.Requests > 0 && m.reached(position(&alone, m.base, m.rate.Requests))
}

func has(s rv.Slots, n int64) bool { return slices.Contains(s.Residues, n%s.Of) }

// at lists all slots before an instant.
func (m *model) at(until int64) *state {
	out := &state{stage: -1, rates: m.rates, slots: m.slots, spans: make([]Span, len(m.rates))}
	changes := m.changes
	for len(changes) > 0 && changes[0].At <= m.start {
		out.change(&changes[0])
		changes = changes[1:]
	}
	ended := func(t int64) bool {
		return slices.ContainsFunc(m.ends, func(e stageEnd) bool { return e.stage == out.stage && e.at == t })
	}
	for t := m.start; t < until && !out.over(); t++ {
		for len(changes) > 0 && changes[0].At == t {
			out.change(&changes[0])
			changes = changes[1:]
		}
		for out.ends() || ended(t) {
			out.next(t)
		}
		for out.paced() && !out.suspended && (out.rate.Requests == 0 || out.n < out.rate.Requests) && out.isDue(out.n) {
			s := dueSlot{modelSlot{out.stage, out.n}, t}
			out.all = append(out.all, s)
			if has(out.slots, out.n) {
				out.own = append(out.own, s)
			}
			out.n++
		}
		switch {
		case out.over():
		case out.suspended:
			out.spans[out.stage].Paused++
		default:
			out.active++
		}
	}
	for len(changes) > 0 && changes[0].At <= until {
		out.change(&changes[0])
		changes = changes[1:]
	}
	for _, e := range m.ends {
		if e.stage == out.stage && e.at >= until {
			out.next(e.at)
		}
	}
	return out
}

// nextOwn returns the first slot from n on that is the worker's, Never without residues.
func nextOwn(s rv.Slots, n int64) int64 {
	if len(s.Residues) == 0 {
		return Never
	}
	for !has(s, n) {
		n++
	}
	return n
}

// exhausted returns whether the worker has sent all requests of a closed loop.
func (m *model) exhausted(at *state) bool {
	if at.stage < 0 || at.over() || !at.rate.ClosedLoop || at.suspended || at.rate.Requests == 0 {
		return false
	}
	n := nextOwn(at.slots, m.position[at.stage])
	return n >= at.rate.Requests && (n != Never || at.rate.Duration == 0)
}

// walk takes all slots before an instant.
func (m *model) walk(until, now int64) (out []dueSlot) {
	for {
		at := m.at(until)
		for _, s := range at.own {
			if !m.sent[s.modelSlot] {
				m.sent[s.modelSlot] = true
				out = append(out, s)
			}
		}
		for ; m.visited <= min(at.stage, len(m.rates)-1); m.visited++ {
			if m.rates[m.visited].ClosedLoop {
				m.settle(at.slots, m.visited)
			}
		}
		if !m.exhausted(at) {
			return out
		}
		e := stageEnd{at.stage, now}
		if end := at.begun + at.spans[at.stage].Paused + int64(at.rate.Duration); at.rate.Duration > 0 {
			e.at = min(e.at, end)
		}
		m.ends = append(m.ends, e)
	}
}

// settle lets a closed loop continue at the worker's next slot.
func (m *model) settle(slots rv.Slots, stage int) {
	if n := nextOwn(slots, m.position[stage]); n != Never {
		m.position[stage] = n
	}
}

// before returns the state to which a change applies: no closed loop has ended at its instant or later.
func (m *model) before(at int64) *state {
	m.ends = slices.DeleteFunc(m.ends, func(e stageEnd) bool { return e.at >= at })
	return m.at(max(at, m.start))
}

func (m *model) change(c Change) {
	before := m.before(c.At)
	m.changes = append(m.changes, c)
	if c.At <= m.start {
		before.stage = -1
	}
	m.visited = max(0, before.stage)
	if c.Slots != nil && !before.over() && before.stage >= 0 && before.rate.ClosedLoop && before.rate.Requests == 0 && !cmp.Equal(before.slots, *c.Slots) {
		m.position[before.stage] = max(m.position[before.stage], before.active)
	}
}

// pair is a schedule and its model.
type pair struct {
	t    *testing.T
	plan *plan
	s    Schedule
	m    model
	r    *rand.Rand
	// pending are changes that the worker does not know yet, each with the instant at which it learns of it.
	pending []announced
	now     int64
	// leaves is how likely the worker leaves after a turn.
	leaves float64
	// seen counts how often the worker has taken a slot.
	seen   map[modelSlot]int
	events int
}

type announced struct {
	Change
	known int64
}

func newPair(t *testing.T, r *rand.Rand, of *plan, worker int, pending []announced) *pair {
	slots := of.shares[0][worker]
	p := &pair{t: t, plan: of, r: r, s: New(of.rates, slots), pending: pending, seen: map[modelSlot]int{}}
	p.m = model{rates: of.rates, slots: slots, start: of.start, sent: map[modelSlot]bool{}, position: make([]int64, len(of.rates))}
	p.s.Start(of.start)
	return p
}

func (p *pair) fatalf(format string, args ...any) {
	p.t.Fatalf("%+v\n"+format, append([]any{p.plan}, args...)...)
}

// walk takes or drops all slots before an instant, and compares them.
func (p *pair) walk(until int64) {
	want := p.m.walk(until, p.now)
	var got []dueSlot
	dropped, drop := 0, p.r.IntN(8) == 0
	for {
		if drop {
			dropped += int(p.s.Drop(until))
		}
		for p.s.Due() < until {
			due := p.s.Due()
			got = append(got, dueSlot{modelSlot{p.s.Stage(), p.s.Take()}, due})
		}
		if p.s.Advance(until) {
			continue
		}
		if !p.s.Exhausted() {
			break
		}
		p.s.EndStage(p.now)
	}
	p.events += len(want)
	for _, s := range got {
		p.seen[s.modelSlot]++
	}
	if drop {
		if dropped != len(want) || len(got) > 0 {
			p.fatalf("%d slots were dropped and %d taken, want %d dropped: %v", dropped, len(got), len(want), want)
		}
		for _, s := range want {
			p.seen[s.modelSlot]++
		}
		return
	}
	if !slices.Equal(want, got) {
		p.fatalf("at %d, slots before %d:\nwant %v\ngot  %v", p.now, until, want, got)
	}
}

// turn is what a worker does in a turn.
func (p *pair) turn(now int64) {
	p.now = now
	for len(p.pending) > 0 && p.pending[0].known <= now && p.pending[0].At <= now {
		c := p.pending[0]
		p.pending = p.pending[1:]
		p.walk(c.At)
		passed := p.m.before(c.At)
		p.s.Change(c.Change)
		p.m.change(c.Change)
		p.events++
		if want, got := p.passed(passed, c.At), p.s.Passed(c.At); got != want {
			p.fatalf("Passed(%d) = %d, want %d", c.At, got, want)
		}
	}
	p.walk(now + 1)
	p.closedLoop()
	if p.r.IntN(3) == 0 {
		p.compare()
	}
	p.events++
}

// passed returns how many slots all workers had in a state.
func (p *pair) passed(at *state, t int64) int64 {
	switch {
	case at.stage < 0 || at.over() || t <= p.m.start:
		return at.earlier
	case !at.rate.ClosedLoop:
		return at.earlier + at.n
	case at.rate.Requests > 0:
		return at.earlier + at.rate.Requests
	}
	return at.earlier + at.active
}

// closedLoop sends some requests of a closed loop.
func (p *pair) closedLoop() {
	for range p.r.IntN(6) {
		if !p.s.ClosedLoop() || p.s.Exhausted() {
			break
		}
		stage := p.s.Stage()
		want := nextOwn(p.s.segments[p.s.current].slots, p.m.position[stage])
		if got := p.s.Slot(); got != want || p.s.Take() != want {
			p.fatalf("the slot of a closed loop is %d, want %d", got, want)
		}
		p.m.position[stage] = nextOwn(p.s.segments[p.s.current].slots, want+1)
		p.events++
	}
	p.walk(p.now + 1)
}

// compare compares all other answers.
func (p *pair) compare() {
	at := p.m.at(p.now + 1)
	type answers struct {
		Stage                                int
		Earlier                              int64
		Over, ClosedLoop, Suspended, Changed bool
		Spans                                []Span
		Paused, StageEnd, LoadEnd            int64
	}
	want := answers{
		Stage: at.stage, Earlier: at.earlier, Over: at.over(), Suspended: at.suspended && !at.over(), Spans: at.spans,
		ClosedLoop: at.stage >= 0 && !at.over() && at.rate.ClosedLoop && !at.suspended && len(at.slots.Residues) > 0,
		LoadEnd:    Never, StageEnd: Never,
	}
	if n := len(p.m.changes); n > 0 {
		last := &p.m.changes[n-1]
		want.Changed = last.At > p.m.start
	}
	for i := range at.spans {
		want.Paused += at.spans[i].Paused
		if i == at.stage && at.suspended { // the state includes this nanosecond
			want.Spans[i].Paused--
		}
	}
	got := answers{
		Stage: p.s.Stage(), Earlier: p.s.Earlier(), Over: p.s.Over(), ClosedLoop: p.s.ClosedLoop(), Suspended: p.s.Suspended(),
		Changed: p.s.Changed(), Paused: p.s.Paused(), StageEnd: Never, LoadEnd: Never,
	}
	for i := range p.m.rates {
		got.Spans = append(got.Spans, p.s.Span(i, p.now))
	}
	if at.suspended {
		want.Paused, got.Paused = 0, 0
	}
	if p.r.IntN(16) == 0 {
		const horizon = 4000
		later := p.m.at(p.now + horizon)
		if at.stage >= 0 && !at.over() && later.spans[at.stage].Ended {
			want.StageEnd = later.spans[at.stage].To
		}
		if later.over() {
			want.LoadEnd = later.spans[len(later.spans)-1].To
		}
		if at.stage >= 0 {
			got.StageEnd = p.s.StageEnd()
		}
		got.LoadEnd = p.s.LoadEnd()
	}
	if !reflect.DeepEqual(want, got) {
		p.fatalf("at %d (-want +got):\n%s", p.now, cmp.Diff(want, got))
	}
}

// leave ends the load of the worker, at this instant or late.
func (p *pair) leave() {
	at := p.now - p.r.Int64N(40)
	for i := range p.m.changes {
		at = max(at, p.m.changes[i].At)
	}
	if at <= p.m.start {
		return
	}
	before := p.m.before(at)
	if !before.over() {
		before.spans[before.stage].Ended, before.spans[before.stage].To = true, at
	}
	p.s.Leave(at)
	var got []Span
	for i := range p.m.rates {
		got = append(got, p.s.Span(i, p.now))
	}
	if diff := cmp.Diff(before.spans, got); diff != "" {
		p.fatalf("stages after leaving at %d (-want +got):\n%s", at, diff)
	}
	p.s.Change(Change{At: at, Rates: p.m.rates})
	if !p.s.Over() || p.s.Due() != Never || p.s.Advance(Never) || p.s.Exhausted() || p.s.ClosedLoop() {
		p.fatalf("the load continues after leaving at %d", at)
	}
	p.events++
}

// plan is what a random test does.
type plan struct {
	seed    uint64
	rates   []rv.Rate
	start   int64
	changes []Change     // without slots
	shares  [][]rv.Slots // of each worker, at the start and after each change; nil: no other share
	workers int
}

func randomSlots(r *rand.Rand, workers int) []rv.Slots {
	of := int64(1 + r.IntN(7))
	out := make([]rv.Slots, workers)
	for i := range out {
		out[i].Of = of
	}
	for n := range of {
		w := &out[r.IntN(workers)]
		w.Residues = append(w.Residues, n)
	}
	return out
}

func randomRate(r *rand.Rand, rate rv.Rate) rv.Rate {
	if rate.ClosedLoop {
		return rate
	}
	rate.Count, rate.Period = 1+r.Int64N(5), time.Duration(1+r.IntN(12))
	if rate.RampFrom != nil {
		from := r.Int64N(6)
		rate.RampFrom = &from
	}
	if rate.Duration > 0 && r.IntN(6) == 0 {
		rate.Count = 0
	}
	return rate
}

// randomArrivals sets what does not change in a stage.
func randomArrivals(r *rand.Rand, rate *rv.Rate) {
	if rate.ClosedLoop {
		return
	}
	if rate.Duration > 0 && r.IntN(3) == 0 {
		rate.RampFrom = new(int64)
	}
	switch r.IntN(4) {
	case 0:
		rate.Arrivals, rate.Seed = rv.ArrivalsPoisson, r.Uint64()
	case 1:
		rate.Arrivals, rate.BurstSize = rv.ArrivalsBurst, 1+r.Int64N(4)
	}
}

// randomPlan returns a plan. If sameForAll is true, no stage ends earlier on a worker than on others.
func randomPlan(r *rand.Rand, sameForAll bool) *plan {
	p := &plan{start: 100 + r.Int64N(20), workers: 1 + r.IntN(4)}
	var total int64
	for i := range 1 + r.IntN(4) {
		rate := rv.Rate{Name: fmt.Sprint(i), ClosedLoop: r.IntN(4) == 0, Duration: time.Duration(10 + r.IntN(70))}
		switch r.IntN(3) {
		case 0:
			rate.Requests = 1 + r.Int64N(60)
		case 1:
			rate.Requests, rate.Duration = 1+r.Int64N(60), 0
		}
		if sameForAll && rate.ClosedLoop {
			rate.Requests, rate.Duration = 0, max(rate.Duration, 20)
		}
		randomArrivals(r, &rate)
		total += max(int64(rate.Duration), 50)
		p.rates = append(p.rates, randomRate(r, rate))
	}
	p.shares = append(p.shares, randomSlots(r, p.workers))
	rates := p.rates
	for range r.IntN(9) {
		at := p.start - 5 + r.Int64N(total+20)
		if r.IntN(4) == 0 { // at the end of a stage
			at = p.start
			for i := range r.IntN(len(p.rates)) {
				at += int64(p.rates[i].Duration)
			}
		}
		p.changes = append(p.changes, Change{At: at})
	}
	slices.SortFunc(p.changes, func(a, b Change) int { return int(a.At - b.At) })
	for i := range p.changes {
		c := &p.changes[i]
		if r.IntN(2) == 0 {
			rates = slices.Clone(rates)
			k := r.IntN(len(rates))
			rates[k] = randomRate(r, rates[k])
		}
		c.Rates, c.Suspended = rates, r.IntN(4) == 0 && i < len(p.changes)-1
		var shares []rv.Slots
		if r.IntN(2) == 0 {
			shares = randomSlots(r, p.workers)
		}
		p.shares = append(p.shares, shares)
	}
	return p
}

// worker returns worker i of the plan. It learns of some changes late if late is true.
func (p *plan) worker(t *testing.T, r *rand.Rand, i int, late bool) *pair {
	var pending []announced
	var known int64
	for k, c := range p.changes {
		if shares := p.shares[k+1]; shares != nil {
			c.Slots = &shares[i]
		}
		known = max(known, c.At)
		if late && r.IntN(2) == 0 {
			known += r.Int64N(120)
		}
		pending = append(pending, announced{c, known})
	}
	return newPair(t, r, p, i, pending)
}

// run takes turns until the load is over on a worker.
func (p *pair) run() {
	for now := p.m.start - 10; ; now += 1 + p.r.Int64N(25) {
		p.turn(now)
		if p.r.Float64() < p.leaves {
			p.leave()
			break
		}
		if len(p.pending) == 0 && (p.s.Over() || now > p.m.start+5000) {
			break
		}
	}
	for s, n := range p.seen {
		if n != 1 {
			p.fatalf("the worker has taken %v %d times", s, n)
		}
	}
}

// TestScheduleAgainstAPlainList compares schedules with the model under random changes, also late ones. FuzzSchedule is the
// long form.
func TestScheduleAgainstAPlainList(t *testing.T) {
	for seed, events := uint64(0), 0; events < 50_000; seed++ {
		events += checkSchedule(t, seed)
	}
}

// FuzzSchedule is TestScheduleAgainstAPlainList and TestOneOwnerPerSlot with any seed.
func FuzzSchedule(f *testing.F) {
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) {
		checkSchedule(t, seed)
		checkOwners(t, seed)
	})
}

// checkSchedule compares a worker of a random plan with the model, and returns the number of events.
func checkSchedule(t *testing.T, seed uint64) int {
	clear(points)
	r := rand.New(rand.NewPCG(seed, 7))
	p := randomPlan(r, false)
	p.seed = seed
	w := p.worker(t, r, r.IntN(p.workers), true)
	w.leaves = r.Float64() * 0.05
	w.run()
	return w.events
}

// TestOneOwnerPerSlot: all workers together take each slot. If they learn of all changes in time, they take it once.
func TestOneOwnerPerSlot(t *testing.T) {
	for seed := range uint64(500) {
		checkOwners(t, seed)
	}
}

// checkOwners counts how often the workers of a random plan take each slot. With an odd seed, they learn of some changes late.
func checkOwners(t *testing.T, seed uint64) {
	clear(points)
	r := rand.New(rand.NewPCG(seed, 8))
	p := randomPlan(r, true)
	p.seed = seed
	late := seed%2 == 1
	seen := map[modelSlot]int{}
	var all []dueSlot
	for i := range p.workers {
		w := p.worker(t, r, i, late)
		w.run()
		for s := range w.seen {
			seen[s]++
		}
		all = w.m.at(w.now + 1).all
	}
	if len(seen) != len(all) && !late {
		t.Fatalf("%v: %d slots were taken of %d", p, len(seen), len(all))
	}
	for _, s := range all {
		if n := seen[s.modelSlot]; n < 1 || n > 1 && !late {
			t.Fatalf("%v: %v was taken by %d workers", p, s, n)
		}
	}
}
