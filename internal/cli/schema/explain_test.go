package schema

import (
	"strings"
	"testing"
)

// TestEveryFieldIsExplained: every path that the tree shows is found, and says something.
func TestEveryFieldIsExplained(t *testing.T) {
	for _, k := range kinds {
		root, err := k.schema()
		if err != nil {
			t.Fatal(err)
		}
		fields := 0
		var walk func(s *openAPI, path string)
		walk = func(s *openAPI, path string) {
			if inside := s.inside(); len(inside.names) != len(inside.Properties) {
				t.Errorf("%s: the order of fields has %v; want each of %d fields once", path, inside.names, len(inside.Properties))
			}
			for name, child := range s.inside().Properties {
				at := strings.TrimPrefix(path+"."+name, ".")
				f, err := k.find(root, strings.Split(at, "."))
				if err != nil || f.openAPI != child || f.Description == "" {
					t.Errorf("%s.%s: %v, %+v", k.name, at, err, f.openAPI)
				}
				fields++
				walk(child, at)
			}
		}
		walk(root, "")
		if fields < 100 {
			t.Errorf("%s: only %d fields", k.name, fields)
		}
	}
}
