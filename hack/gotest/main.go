// Command gotest shows a run of "go test -json" (read from standard input) in a few lines and judges it:
//
//	go test -json ./... | go run ./hack/gotest -skips hack/skips.txt
//
// It prints one line for each package, the whole output of each failed test, and the lines in which tests report
// figures (FIGURE) or say why they were skipped. With -v it prints all output as it comes. It exits with 1 when a test
// failed, when no test ran, and, if the environment has CI=true, when a test was skipped that the list of -skips does
// not name.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("gotest: ")
	verbose := flag.Bool("v", false, "print all output")
	list := flag.String("skips", "", "file of the tests that may be skipped: package, test and reason in each line")
	flag.Parse()
	var allowed []skip
	if *list != "" {
		text, err := os.ReadFile(*list)
		if err != nil {
			log.Fatal(err)
		}
		if allowed, err = parseSkips(string(text)); err != nil {
			log.Fatalf("%s: %v", *list, err)
		}
	}
	r := &run{out: os.Stdout, verbose: *verbose, tests: map[test][]string{}}
	if err := r.read(os.Stdin); err != nil {
		log.Fatal(err)
	}
	if err := r.judge(allowed, os.Getenv("CI") == "true"); err != nil {
		log.Fatal(err)
	}
}

// event is a line of "go doc test2json".
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

type test struct{ pkg, name string }

// run is what is known of a run so far.
type run struct {
	out     io.Writer
	verbose bool
	// tests have the output of the tests that run; a test leaves it when it ends.
	tests                  map[test][]string
	passed, failed, broken int // broken counts packages that failed without a failed test
	skipped                []test
	failedIn               string   // the last package with a failed test
	reasons                []string // of the failed tests, for the end of the output
}

func (r *run) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.line(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// line takes an event, or a line of something else than a test, which is shown.
func (r *run) line(line []byte) {
	var e event
	if line[0] != '{' || json.Unmarshal(line, &e) != nil {
		fmt.Fprintf(r.out, "%s", line)
		return
	}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		r.output(e)
	case "pass", "fail", "skip":
		r.end(e)
	}
}

func (r *run) output(e event) {
	if r.verbose || strings.Contains(e.Output, "FIGURE") || strings.Contains(e.Output, "SKIPPED") {
		fmt.Fprint(r.out, e.Output)
	}
	t := test{e.Package, e.Test}
	r.tests[t] = append(r.tests[t], e.Output)
}

// end takes the end of a test or, without the name of one, of a package.
func (r *run) end(e event) {
	t := test{e.Package, e.Test}
	if e.Test == "" {
		r.endPackage(e)
		return
	}
	switch e.Action {
	case "pass":
		r.passed++
	case "skip":
		r.skipped = append(r.skipped, t)
	case "fail":
		r.failed++
		r.failedIn = e.Package
		r.show(t)
		r.reasons = append(r.reasons, reason(e.Test, r.tests[t]))
	}
	delete(r.tests, t)
}

func (r *run) endPackage(e event) {
	switch e.Action {
	case "pass":
		fmt.Fprintf(r.out, "ok    %-72s %6.1f s\n", e.Package, e.Elapsed)
	case "fail":
		if r.failedIn != e.Package { // it does not compile, or ended before its tests had
			r.broken++
		}
		for k := range r.tests { // those that had not ended, and what belongs to no test
			if k.pkg == e.Package {
				r.show(k)
			}
		}
		fmt.Fprintf(r.out, "FAIL  %-72s %6.1f s\n", e.Package, e.Elapsed)
	}
	maps.DeleteFunc(r.tests, func(t test, _ []string) bool { return t.pkg == e.Package })
}

// show prints the output of a test that failed.
func (r *run) show(t test) {
	if r.verbose {
		return // it has been printed
	}
	for _, line := range r.tests[t] {
		fmt.Fprint(r.out, line)
	}
}

// located matches what a test logs: the place in its file, and the text.
var located = regexp.MustCompile(`^ {4}\w+_test\.go:\d+: `)

// reason is a failed test with the first lines that it logged: a failure comes before what the test dumps because of
// it.
func reason(name string, output []string) string {
	const most = 3
	text, n := "failed: "+name+"\n", 0
	for _, line := range output {
		if n < most && located.MatchString(line) {
			text += line
			n++
		}
	}
	return text
}

// judge prints the sum and says why the run has failed, if it has.
func (r *run) judge(allowed []skip, ci bool) error {
	unlisted := 0
	for _, t := range r.skipped {
		reason, ok := find(allowed, t)
		if !ok {
			reason = "not in the list of tests that may be skipped"
			unlisted++
		}
		fmt.Fprintf(r.out, "skip  %s %s: %s\n", t.pkg, t.name, reason)
	}
	for _, text := range r.reasons {
		fmt.Fprint(r.out, text)
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", r.passed, r.failed+r.broken, len(r.skipped))
	switch {
	case r.failed+r.broken > 0:
		return fmt.Errorf("%d tests failed", r.failed+r.broken)
	case r.passed == 0:
		return errors.New("no test passed")
	case ci && unlisted > 0:
		return fmt.Errorf("%d tests were skipped that the list does not name; install what they need, or name each with its reason", unlisted)
	}
	return nil
}

// skip is a line of the list: tests of a package that may be skipped, and why. Both names are patterns of path.Match.
type skip struct{ pkg, name, reason string }

// parseSkips reads the list. Empty lines and lines that begin with # mean nothing.
func parseSkips(text string) ([]skip, error) {
	var out []skip
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		if len(f) < 3 {
			return nil, fmt.Errorf("line %d: want a package, a test and the reason", i+1)
		}
		for _, pattern := range f[:2] {
			if _, err := path.Match(pattern, ""); err != nil {
				return nil, fmt.Errorf("line %d: %s: %w", i+1, pattern, err)
			}
		}
		out = append(out, skip{f[0], f[1], strings.Join(f[2:], " ")})
	}
	return out, nil
}

// find returns the reason why a test may be skipped.
func find(list []skip, t test) (string, bool) {
	i := slices.IndexFunc(list, func(s skip) bool {
		pkg, _ := path.Match(s.pkg, t.pkg)
		name, _ := path.Match(s.name, t.name)
		return pkg && name
	})
	if i < 0 {
		return "", false
	}
	return list[i].reason, true
}
