//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/h2surge/h2surge/test/markdown"
)

// TestGettingStarted runs the commands of README.md and docs/getting-started.md in their order, in one shell, as a reader does, and
// compares what they print with what the page prints. It comes after TestInstall: the cluster has no h2surge, and the page ends without
// one.
func TestGettingStarted(t *testing.T) {
	if os.Getenv("E2E_CLUSTER") != "own" {
		t.Skip("SKIPPED: the page brings up the cluster of hack/cluster; this run has another")
	}
	const root = "../.."
	t.Cleanup(func() { // of a page that stopped halfway; nothing is left of one that did not
		for _, args := range []string{"delete loadtest quickstart", "delete -k ../../config/target", "delete -k ../../config/default"} {
			_ = exec.Command("kubectl", append(strings.Fields(args), "--ignore-not-found", "--timeout=60s")...).Run()
		}
	})
	sh := newShell(t, root)
	sh.runPage("README.md", 2)
	sh.runPage("docs/getting-started.md", 20)
}

// runPage runs the commands of a page's blocks that are marked with "run"; there must be so many at least.
func (s *shell) runPage(file string, atLeast int) {
	s.Helper()
	text, err := os.ReadFile("../../" + file)
	if err != nil {
		s.Fatal(err)
	}
	page, err := markdown.Parse(file, string(text))
	if err != nil {
		s.Fatal(err)
	}
	n := 0
	for _, b := range page.Blocks {
		if b.Language != "console" || !b.Marked("run") {
			continue
		}
		for _, c := range b.Commands() {
			n++
			begun := time.Now()
			out, status := s.run(c.Text)
			s.Logf("$ %s (%v)\n%s", c.Text, time.Since(begun).Round(100*time.Millisecond), out)
			if status != "0" {
				s.Fatalf("%s:%d: %s: status %s", file, c.Line, c.Text, status)
			}
			if wrong := unlike(c.Output, out); wrong != "" {
				s.Errorf("%s:%d: %s: %s", file, c.Line, c.Text, wrong)
			}
		}
	}
	if n < atLeast {
		s.Errorf("%s has %d commands that run, want at least %d", file, n, atLeast)
	}
}

// shell is one bash that runs commands one after another.
type shell struct {
	*testing.T
	in  *os.File
	out *os.File
	n   int
}

func newShell(t *testing.T, dir string) *shell {
	t.Helper()
	in, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	cmd := exec.CommandContext(ctx, "bash")
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, in, out, out
	// A reader's make is not called by another make, which would print the directories that it enters.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "MFLAGS=") })
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = in.Close(), out.Close() // bash has them
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
		cancel()
	})
	return &shell{T: t, in: stdin, out: stdout}
}

// run returns what a command wrote, and its exit status. No command reads the shell's own input.
func (s *shell) run(command string) (out, status string) {
	s.Helper()
	s.n++
	mark := fmt.Sprintf("@end-of-command-%d@", s.n)
	fmt.Fprintf(s.in, "{ %s\n} </dev/null\necho \"%s$?\"\n", command, mark)
	var got []byte
	b := make([]byte, 4096)
	for {
		n, err := s.out.Read(b)
		got = append(got, b[:n]...)
		if before, after, found := bytes.Cut(got, []byte(mark)); found && bytes.HasSuffix(after, []byte("\n")) {
			return string(before), strings.TrimSpace(string(after))
		}
		if err != nil {
			s.Fatalf("%s: the shell ended: %v\n%s", command, err, got)
		}
	}
}

// unlike says where printed, which is a page's, has another shape than got. A line "..." in printed stands for any lines. Words with a
// digit in them, how many follow one another, and the width of blanks, may differ. A page that prints nothing leaves everything open.
func unlike(printed, got string) string {
	want, have := shapes(printed), shapes(got)
	if len(want) == 0 {
		return ""
	}
	from, free := 0, false
	for i, line := range want {
		if line == "..." {
			free = true
			continue
		}
		at := from
		for free && at < len(have) && have[at] != line {
			at++
		}
		if at >= len(have) || have[at] != line {
			return fmt.Sprintf("the page's line %d is not printed:\n%s\nprinted:\n%s", i+1, strings.Split(printed, "\n")[i], got)
		}
		from, free = at+1, false
	}
	if !free && from < len(have) {
		return fmt.Sprintf("the page lacks the line %q", have[from])
	}
	return ""
}

var figures = regexp.MustCompile(`\S*\d\S*(\s+\S*\d\S*)*`)

func shapes(text string) (out []string) {
	for line := range strings.Lines(text) {
		out = append(out, strings.Join(strings.Fields(figures.ReplaceAllString(line, "#")), " "))
	}
	return out
}

// TestUnlike needs no cluster, but what it tests is here.
func TestUnlike(t *testing.T) {
	for name, tc := range map[string]struct {
		printed, got string
		alike        bool
	}{
		"nothing printed":  {"", "a\nb\n", true},
		"other numbers":    {"a 1  2.5ms  b\n", "a 22 b\n", true},
		"another word":     {"a 1\n", "b 1\n", false},
		"more lines":       {"a\n", "a\nb\n", false},
		"fewer lines":      {"a\nb\n", "a\n", false},
		"any lines before": {"...\nb\n", "a\na\nb\n", true},
		"any lines after":  {"a\n...\n", "a\nb\nc\n", true},
		"missing in dots":  {"...\nb\n...\n", "a\nc\n", false},
		"order":            {"...\nb\n...\na\n...\n", "a\nb\n", false},
	} {
		if wrong := unlike(tc.printed, tc.got); (wrong == "") != tc.alike {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}
