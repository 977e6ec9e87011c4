// Command prose finds words that this project does not use, and names what to write in their place. rules.yaml has the
// list.
//
//	go run ./hack/prose            docs, API comments, messages, help, charts, samples; exits with 1 on an alert
//	go run ./hack/prose -rest      comments and identifiers, counted by package
//	go run ./hack/prose PATH ...   only files below these paths; -rest then prints each place
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

func main() {
	rest := flag.Bool("rest", false, "search comments and identifiers instead of text that users see")
	flag.Parse()
	rules, err := parseRules(rulesYAML)
	if err == nil {
		var alerts []alert
		if alerts, err = search(rules, flag.Args(), *rest); err == nil {
			os.Exit(show(alerts, *rest, flag.NArg() > 0))
		}
	}
	fmt.Fprintln(os.Stderr, "prose:", err)
	os.Exit(2)
}

// search returns the alerts of all files of the repository below one of the paths, or of all files if there is no path.
func search(rules []rule, paths []string, rest bool) ([]alert, error) {
	out, err := exec.Command("git", "ls-files", "-co", "--exclude-standard").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	var alerts []alert
	for _, file := range strings.Fields(string(out)) {
		if len(paths) > 0 && !slices.ContainsFunc(paths, func(p string) bool { return within(file, p) }) {
			continue
		}
		kind := classify(file)
		if kind == skipped {
			continue
		}
		content, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue // Deleted, but not committed.
		}
		if err != nil {
			return nil, err
		}
		texts, err := extract(file, kind, content)
		if err != nil {
			return nil, err
		}
		for _, t := range texts {
			if t.visible != rest {
				alerts = append(alerts, check(rules, t)...)
			}
		}
	}
	return alerts, nil
}

// show prints alerts and returns the exit code. Comments and identifiers never fail.
func show(alerts []alert, rest, places bool) int {
	if !rest || places {
		for _, a := range alerts {
			fmt.Printf("%s:%d: %q: write %s\n", a.file, a.line, a.found, a.write)
		}
	}
	if !rest {
		if len(alerts) > 0 {
			fmt.Printf("%d alerts: hack/prose/rules.yaml has the rules, CONTRIBUTING.md the reasons\n", len(alerts))
			return 1
		}
		return 0
	}
	counts := map[string]int{}
	for _, a := range alerts {
		counts[path.Dir(a.file)]++
	}
	folders := make([]string, 0, len(counts))
	for f := range counts {
		folders = append(folders, f)
	}
	slices.SortFunc(folders, func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	for _, f := range folders {
		fmt.Printf("%5d %s\n", counts[f], f)
	}
	fmt.Printf("%5d in comments and identifiers; make prose PKG=FOLDER prints the places\n", len(alerts))
	return 0
}
