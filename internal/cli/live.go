package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/terminal"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/mask"
	"github.com/h2surge/h2surge/internal/report/build"
)

// live changes a test while it runs: the rate of the active stage, a pause, or all rates of the
// manifest that was read again. It belongs to the goroutine that runs the execution.
type live struct {
	engine engine
	share  rv.Share
	job    *job
	shown  *progress
	// reread compiles the manifest again; nil: it cannot be read twice. name is the name of the manifest.
	reread func() (*job, error)
	name   string
	// reading delivers the manifest that is being read; nil: none is. Reading may take forever, for example that of a FIFO
	// without a writer.
	reading chan recompiled
	// changed receives new rates, nil while the load is suspended, and the time from which they are active.
	changed func(at time.Duration, rates []rv.Rate)

	// file has the rates of the manifest, steps how far keys have moved each of them, and rates
	// the active ones.
	file, rates []rv.Rate
	steps       []int
	suspended   bool
	revision    int64
	// startAt is on the engine's clock. Before begin, the file is not read but noted to be.
	begun, noted bool
	startAt      int64
}

// recompiled is a LoadTest that was compiled again, or why it could not be compiled.
type recompiled struct {
	job *job
	err error
}

// newLive is for an engine that has had the share's first revision.
func newLive(e engine, share rv.Share, j *job, shown *progress) *live {
	return &live{
		engine: e, share: share, job: j, shown: shown, changed: func(time.Duration, []rv.Rate) {},
		file: j.plan.Rates, rates: j.plan.Rates, steps: make([]int, len(j.plan.Rates)), revision: firstRevision,
	}
}

// begin is called once the start instant is known.
func (l *live) begin(at int64) {
	l.begun, l.startAt = true, at
	if l.noted {
		l.again()
	}
}

// press does what a key asks for.
func (l *live) press(key byte) {
	if l.job.plan.Search != nil && key != terminal.KeyHelp {
		l.shown.show("not changed: the search chooses the rates")
		return
	}
	switch key {
	case terminal.KeyFaster:
		l.turn(1)
	case terminal.KeySlower:
		l.turn(-1)
	case terminal.KeyPause:
		l.pause()
	case terminal.KeyHelp:
		l.shown.show(terminal.KeysHelp)
	}
}

// elapsed returns the time since the start.
func (l *live) elapsed() time.Duration { return time.Duration(rv.Clock() - l.startAt) }

// stage is the index of the active stage; -1: there is not one.
func (l *live) stage() int {
	now, err := build.NewLive(l.job.plan, nil, []rv.Snapshot{*l.engine.Snapshot()})
	if err != nil || now.Stage == "" {
		return -1
	}
	return slices.IndexFunc(l.rates, func(r rv.Rate) bool { return r.Name == now.Stage })
}

// turn moves the rate of the active stage by steps.
func (l *live) turn(by int) {
	i := l.stage()
	switch {
	case i < 0:
		l.shown.show("no stage is active: there is no rate to change")
		return
	case l.file[i].ClosedLoop && l.file[i].Count == 0:
		l.shown.show(fmt.Sprintf("stage %s is a closed loop without concurrency: it has no rate", l.file[i].Name))
		return
	case l.file[i].EndsByCount():
		l.shown.show(fmt.Sprintf("stage %s is a closed loop that ends by requests: its concurrency cannot change",
			l.file[i].Name))
		return
	}
	rate, ok := stepped(l.file[i], l.steps[i]+by)
	if !ok {
		l.shown.show(fmt.Sprintf("rate %s: keys cannot change it further", l.rateOf(i)))
		return
	}
	rates := slices.Clone(l.rates)
	rates[i] = rate
	if l.put(rates, l.suspended) {
		l.steps[i] += by
		l.shown.show("rate " + l.rateOf(i))
	}
}

// rateOf is how a stage's rate is shown.
func (l *live) rateOf(i int) string {
	return build.RateText(&l.rates[i]) + map[bool]string{true: ", paused"}[l.suspended]
}

func (l *live) pause() {
	i := l.stage()
	if i < 0 {
		l.shown.show("no stage is active: there is nothing to pause")
		return
	}
	if !l.put(l.rates, !l.suspended) {
		return
	}
	switch {
	case l.suspended:
		l.shown.show("paused")
	case l.rates[i].ClosedLoop:
		l.shown.show("resumed, closed loop")
	default:
		l.shown.show("resumed, rate " + l.rateOf(i))
	}
}

// again begins to read the manifest; took applies its rates. During a search, nothing is read. It returns false if
// there is no file to read, or if the terminal has closed, so that SIGHUP does not mean that a user changed the file.
func (l *live) again() bool {
	if l.reread == nil || l.shown.gone() {
		return false
	}
	if l.job.plan.Search != nil {
		l.shown.warn(l.name + ": not read again: the search chooses the rates")
		return true
	}
	if l.noted = !l.begun; l.noted {
		l.shown.show("the manifest will be read again at the start")
		return true
	}
	if l.reading != nil {
		l.shown.warn(l.name + ": is still being read")
		return true
	}
	read := make(chan recompiled, 1)
	l.reading = read
	go func() {
		j, err := l.reread()
		read <- recompiled{j, err}
	}()
	return true
}

// took applies the rates of a manifest that was read again. It shows mistakes, and the test continues unchanged.
func (l *live) took(c recompiled) {
	l.reading = nil
	if c.err == nil {
		c.err = refusal(l.name, l.job, c.job)
	}
	if c.err == nil {
		l.adopt(c.job.plan.Rates)
		return
	}
	for line := range strings.SplitSeq(c.err.Error(), "\n") {
		l.shown.warn(mask.Line(line))
	}
	l.shown.warn("the test continues unchanged")
}

// end shows that a manifest has not been read.
func (l *live) end() {
	if l.reading != nil {
		l.shown.warn(l.name + ": was not read before the end")
	}
}

// adopt takes the rates of a manifest that was read again; what keys have changed is over.
func (l *live) adopt(rates []rv.Rate) {
	var changes []string
	for i := range rates {
		if was := l.rates[i]; !was.SameRate(&rates[i]) {
			changes = append(changes, fmt.Sprintf("stage %s: rate %s, was %s", was.Name, build.RateText(&rates[i]),
				build.RateText(&was)))
		}
	}
	if len(changes) == 0 {
		l.shown.show("the manifest has the active rates")
		return
	}
	if !l.put(rates, l.suspended) {
		return
	}
	l.file, l.steps = rates, make([]int, len(rates))
	for _, line := range changes {
		l.shown.show(line)
	}
}

// put makes the engine change at once, but not before the start: the rates of the plan are what was
// asked for until something has changed.
func (l *live) put(rates []rv.Rate, suspended bool) bool {
	at := max(rv.Clock()-l.startAt, 1)
	u := rv.Update{Revision: l.revision + 1, At: at, Share: l.share, Rates: rates, Suspended: suspended}
	if err := l.engine.Update(u); err != nil { // such as that the run has just ended
		l.shown.warn("not changed: " + mask.Line(err.Error()))
		return false
	}
	l.revision, l.rates, l.suspended = u.Revision, rates, suspended
	l.shown.ask(rates)
	if suspended {
		rates = nil
	}
	l.changed(time.Duration(at), rates)
	return true
}

// maxRate is the maximum of requestsPerSecond.
func maxRate() int64 {
	_, most := compile.Range("rates.requestsPerSecond")
	return most
}

// maxConcurrency is the maximum of concurrency.
func maxConcurrency() int64 {
	_, most := compile.Range("rates.closedLoop.concurrency")
	return most
}

// stepped returns a manifest's rate plus a number of steps, which can be negative. A step is a tenth of the rate, and
// at least 1/s. A step of a ramp is a tenth of both its ends. It returns false if the result is below 1/s, or 0 for a
// ramp, or above the maximum. In a closed loop, it changes the concurrency.
func stepped(r rv.Rate, steps int) (rv.Rate, bool) {
	switch {
	case steps == 0:
		return r, true
	case r.ClosedLoop:
		return steppedLoop(r, int64(steps))
	}
	if r.RampFrom != nil {
		return steppedRamp(r, int64(steps))
	}
	perSecond := int64((10*r.Period + time.Second - 1) / time.Second)
	out := r
	out.Count, out.Period = 10*r.Count+int64(steps)*max(r.Count, perSecond), 10*r.Period
	within := out.Count >= perSecond || steps > 0
	return out, within && max(build.Asked(&out), build.AskedChains(&out)) <= float64(maxRate())
}

// steppedLoop changes the concurrency at both ends of a ramp by a tenth for each step, and by at least 1.
func steppedLoop(r rv.Rate, steps int64) (rv.Rate, bool) {
	r.Count += steps * max(r.Count/10, 1)
	highest := r.Count
	if r.RampFrom != nil {
		from := max(0, *r.RampFrom+steps*max(*r.RampFrom/10, 1))
		r.RampFrom, highest = &from, max(from, r.Count)
	}
	return r, r.Count >= 1 && highest <= maxConcurrency()
}

func steppedRamp(r rv.Rate, steps int64) (rv.Rate, bool) {
	from := (10 + steps) * *r.RampFrom
	r.Count, r.Period, r.RampFrom = (10+steps)*r.Count, 10*r.Period, &from
	return r, steps > -10 && float64(max(r.Count, from))/r.Period.Seconds() <= float64(maxRate())
}
