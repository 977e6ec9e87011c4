package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/pflag"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/livepage"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/internal/report/render"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// LiveFlags are the flags of a live page.
type LiveFlags struct {
	Address string
	Remote  bool
}

// RegisterAddress adds the flags with the name of the one for the address.
func (f *LiveFlags) RegisterAddress(flags *pflag.FlagSet, name, usage string) {
	flags.StringVar(&f.Address, name, "", usage)
	flags.BoolVar(&f.Remote, name+"-remote", false, "let --"+name+
		" be an address that other machines reach; they can read the report")
}

// Listen starts the server of the page, and prints its address.
func (f *LiveFlags) Listen(name string, stderr io.Writer) (*livepage.Server, error) {
	server, err := livepage.Listen(f.Address, f.Remote)
	if err != nil {
		return nil, command.Usagef("--%s: %v", name, err)
	}
	fmt.Fprintf(stderr, "live report: %s\n", server.URL())
	return server, nil
}

// livePage shows a run while it lasts. Its methods do nothing if server is nil.
type livePage struct {
	server *livepage.Server
	// mu guards windows, which another goroutine reads to render the page.
	mu      sync.Mutex
	windows *build.Windows
	job     *job
	shown   *progress
}

// begin shows a page until there are figures.
func (p *livePage) begin() {
	first := livepage.View{Report: &rv.Report{Name: p.job.plan.Name}, Live: &render.Live{Phase: "Connecting"}}
	p.server.Show(func() (livepage.View, error) { return first, nil })
}

// every takes a snapshot, about once a second, and the thresholds so far.
func (p *livePage) every(s *rv.Snapshot, limits *limits) {
	p.mu.Lock()
	_ = p.windows.Add(s) // what this process has encoded it can read
	p.mu.Unlock()
	if p.server == nil {
		return
	}
	now, facts := time.Now(), verdict.FactsOf([]rv.Snapshot{*s})
	limits.facts(&facts) // here, because another goroutine renders the page
	current := p.shown.plan
	p.server.Show(func() (livepage.View, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		report, err := soFar(p.job, s, p.windows, facts, now)
		if err != nil {
			return livepage.View{}, err
		}
		state, err := build.NewLive(current, nil, []rv.Snapshot{*s})
		if err != nil {
			return livepage.View{}, err
		}
		return livepage.View{Report: report, Live: liveOf(&state, s.Suspended)}, nil
	})
}

// change notes new rates, nil while the load is suspended.
func (p *livePage) change(at time.Duration, rates []rv.Rate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.windows.Change(at, rates)
}

// liveOf returns what a page shows of a test that runs.
func liveOf(l *build.Live, paused bool) *render.Live {
	out := &render.Live{Phase: "Running"}
	switch {
	case l.State == rv.StateConnecting || l.State == rv.StateWaiting || l.State == rv.StateReady:
		return &render.Live{Phase: "Connecting"}
	case l.State == rv.StateSettingUp:
		return &render.Live{Phase: "Setting up"}
	case l.State == rv.StateDrained || l.State == rv.StateTearingDown:
		out.Phase = "Tearing down"
	case l.State != rv.StateRunning:
		out.Phase = "Awaiting the last responses"
	case paused:
		out.Phase = "Paused"
	}
	out.Detail = fmt.Sprintf("%.0f%% of the plan, %v after the start", l.Progress*100, l.Elapsed.Round(time.Second))
	if l.Stage != "" {
		out.Detail = "stage " + l.Stage + ", " + out.Detail
	}
	return out
}

// keep serves the final report until the user interrupts.
func (p *livePage) keep(parts linked, stderr io.Writer) {
	fmt.Fprintf(stderr, "the report stays at %s until you interrupt h2surge\n", p.server.URL())
	wishes, release := parts.interrupts(false, func() {})
	defer release()
	<-wishes
}

// close shows the final report to the browsers that have the page open.
func (p *livePage) close() {
	if p.server != nil {
		p.server.Close()
	}
}
