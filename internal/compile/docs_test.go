package compile_test

import (
	"testing"

	"github.com/h2surge/h2surge/test/markdown"
)

// TestManifestsOfTheDocs compiles each LoadTest that a page prints: readers copy it.
func TestManifestsOfTheDocs(t *testing.T) {
	pages, err := markdown.Pages("../..")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, p := range pages {
		for _, b := range p.Blocks {
			if !b.Manifest() {
				continue
			}
			n++
			if lines := linesOf(t, b.Text); len(lines) > 0 {
				t.Errorf("%s:%d: %v", b.File, b.Line, lines)
			}
		}
	}
	if n < 2 {
		t.Errorf("the pages have %d manifests only", n)
	}
}
