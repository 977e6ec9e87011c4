package main

import (
	"strings"
	"testing"
	"time"
)

// TestPageHasMarks: "make bench" finds its place in the page that is committed.
func TestPageHasMarks(t *testing.T) {
	for _, page := range []string{"../../docs/project/benchmarks.md", "../../docs/how-to/sizing.md"} {
		if err := marks.Check(page); err != nil {
			t.Error(err)
		}
	}
}

// TestSizing: each line of the table is a row of the harness.
func TestSizing(t *testing.T) {
	var results []result
	for _, r := range rows() {
		results = append(results, result{row: r, state: stateMeasured, ours: rounds(1, 2)})
	}
	text := sizing(results)
	if lines, measured := strings.Count(text, "\n"), strings.Count(text, " us |\n"); lines != measured+2 || measured != len(sizingRows) {
		t.Errorf("%d of %d rows have a figure:\n%s", measured, len(sizingRows), text)
	}
	if text := sizing(nil); strings.Count(text, "| - |\n") != len(sizingRows) {
		t.Errorf("rows without figures:\n%s", text)
	}
}

// TestPage: every row gives lines as wide as its table, in whatever state.
func TestPage(t *testing.T) {
	for _, s := range []state{stateMeasured, stateSkipped, stateFailed} {
		var results []result
		for _, r := range rows() {
			res := result{row: r, state: s, why: "a | b\nc"}
			if s == stateMeasured {
				res.ours = rounds(1, 2)
			}
			if r.floor != nil && s == stateMeasured {
				res.floors = rounds(1, 1)
			}
			if r.name == "h2c-m1" {
				res.floors, res.noFloor = nil, "no cc"
			}
			if r.peer != nil && s == stateMeasured {
				res.peers = rounds(2, 2)
			}
			results = append(results, res)
		}
		for _, tb := range tables {
			for _, r := range results {
				if r.row.group != tb.of {
					continue
				}
				for _, cells := range tb.lines(r) {
					if len(cells) != len(tb.head) {
						t.Errorf("%s, %s: %d cells under %d heads: %q", s, r.row.name, len(cells), len(tb.head), cells)
					}
				}
			}
		}
		text := page(options{rounds: 5, seconds: 3}, findings{when: time.Unix(0, 0).UTC()}, results)
		if lines := strings.Count(text, "\n| "); lines < len(results) {
			t.Errorf("%s: %d lines for %d rows", s, lines, len(results))
		}
		if shows := strings.Count(text, string(s)+": a / b c"); (shows > 0) != (s != stateMeasured) {
			t.Errorf("%s is shown %d times", s, shows)
		}
		for _, want := range []string{
			"| 0.75 (0.50-1.00) | 1.00 (1.00-1.00) | 1.50 (1.00-2.00) | 0.60 | 0.45 | mark missed; h2surge / floor 1.50, mark 2.50: aim met |",
			"| 0.75 (0.50-1.00) | no cc | - | 0.85 | 0.75 | aim met; h2surge / floor: no cc |",
			"| - | - | 1.00 (1.00-1.00) | 1.50 (1.00-2.00) | 1.60 x floor | 1.30 x floor | mark met |",
			"| - | - | - | - | 0.60 us | 0.35 us | mark missed;",
		} {
			if s == stateMeasured && !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}
}
