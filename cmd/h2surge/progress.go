package main

import (
	"fmt"
	"io"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/result"
)

// progress shows a run while it lasts: one line a second and, on a terminal, a bar below them
// that stays where it is. It belongs to the goroutine that runs the execution.
type progress struct {
	w        io.Writer
	terminal bool
	plan     *rv.Plan
	line     func(result.Live) string

	previous []rv.Snapshot
}

// clearLine goes to the first column and erases to the end of the line (ECMA-48 CR, EL).
const clearLine = "\r\x1b[K"

// barWidth is the length of the bar itself, in characters: with its figures it stays within a
// terminal of 80.
const barWidth = 40

func (p *progress) every(s *rv.Snapshot) {
	current := []rv.Snapshot{*s}
	live, err := result.NewLive(p.plan, p.previous, current)
	if err != nil { // the report at the end will tell of it
		return
	}
	p.previous = current
	if !p.terminal {
		fmt.Fprintln(p.w, p.line(live))
		return
	}
	fmt.Fprintf(p.w, "%s%s\n%s", clearLine, p.line(live), bar(live))
}

// begin shows the bar before the first second is over.
func (p *progress) begin() {
	if p.terminal {
		fmt.Fprint(p.w, bar(result.Live{State: rv.StateConnecting}))
	}
}

// end takes the bar away, so that what follows begins in the first column.
func (p *progress) end() {
	if p.terminal {
		fmt.Fprint(p.w, clearLine)
	}
}

func bar(l result.Live) string {
	full := int(min(1, max(0, l.Progress)) * barWidth)
	return fmt.Sprintf("[%s%s] %3.0f%%  %s", strings.Repeat("#", full), strings.Repeat("-", barWidth-full), l.Progress*100, doing(l))
}

func doing(l result.Live) string {
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
	return l.Stage
}
