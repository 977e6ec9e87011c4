package compile

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEachPatternHasAMessage finds patterns of the CRD without a message, and messages without a pattern.
func TestEachPatternHasAMessage(t *testing.T) {
	used := map[string]bool{}
	collect := func(b *bounds) {
		if b != nil && b.pattern != "" && b.duration == nil { // the decoder reports malformed durations
			used[b.pattern] = true
		}
	}
	for _, object := range apiObjects {
		for _, b := range object.fields {
			collect(&b)
			collect(b.each)
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(used)), slices.Sorted(maps.Keys(patternMessages))); diff != "" {
		t.Errorf("patterns of the CRD and of patternMessages (-CRD +messages):\n%s", diff)
	}
}

func TestBoundsMessages(t *testing.T) {
	text, number := func(s string) func(*bounds) string { return func(b *bounds) string { return b.text(s) } },
		func(n int64) func(*bounds) string { return func(b *bounds) string { return b.integer(n) } }
	items := func(n int) func(*bounds) string { return func(b *bounds) string { return b.count(n) } }
	for name, tc := range map[string]struct {
		bounds bounds
		check  func(*bounds) string
		want   string
	}{
		"a text without bounds":    {bounds{}, text(""), ""},
		"the longest text":         {bounds{length: [2]int{1, 3}}, text("\u00e4\u00f6\u00fc"), ""},
		"a longer text":            {bounds{length: [2]int{1, 3}}, text("abcd"), "has 4 characters, at most 3 are possible"},
		"an empty text":            {bounds{length: [2]int{1, 3}}, text(""), "must not be empty"},
		"an empty text of an enum": {bounds{enum: []string{"a", "b"}}, text(""), "must not be empty"},
		"one character":            {bounds{length: [2]int{1, 1}}, text("ab"), "must be one character"},
		"one of two":               {bounds{enum: []string{"a", "b"}}, text("c"), "must be a or b"},
		"one of three":             {bounds{enum: []string{"a", "b", "c"}}, text("d"), "must be one of a, b, c"},
		"a pattern":                {bounds{pattern: dashName}, text("A"), patternMessages[dashName]},
		"the least number":         {bounds{number: &[2]int64{1, 9}}, number(1), ""},
		"a lesser number":          {bounds{number: &[2]int64{1, 9}}, number(0), "must be between 1 and 9"},
		"a greater number":         {bounds{number: &[2]int64{1, 9}}, number(10), "must be between 1 and 9"},
		"a negative number":        {bounds{number: &[2]int64{0, 1<<63 - 1}}, number(-1), "must not be negative"},
		"a number below a minimum": {bounds{number: &[2]int64{5, 1<<63 - 1}}, number(4), "must be at least 5"},
		"no item":                  {bounds{items: [2]int{2, 3}}, items(0), "at least 2 are needed"},
		"one item":                 {bounds{items: [2]int{2, 3}}, items(1), "has 1 entries, at least 2 are needed"},
		"all items":                {bounds{items: [2]int{2, 3}}, items(3), ""},
		"an item too many":         {bounds{items: [2]int{2, 3}}, items(4), "has 4 entries, at most 3 are possible"},
	} {
		if got := tc.check(&tc.bounds); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
