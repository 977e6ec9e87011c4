package cli

import (
	"os"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
)

// TestMaterialiseBelow: no path of a file leads out of the directory.
func TestMaterialiseBelow(t *testing.T) {
	for _, path := range []string{"schemas/c/../../../x", "../x", "/x", ".", ""} {
		outside := t.TempDir()
		t.Setenv("TMPDIR", outside)
		placed, dir, err := materialise(&rv.Plan{}, []compile.File{{Path: "configmaps/c/a"}, {Path: path}})
		if err == nil || placed != nil || dir != "" {
			t.Errorf("%q: directory %q, error %v", path, dir, err)
		}
		if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
			t.Errorf("%q: %v is left: %v", path, left, err)
		}
	}
}
