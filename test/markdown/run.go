package markdown

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Shell is one bash that runs the commands of pages one after another, as a reader does.
type Shell struct {
	t       *testing.T
	dir     string
	in, out *os.File
	n       int
	// Busy reports whether the output, which is not the page's, shows that the machine was busy. The shell then runs the
	// command again. It does not compare the last of the attempts if that was disturbed, too.
	Busy func(out string) bool
	// disturbed is set after such a last attempt: its status is not compared.
	disturbed bool
}

// longest and longestStart are how long a command may take, and how long one in the background may take until it has
// written what the page prints. They are far above the time that any of them needs.
const (
	longest      = 15 * time.Minute
	longestStart = time.Minute
)

// NewShell starts a shell in a folder, with more variables of the environment.
func NewShell(t *testing.T, dir string, env ...string) *Shell {
	t.Helper()
	in, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash")
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, in, out, out
	// A reader's make is not called by another make, which would print the directories that it enters.
	cmd.Env = slices.DeleteFunc(os.Environ(),
		func(v string) bool { return strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "MFLAGS=") })
	cmd.Env = append(cmd.Env, env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = in.Close(), out.Close() // bash has them
	t.Cleanup(func() {
		fmt.Fprintln(stdin, "kill $(jobs -p) 2>/dev/null; exit")
		_ = stdin.Close()
		_ = cmd.Wait()
		_ = stdout.Close()
	})
	return &Shell{t: t, dir: dir, in: stdin, out: stdout}
}

// Page runs the blocks of a page in their order, and returns the number of its commands. A block with "save=FILE" is
// stored in the file. The commands of a block with "console run" print what the page prints, and succeed, unless the
// next command of the block is "echo $?".
func (s *Shell) Page(p *Page) int {
	s.t.Helper()
	n := 0
	for _, b := range p.Blocks {
		for _, mark := range b.Marks {
			if name, saved := strings.CutPrefix(mark, "save="); saved {
				if err := os.WriteFile(filepath.Join(s.dir, name), []byte(b.Text), 0o600); err != nil {
					s.t.Fatal(err)
				}
			}
		}
		if b.Language != "console" || !b.Marked("run") {
			continue
		}
		commands := b.Commands()
		for i, c := range commands {
			n++
			s.command(p.File, c, i+1 < len(commands) && commands[i+1].Text == showStatus)
		}
	}
	return n
}

const showStatus = "echo $?"

// attempts is how often a command runs on a busy machine.
const attempts = 3

// command runs one of a page. The commands after one that failed are not run.
func (s *Shell) command(file string, c Command, mayFail bool) {
	s.t.Helper()
	wrong, failed, busy := "", false, true
	for i := 0; i < attempts && busy; i++ {
		begun := time.Now()
		out, status := s.run(c)
		s.t.Logf("$ %s (%v)\n%s", c.Text, time.Since(begun).Round(100*time.Millisecond), out)
		failed, wrong = status != "0" && !mayFail, Unlike(c.Output, out)
		if c.Text == showStatus && out != c.Output && !s.disturbed {
			wrong = fmt.Sprintf("the status is %q, and the page prints %q", out, c.Output)
		}
		busy = (failed || wrong != "") && s.Busy != nil && s.Busy(out)
	}
	switch s.disturbed = busy; {
	case busy:
		s.t.Logf("%s:%d: not compared: the machine is busy", file, c.Line)
	case failed:
		s.t.Fatalf("%s:%d: %s: it failed", file, c.Line, c.Text)
	case wrong != "":
		s.t.Errorf("%s:%d: %s: %s", file, c.Line, c.Text, wrong)
	}
}

// run returns what a command wrote, and its exit status, which the next command has in $?. No command reads the shell's
// own input. A command that ends in & continues in the background; run returns when it has written what the page
// prints.
func (s *Shell) run(c Command) (out, status string) {
	s.t.Helper()
	s.n++
	mark := fmt.Sprintf("@end-of-command-%d@", s.n)
	// The subshell ends with the command's status, for the next command.
	fmt.Fprintf(s.in, "{ %s\n} </dev/null\nstatus=$?; echo \"%s$status@\"; (exit $status)\n", c.Text, mark)
	background, timeout, ready := strings.HasSuffix(c.Text, "&"), longest, c.Output
	if background {
		timeout, ready = longestStart, "...\n"+c.Output+"...\n"
	}
	if err := s.out.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		s.t.Fatal(err)
	}
	var got []byte
	b := make([]byte, 4096)
	for {
		n, err := s.out.Read(b)
		got = append(got, b[:n]...)
		before, rest, marked := bytes.Cut(got, []byte(mark))
		code, after, ended := bytes.Cut(rest, []byte("@\n"))
		if all := string(before) + string(after); marked && ended && (!background || Unlike(ready, all) == "") {
			return all, string(code)
		}
		if err != nil {
			s.t.Fatalf("%s: the shell ended, or the command did not end: %v\n%s", c.Text, err, got)
		}
	}
}

// Unlike says where printed, which is a page's, has another shape than got. A line "..." in printed stands for any
// lines. Words with a digit in them, how many follow one another, and the width of blanks, may differ. A page that
// prints nothing leaves everything open.
func Unlike(printed, got string) string {
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

// figures matches words with a digit. Percentiles of a second without a response are "no response".
var figures = regexp.MustCompile(`(\S*\d\S*|no response)(\s+(\S*\d\S*|no response))*`)

func shapes(text string) (out []string) {
	for line := range strings.Lines(text) {
		out = append(out, strings.Join(strings.Fields(figures.ReplaceAllString(line, "#")), " "))
	}
	return out
}
