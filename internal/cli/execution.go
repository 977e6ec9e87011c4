package cli

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/terminal"
	"github.com/h2surge/h2surge/internal/failure"
)

const (
	// headStart is how far ahead the start instant is set, so that every worker hears of it in
	// time: some turns of a busy machine.
	headStart = 20 * time.Millisecond
	// readyEvery is how often it is looked whether the connections are open.
	readyEvery = 5 * time.Millisecond
	// firstRevision is that of the share a run begins with.
	firstRevision = 1
	// lastingFor is how long a run tries again after a failure to connect that will probably last.
	lastingFor = time.Second
	// Reasons of a Stop.
	reasonInterrupted = "interrupted"
	reasonUnreachable = "cannot connect"
	reasonToken       = "no authorization"
	reasonSetup       = "setup takes too long"
)

// engine is what package runner makes of a plan.
type engine interface {
	Update(rv.Update) error
	Start(rv.Start) error
	Stop(rv.Stop) error
	Snapshot() *rv.Snapshot
	Done() <-chan struct{}
	Close() error
}

// execution takes an engine through a run, from connecting to the final snapshot.
type execution struct {
	engine engine
	share  rv.Share
	// connect bounds the time until all connections are open, setup what the setup chains take then.
	connect, setup time.Duration
	// signals are the user's: the first interrupt ends sending and awaits responses in flight, the
	// second ends that too. SIGHUP is live's, else it is an interrupt as well.
	signals <-chan os.Signal
	// keys are pressed while it runs; one of them is an interrupt, the others are live's.
	keys <-chan byte
	live *live
	// every gets a snapshot once a second from the start on, and one when setup begins.
	every func(*rv.Snapshot)
	// aborts returns why the test ends because of a threshold, once; empty: it does not end. It is asked after every.
	aborts func() string
	// search runs the probes; nil: the test has no search.
	search *searching

	interrupted int
	settingUp   bool
	// globals are what setup has captured.
	globals []string
}

// run returns the final snapshot. What kept the run from being a whole one stands in it; an
// error is one of the engine itself.
func (x *execution) run() (*rv.Snapshot, error) {
	if err := x.engine.Update(rv.Update{Revision: firstRevision, Share: x.share}); err != nil {
		return nil, err
	}
	ready, err := x.awaitReady()
	if err != nil {
		return nil, err
	}
	if !ready && x.interrupted == 0 {
		return x.neverReady()
	}
	if ready {
		at := rv.Clock() + int64(headStart)
		if err := x.engine.Start(rv.Start{At: at, Globals: x.globals}); err != nil {
			return nil, err
		}
		x.live.begin(at)
	}
	if err := x.watch(); err != nil {
		return nil, err
	}
	return x.engine.Snapshot(), nil
}

// awaitReady is false when the time is over or the run ended before it could begin.
func (x *execution) awaitReady() (bool, error) {
	limit := time.NewTimer(x.connect)
	defer limit.Stop()
	began, hopeless := time.Now(), false
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	for {
		if x.interrupted > 0 {
			return false, nil
		}
		var err error
		select {
		case s := <-x.signals:
			err = x.signal(s)
		case key := <-x.keys:
			err = x.press(key)
		case <-x.engine.Done():
			return false, nil
		case <-limit.C:
			return false, nil
		case <-tick.C:
			s := x.engine.Snapshot()
			switch {
			case s.State == rv.StateReady:
				x.globals = s.Globals
				return true, nil
			case s.State == rv.StateSettingUp && !x.settingUp:
				x.settingUp = true
				limit.Reset(x.setup + x.connect) // a connection may be lost on the way
				x.every(s)
			case !hopeless && !x.settingUp && lasts(s):
				hopeless = true
				limit.Reset(min(lastingFor, x.connect-time.Since(began)))
			}
		}
		if err != nil {
			return false, err
		}
	}
}

// lasts reports whether a connection could not be opened for a cause that lasts.
func lasts(s *rv.Snapshot) bool {
	return slices.ContainsFunc(s.Failures,
		func(f rv.FailureCount) bool { return f.Of == rv.FailureConnect && failure.Lasts(f.Cause) })
}

// neverReady ends an engine that did not become ready. The engine reports why it cannot connect only while it tries.
func (x *execution) neverReady() (*rv.Snapshot, error) {
	why := x.engine.Snapshot()
	if why.State == rv.StateDone && why.Problem != "" {
		return why, nil
	}
	reason := reasonUnreachable
	switch {
	case why.Problem == rv.ProblemAuthorization:
		reason = reasonToken
	case x.settingUp:
		reason = reasonSetup
	}
	if err := x.engine.Stop(rv.Stop{Reason: reason}); err != nil {
		return nil, err
	}
	<-x.engine.Done()
	s := *x.engine.Snapshot()
	switch {
	case s.Problem != "":
	case why.Problem == rv.ProblemAuthorization:
		s.Problem, s.Message = why.Problem, why.Message
	case x.settingUp:
		s.Problem, s.Message = rv.ProblemSetup, fmt.Sprintf("the setup chains were not done within %v", x.setup+x.connect)
	default:
		s.Problem, s.Message = rv.ProblemConnect, why.Message
	}
	if s.Message == "" {
		s.Message = fmt.Sprintf("not all connections were open within %v", x.connect)
	}
	return &s, nil
}

func (x *execution) watch() error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	looks, stop := x.looks()
	defer stop()
	for {
		var err error
		select {
		case <-x.engine.Done():
			x.live.end()
			return nil
		case c := <-x.live.reading:
			x.live.took(c)
		case <-looks:
			if looks, err = x.look(looks); err != nil {
				return err
			}
		case s := <-x.signals:
			err = x.signal(s)
		case key := <-x.keys:
			err = x.press(key)
		case <-tick.C:
			err = x.second()
		}
		if err != nil {
			return err
		}
	}
}

// second shows the run. It ends the run because of a threshold, or if the reader of what is shown has ended.
func (x *execution) second() error {
	x.every(x.engine.Snapshot())
	if why := x.aborts(); why != "" {
		return x.engine.Stop(rv.Stop{Reason: why, Drain: true})
	}
	if x.live.shown.unread && x.interrupted == 0 {
		return x.interrupt()
	}
	return nil
}

// signal handles SIGHUP and interrupts. When a terminal closes, both the system and the shell may send SIGHUP: they
// count as one interrupt.
func (x *execution) signal(s os.Signal) error {
	if s == syscall.SIGHUP && (x.live.again() || x.interrupted > 0) {
		return nil
	}
	return x.interrupt()
}

func (x *execution) press(key byte) error {
	if key == terminal.KeyEnd {
		return x.interrupt()
	}
	x.live.press(key)
	return nil
}

// interrupt drains at the first call and ends at once at the next.
func (x *execution) interrupt() error {
	x.interrupted++
	return x.engine.Stop(rv.Stop{Reason: reasonInterrupted, Drain: x.interrupted == 1})
}

// looks are when the search is looked at; nil: the test has no search.
func (x *execution) looks() (<-chan time.Time, func()) {
	if x.search == nil {
		return nil, func() {}
	}
	tick := time.NewTicker(lookEvery)
	return tick.C, tick.Stop
}

// look lets the search look at the run, and ends the run if the search has ended. It returns the channel of the next
// looks.
func (x *execution) look(looks <-chan time.Time) (<-chan time.Time, error) {
	if x.interrupted > 0 || !x.search.due() {
		return looks, nil
	}
	more, err := x.search.look(x.engine.Snapshot())
	if more || err != nil {
		return looks, err
	}
	return nil, x.engine.Stop(rv.Stop{Reason: rv.StopSearched, Drain: true})
}
