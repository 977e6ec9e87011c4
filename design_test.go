package h2surge_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestDesignNamesTheCode: the names in docs/project/design are as in the code. A path exists below one of the bases of its page. A name of a package,
// such as split.Split, is declared there.
func TestDesignNamesTheCode(t *testing.T) {
	all := packages(t)
	for page, bases := range map[string][]string{
		"docs/project/design/engine.md":    {"", "runner"},
		"docs/project/design/decisions.md": {"", "runner"},
		"docs/project/design/control.md":   {"", "controllers", "controllers/internal"},
	} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		checked := 0
		for _, m := range regexp.MustCompile("`(?:([a-z0-9/_]+/[a-z0-9_.]+)|([a-z0-9]+)\\.([A-Z]\\w*))`").FindAllStringSubmatch(string(text), -1) {
			path, name, symbol := m[1], m[2], m[3]
			at := slices.IndexFunc(all, func(p listed) bool { return p.Name == name })
			switch {
			case path != "":
				if !slices.ContainsFunc(bases, func(base string) bool {
					_, err := os.Stat(filepath.Join(base, path))
					return err == nil
				}) {
					t.Errorf("%s names %s, which does not exist", page, path)
				}
			case at < 0:
				continue // a method, such as outcomes.OnDone
			case !declares(t, all[at], symbol):
				t.Errorf("%s names %s.%s, which is not declared", page, name, symbol)
			}
			checked++
		}
		if checked < 10 {
			t.Errorf("%d names found in %s", checked, page)
		}
	}
}

// declares returns whether a package declares a name.
func declares(t *testing.T, p listed, name string) bool {
	t.Helper()
	of := regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type |const |var |\t)` + name + `\b`)
	return slices.ContainsFunc(p.GoFiles, func(f string) bool {
		text, err := os.ReadFile(filepath.Join(p.Dir, f))
		if err != nil {
			t.Fatal(err)
		}
		return of.Match(text)
	})
}
