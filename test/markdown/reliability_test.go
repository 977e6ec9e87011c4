package markdown

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	// proof is a test in the last cell of a row: `TestName` or `TestName/case`, and the level at which it runs.
	proof = regexp.MustCompile("`(Test\\w+)(?:/([^`]+))?` \\(([a-z0-9-]+)\\)")
)

// simulated is a rule of test/simulate in the last cell of a row, and an event that it must survive.
var simulated = regexp.MustCompile("`([a-z][^`]*)` \\(`(\\w+)`\\)")

// simulation returns the code of the rules and events of test/simulate.
func simulation(t *testing.T) (code string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "test/simulate/*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of the simulation: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code += string(text)
	}
	return code
}

// levels are the levels of the tests of the failure matrix.
var levels = map[string]bool{"unit": true, "simulation": true, "api-server": true, "e2e": true, "e2e-long": true}

// level returns the level of a test from the folder of its file. A package whose tests start a real API server is at that
// level as a whole.
func level(file, test string, apiServer bool) string {
	switch dir := filepath.ToSlash(filepath.Dir(file)); {
	case strings.HasSuffix(dir, "test/e2e") && strings.HasPrefix(test, "TestLong"):
		return "e2e-long"
	case strings.HasSuffix(dir, "test/e2e"):
		return "e2e"
	case strings.HasSuffix(dir, "test/simulate"):
		return "simulation"
	case apiServer:
		return "api-server"
	}
	return "unit"
}

var startsAPIServer = regexp.MustCompile(`"(sigs.k8s.io/controller-runtime/pkg/envtest|github.com/h2surge/h2surge/test/world)"`)

// tests returns the text of the files that declare each test, by level and name.
func tests(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	apiServer := map[string]bool{} // by folder
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "dist") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(file)
		texts[file] = string(text)
		if dir := filepath.Dir(file); startsAPIServer.Match(text) {
			apiServer[dir] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for file, text := range texts {
		for _, m := range testFunction.FindAllStringSubmatch(text, -1) {
			out[level(file, m[1], apiServer[filepath.Dir(file)])+" "+m[1]] += text
		}
	}
	return out
}

// TestFailureMatrix: each row of the failure matrix of docs/operate/reliability.md names a test that exists, at the level where
// it runs, and a case only if the test's file has its name. Rules and events of the simulation exist.
func TestFailureMatrix(t *testing.T) {
	const page, least = "docs/operate/reliability.md", 30
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	_, matrix, found := strings.Cut(string(text), "\n## Failure matrix\n")
	if !found {
		t.Fatalf("%s has no section Failure matrix", page)
	}
	matrix, _, _ = strings.Cut(matrix, "\n## ")
	known, code, rows := tests(t), simulation(t), 0
	for line := range strings.Lines(matrix) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| fault ") {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != 5 {
			t.Errorf("%s: the row has %d cells, want 5: %s", page, len(cells), line)
			continue
		}
		named := proof.FindAllStringSubmatch(cells[4], -1)
		if len(named) == 0 {
			t.Errorf("%s: the row names no test as `TestName` (level): %s", page, line)
		}
		for _, m := range simulated.FindAllStringSubmatch(cells[4], -1) {
			if !strings.Contains(code, strconv.Quote(m[1])) || !strings.Contains(code, "Name: "+strconv.Quote(m[2])) {
				t.Errorf("%s: the simulation has no rule %q or no event %s: %s", page, m[1], m[2], line)
			}
		}
		for _, m := range named {
			file, exists := known[m[3]+" "+m[1]]
			switch {
			case !levels[m[3]]:
				t.Errorf("%s: %s is not a level: %s", page, m[3], line)
			case !exists:
				t.Errorf("%s: there is no test %s at level %s: %s", page, m[1], m[3], line)
			case m[2] != "" && !strings.Contains(file, m[2]):
				t.Errorf("%s: %s has no case %s: %s", page, m[1], m[2], line)
			}
		}
	}
	if rows < least {
		t.Errorf("%s: the failure matrix has %d rows, want %d at least", page, rows, least)
	}
}
