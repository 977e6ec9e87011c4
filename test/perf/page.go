package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/h2surge/h2surge/test/harness"
)

// marks are around the tables of the page.
var marks = harness.MarksOf("make bench")

func (s spread) String() string {
	if s == (spread{}) {
		return harness.None
	}
	return fmt.Sprintf("%s (%s-%s)", harness.Figure(s.median), harness.Figure(s.min), harness.Figure(s.max))
}

// line is the row's result for the terminal.
func (r result) line() string {
	text := fmt.Sprintf("%-20s %s", r.row.name, r.row.describe())
	side := func(name string, rounds runs) {
		if len(rounds) == 0 {
			return
		}
		text += fmt.Sprintf("\n    %-12s %s us CPU per request, %s requests/s, p50 %s, p99 %s", name, rounds.of(cpu),
			rounds.of(rate),
			rounds.median(p50Time), rounds.median(p99Time))
	}
	side(r.row.ours.name(), r.ours)
	if r.row.peer != nil {
		side(r.row.peer.name(), r.peers)
	}
	side("floor", r.floors)
	if ratio := r.ours.over(r.floors, cpu); ratio != (spread{}) {
		text += "\n    to floor     " + ratio.String()
	}
	if ratio := r.ours.over(r.peers, cpu); ratio != (spread{}) {
		text += "\n    CPU ratio    " + ratio.String()
	}
	if r.suite != "" {
		text += "\n    TLS          " + r.suite
	}
	if v := r.verdict(); v != "" {
		text += "\n    " + v
	}
	return text
}

// page is what stands between the marks.
func page(o options, f findings, results []result) string {
	var s strings.Builder
	fmt.Fprintf(&s, "Measured on %s: %d rounds of %d s of each side.\n\n", f.when.Format(time.DateOnly), o.rounds,
		o.seconds)
	var about [][]string
	for _, l := range append(f.lines, f.programs...) {
		about = append(about, l[:])
	}
	for _, l := range f.starts {
		about = append(about, []string{"CPU of a run with one request, " + l[0], l[1]})
	}
	s.WriteString(harness.Table([]string{"", ""}, about))
	for _, t := range tables {
		fmt.Fprintf(&s, "\n### %s\n\n%s\n\n", t.title, t.intro)
		var lines [][]string
		for _, r := range results {
			if r.row.group == t.of {
				lines = append(lines, t.lines(r)...)
			}
		}
		s.WriteString(harness.Table(t.head, lines))
	}
	s.WriteString("\n")
	return s.String()
}
