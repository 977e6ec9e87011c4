package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// The tables of the page stand between these lines; all else is written by hand.
const (
	beginMark = "<!-- begin of what \"make bench\" writes -->"
	endMark   = "<!-- end of what \"make bench\" writes -->"
)

// checkPage is an error when writePage would not find its place.
func checkPage(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if _, err := replaceMarked(text, ""); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// writePage replaces what stands between the marks of a file.
func writePage(file, tables string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	fresh, err := replaceMarked(old, tables)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, fresh, 0o644)
}

func replaceMarked(old []byte, tables string) ([]byte, error) {
	head, rest, ok := bytes.Cut(old, []byte(beginMark))
	if !ok {
		return nil, errors.New("the line that begins the tables is missing")
	}
	_, tail, ok := bytes.Cut(rest, []byte(endMark))
	if !ok {
		return nil, errors.New("the line that ends the tables is missing")
	}
	return bytes.Join([][]byte{head, []byte(beginMark + "\n" + tables + endMark), tail}, nil), nil
}

// figure writes a number with three significant digits, and thousands whole.
func figure(v float64) string {
	if v >= 1000 {
		return thousands(int64(v + 0.5))
	}
	digits := 2
	switch {
	case v >= 100:
		digits = 0
	case v >= 10:
		digits = 1
	case v < 0.1 && v > 0:
		digits = 3
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// thousands groups digits by a space: 1 234 567.
func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}

func (s spread) String() string {
	if s == (spread{}) {
		return none
	}
	return fmt.Sprintf("%s (%s-%s)", figure(s.median), figure(s.min), figure(s.max))
}

// none stands for a figure that does not exist.
const none = "-"

// line is the row's result for the terminal.
func (r result) line() string {
	text := fmt.Sprintf("%-20s %s", r.row.name, r.row.describe())
	side := func(name string, cpu, rate spread) {
		text += fmt.Sprintf("\n    %-12s %s us CPU per request, %s requests/s", name, cpu, rate)
	}
	if len(r.ours) > 0 {
		side(r.row.ours.name(), r.ourCPU(), r.ourRate())
	}
	if len(r.peers) > 0 {
		side(r.row.peer.name(), r.peerCPU(), r.peerRate())
	}
	if ratio := r.cpuRatio(); ratio != (spread{}) {
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
	fmt.Fprintf(&s, "Measured on %s: %d rounds of %d s of each side.\n\n", f.when.Format(time.DateOnly), o.rounds, o.seconds)
	fmt.Fprint(&s, "| | |\n|---|---|\n")
	for _, l := range append(f.lines, f.programs...) {
		fmt.Fprintf(&s, "| %s | %s |\n", l[0], cell(l[1]))
	}
	for _, l := range f.starts {
		fmt.Fprintf(&s, "| CPU of a run with one request, %s | %s |\n", l[0], l[1])
	}
	for _, t := range tables {
		fmt.Fprintf(&s, "\n### %s\n\n%s\n\n", t.title, t.intro)
		fmt.Fprintf(&s, "| %s |\n|%s\n", strings.Join(t.head, " | "), strings.Repeat("---|", len(t.head)))
		for _, r := range results {
			if r.row.group != t.of {
				continue
			}
			for _, cells := range t.lines(r) {
				for i := range cells {
					cells[i] = cell(cells[i])
				}
				fmt.Fprintf(&s, "| %s |\n", strings.Join(cells, " | "))
			}
		}
	}
	s.WriteString("\n")
	return s.String()
}

// cell keeps a text from breaking the table.
func cell(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "|", "/"), "\n", " ")
	if text == "" {
		return none
	}
	return text
}
