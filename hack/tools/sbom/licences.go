package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// allowed are the licences of modules in the image: they ask for nothing but their text and a notice.
var allowed = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "Unlicense",
	"Zlib"}

// covered is the share of a file, in percent, that must be the text of licences.
const covered = 75

// licencesIn returns the licences of a module, from the files in its root.
func licencesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") && !strings.HasPrefix(name,
			"UNLICENSE") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		found := licensecheck.Scan(text)
		if found.Percent < covered {
			continue
		}
		for _, m := range found.Match {
			out = append(out, m.ID)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// refused returns the modules whose licence is not known or not allowed, each with the reason.
func refused(all []module) (out []string) {
	for _, m := range all {
		if len(m.licences) == 0 {
			out = append(out, fmt.Sprintf("  %s %s: no licence was found", m.path, m.version))
		}
		for _, l := range m.licences {
			if !slices.Contains(allowed, l) {
				out = append(out, fmt.Sprintf("  %s %s: %s", m.path, m.version, l))
			}
		}
	}
	return out
}

// counted returns each licence with the number of its modules.
func counted(all []module) (out []string) {
	n := map[string]int{}
	for _, m := range all {
		for _, l := range m.licences {
			n[l]++
		}
	}
	for l, count := range n {
		out = append(out, fmt.Sprintf("%s (%d)", l, count))
	}
	slices.Sort(out)
	return out
}
