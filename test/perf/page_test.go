package main

import (
	"strings"
	"testing"
	"time"
)

// TestPageHasMarks: "make bench" finds its place in the page that is committed.
func TestPageHasMarks(t *testing.T) {
	if err := marks.Check("../../docs/benchmarks.md"); err != nil {
		t.Error(err)
	}
}

// TestPage: every row gives lines as wide as its table, in whatever state.
func TestPage(t *testing.T) {
	for _, s := range []state{stateMeasured, stateNotYet, stateSkipped, stateFailed} {
		var results []result
		for _, r := range rows() {
			res := result{row: r, state: s, why: "a | b\nc"}
			if s == stateMeasured {
				res.ours = rounds(1, 2)
			}
			if r.peer != nil && (s == stateMeasured || s == stateNotYet) {
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
		if s == stateMeasured && !strings.Contains(text, "| 0.75 (0.50-1.00) | 0.60 | 0.45 | mark missed |") {
			t.Errorf("no ratio in\n%s", text)
		}
	}
}
