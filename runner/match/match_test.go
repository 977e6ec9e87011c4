package match

import (
	"strings"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func text(s string) rv.Text { return rv.Text{{Literal: s}} }

func TestHolds(t *testing.T) {
	for _, tc := range []struct {
		op          rv.MatchOp
		value, want string
		holds       bool
	}{
		{rv.MatchEquals, "a", "a", true},
		{rv.MatchEquals, "", "", true},
		{rv.MatchEquals, "1.0", "1", false},
		{rv.MatchStartsWith, "abc", "ab", true},
		{rv.MatchStartsWith, "abc", "", true},
		{rv.MatchStartsWith, "abc", "bc", false},
		{rv.MatchEndsWith, "abc", "bc", true},
		{rv.MatchEndsWith, "abc", "ab", false},
		{rv.MatchContains, "abc", "b", true},
		{rv.MatchContains, "abc", "d", false},
		{rv.MatchLessThan, "9", "10", true},
		{rv.MatchLessThan, "10", "10", false},
		{rv.MatchLessThan, "11", "10", false},
		{rv.MatchGreaterThan, "10.5", "10", true},
		{rv.MatchGreaterThan, "10", "1e1", false},
		{rv.MatchLessThan, "abc", "10", false},
		{rv.MatchGreaterThan, "", "10", false},
		{rv.MatchGreaterThan, "NaN", "10", false},
	} {
		for _, not := range []bool{false, true} {
			m, err := New(rv.Match{Op: tc.op, Want: text("1"), Not: not})
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Holds([]byte(tc.value), true, []byte(tc.want)); got != (tc.holds != not) {
				t.Errorf("%q %s %q, not %v: %v", tc.value, tc.op, tc.want, not, got)
			}
			if m.Holds(nil, false, []byte(tc.want)) {
				t.Errorf("%s %q, not %v, holds without a value", tc.op, tc.want, not)
			}
		}
	}
}

// TestWantOfRun: what is not known before the run need not be a number.
func TestWantOfRun(t *testing.T) {
	for _, part := range []rv.Part{{Variable: 1}, {Capture: 1}, {Global: 1}, {Listener: 1, Column: rv.ListenerPort}, {Content: &rv.Content{}},
		{Literal: "x", Functions: []rv.Function{{Name: rv.FunctionHexDecode}}}} {
		if _, err := New(rv.Match{Op: rv.MatchLessThan, Want: rv.Text{part}}); err != nil {
			t.Errorf("%+v: %v", part, err)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, tc := range []struct {
		pattern, value string
		want           bool
	}{
		{"b+", "abbc", true},
		{"^b", "abbc", false},
		{"", "", true},
		{"(?i)^OK$", "ok", true},
	} {
		for _, not := range []bool{false, true} {
			m, err := New(rv.Match{Op: rv.MatchMatches, Pattern: tc.pattern, Not: not})
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Holds([]byte(tc.value), true, nil); got != (tc.want != not) {
				t.Errorf("%q matches %q, not %v: %v", tc.value, tc.pattern, not, got)
			}
			if m.Holds(nil, false, nil) {
				t.Errorf("%q, not %v, holds without a value", tc.pattern, not)
			}
		}
	}
}

func TestExists(t *testing.T) {
	for _, want := range []string{"true", "false"} {
		m, err := New(rv.Match{Op: rv.MatchExists, Want: text(want)})
		if err != nil {
			t.Fatal(err)
		}
		for _, ok := range []bool{true, false} {
			if got := m.Holds(nil, ok, []byte(want)); got != (ok == (want == "true")) {
				t.Errorf("exists %s, a value %v: %v", want, ok, got)
			}
		}
	}
}

// TestWantIsNoNumber: a comparison that cannot be made never holds.
func TestWantIsNoNumber(t *testing.T) {
	for _, op := range []rv.MatchOp{rv.MatchLessThan, rv.MatchGreaterThan} {
		for _, not := range []bool{false, true} {
			m, err := New(rv.Match{Op: op, Want: rv.Text{{Capture: 1}}, Not: not})
			if err != nil {
				t.Fatal(err)
			}
			if m.Holds([]byte("1"), true, []byte("x")) {
				t.Errorf("%s, not %v, holds", op, not)
			}
		}
	}
}

func TestNewErrors(t *testing.T) {
	for _, tc := range []struct {
		match rv.Match
		want  string
	}{
		{rv.Match{}, `op: unknown comparison ""`},
		{rv.Match{Op: "like"}, `op: unknown comparison "like"`},
		{rv.Match{Op: rv.MatchMatches, Pattern: "("}, "pattern: error parsing regexp: missing closing )"},
		{rv.Match{Op: rv.MatchEquals, Pattern: "x"}, "pattern: equals does not use it"},
		{rv.Match{Op: rv.MatchExists, Want: text("maybe")}, `want: exists needs true or false, not "maybe"`},
		{rv.Match{Op: rv.MatchExists}, `want: exists needs true or false, not ""`},
		{rv.Match{Op: rv.MatchExists, Want: text("true"), Not: true}, "not: cannot be used with exists"},
		{rv.Match{Op: rv.MatchLessThan, Want: text("ten")}, `want: "ten" is not a decimal number`},
		{rv.Match{Op: rv.MatchGreaterThan}, `want: "" is not a decimal number`},
	} {
		if _, err := New(tc.match); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %s", tc.match, err, tc.want)
		}
	}
}
