package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/report/build"
)

// progress shows a run while it lasts: one line a second and, on a terminal, a bar below them
// that stays where it is. It belongs to the goroutine that runs the execution.
type progress struct {
	w        io.Writer
	terminal bool
	plan     *rv.Plan
	line     func(build.Live) string
	// errs is for what must be seen, also when no progress is wanted.
	errs io.Writer
	// hint is shown first; empty: none.
	hint string

	previous []rv.Snapshot
	// bar is the last progress bar; empty: there is not one.
	bar string
	// unread is true if the reader of w has ended.
	unread bool
}

// clearLine goes to the first column and erases to the end of the line (ECMA-48 CR, EL).
const clearLine = "\r\x1b[K"

// barWidth is the length of the bar itself, in characters: with its figures it stays within a
// terminal of 80.
const barWidth = 40

func (p *progress) every(s *rv.Snapshot) {
	current := []rv.Snapshot{*s}
	live, err := build.NewLive(p.plan, p.previous, current)
	if err != nil { // the report at the end has the error
		return
	}
	p.previous = current
	if !p.terminal {
		_, err := fmt.Fprintln(p.w, p.line(live))
		p.unread = errors.Is(err, syscall.EPIPE)
		return
	}
	p.bar = bar(live, s.Suspended)
	fmt.Fprintf(p.w, "%s%s\n%s", clearLine, p.line(live), p.bar)
}

// begin shows the bar before the first second is over.
func (p *progress) begin() {
	if p.hint != "" {
		fmt.Fprintln(p.w, p.hint)
	}
	if p.terminal {
		p.bar = bar(build.Live{State: rv.StateConnecting}, false)
		fmt.Fprint(p.w, p.bar)
	}
}

// show prints a line above the bar.
func (p *progress) show(what string) { p.above(p.w, what) }

// warn shows what did not happen.
func (p *progress) warn(what string) { p.above(p.errs, what) }

func (p *progress) above(w io.Writer, what string) {
	if !p.terminal {
		fmt.Fprintln(w, what)
		return
	}
	fmt.Fprintf(w, "%s%s\n%s", clearLine, what, p.bar)
}

// ask makes the rates those that are shown as asked for.
func (p *progress) ask(rates []rv.Rate) {
	plan := *p.plan
	plan.Rates = rates
	p.plan = &plan
}

// gone reports whether the terminal has closed.
func (p *progress) gone() bool { return p.terminal && !command.IsTerminal(p.errs) }

// end takes the bar away, so that what follows begins in the first column.
func (p *progress) end() {
	if p.terminal {
		fmt.Fprint(p.w, clearLine)
	}
}

func bar(l build.Live, paused bool) string {
	full := int(min(1, max(0, l.Progress)) * barWidth)
	return fmt.Sprintf("[%s%s] %3.0f%%  %s", strings.Repeat("#", full), strings.Repeat("-", barWidth-full), l.Progress*100,
		doing(l, paused))
}

func doing(l build.Live, paused bool) string {
	switch l.State {
	case rv.StateConnecting, rv.StateWaiting:
		return "connecting"
	case rv.StateSettingUp:
		return "setting up"
	case rv.StateDraining:
		return "awaiting the last responses"
	case rv.StateDrained, rv.StateTearingDown:
		return "tearing down"
	}
	if paused {
		return l.Stage + ", paused"
	}
	return l.Stage
}
