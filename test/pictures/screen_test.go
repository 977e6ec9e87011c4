package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestScreen: a line is replaced after CR and EL, an erased line below the text is not drawn, and a style ends.
func TestScreen(t *testing.T) {
	var s screen
	s.write("old\r\x1b[Knew  line\r\n[##--]\r\x1b[K")
	s.write("\x1b[?25l  \x1b[1;32mok\x1b[0m <a>\r\n\r\n")
	got := s.svg("h2surge")
	var text []string
	for line := range strings.Lines(got) {
		if strings.HasPrefix(line, "<text") {
			text = append(text, strings.TrimSpace(line))
		}
	}
	want := []string{
		`<text x="16.0" y="49" textLength="75.6">new` + "\u00a0\u00a0" + `line</text>`,
		`<text x="32.8" y="68" textLength="16.8" font-weight="bold" fill="#56d364">ok</text>`,
		`<text x="58.0" y="68" textLength="25.2">&lt;a&gt;</text>`,
	}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(got, `height="88"`) { // two lines of 19 and the frame
		t.Error(got[:200])
	}
}

// TestScreenHome: a screen that is drawn again from its first cell replaces the one before.
func TestScreenHome(t *testing.T) {
	var s screen
	s.write("one\r\ntwo\r\nthree")
	s.write("\x1b[Ha\x1b[K\r\nb\x1b[K\x1b[J")
	s.write("\x1b[?1049hother\x1b[?1049l")
	if len(s.lines) != 2 || len(s.lines[0]) != 1 || s.lines[1][0].r != 'b' {
		t.Errorf("%v", s.lines)
	}
}
