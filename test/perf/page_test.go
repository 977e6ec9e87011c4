package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestReplaceMarked(t *testing.T) {
	old := "before\n" + beginMark + "\nold\n" + endMark + "\nafter\n"
	got, err := replaceMarked([]byte(old), "new\n")
	if err != nil {
		t.Fatal(err)
	}
	want := "before\n" + beginMark + "\nnew\n" + endMark + "\nafter\n"
	if string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	again, err := replaceMarked(got, "new\n")
	if err != nil || string(again) != want {
		t.Errorf("a second time: %q, %v", again, err)
	}
	for _, broken := range []string{"", beginMark, endMark + beginMark} {
		if _, err := replaceMarked([]byte(broken), "new\n"); err == nil {
			t.Errorf("%q: accepted", broken)
		}
	}
}

// TestPageHasMarks: "make bench" finds its place in the page that is committed.
func TestPageHasMarks(t *testing.T) {
	if err := checkPage("../../docs/benchmarks.md"); err != nil {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(file, []byte("no marks"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checkPage(file); err == nil || writePage(file, "") == nil {
		t.Error("a page without marks is accepted")
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
