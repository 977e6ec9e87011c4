package compile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestManifestOfTheDocs: readers copy it.
func TestManifestOfTheDocs(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "spec", "loadtest.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(raw), "```yaml\n")
	manifest, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("there is no manifest")
	}
	if lines := linesOf(t, manifest); len(lines) > 0 {
		t.Error(lines)
	}
}
