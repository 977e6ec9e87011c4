package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/cli/terminal"
	"github.com/h2surge/h2surge/internal/mock"
)

// terminalOf is a pseudo-terminal: a person at one side, a process in a session of its own at the other.
type terminalOf struct {
	t            *testing.T
	person, line *os.File
	cmd          *exec.Cmd
	seen         strings.Builder
}

// openTerminal returns both sides of a pseudo-terminal.
func openTerminal(t *testing.T) (person, line *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { person.Close() })
	raw, err := person.SyscallConn() // Fd would take the deadlines away
	if err != nil {
		t.Fatal(err)
	}
	var number int
	var failed error
	if err := raw.Control(func(fd uintptr) {
		failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
		if failed == nil {
			number, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	}); err != nil || failed != nil {
		t.Fatal(errors.Join(err, failed))
	}
	line, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { line.Close() })
	return person, line
}

// onTerminal starts a command on a terminal, as h2surge.
func onTerminal(t *testing.T, name string, args ...string) *terminalOf {
	t.Helper()
	person, line := openTerminal(t)
	p := &terminalOf{t: t, person: person, line: line, cmd: exec.Command(name, args...)}
	p.cmd.Env = append(os.Environ(), asMain+"=1")
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = line, line, line
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if !p.isCooked() { // the process may change it at once
		t.Fatal("the terminal begins without echo")
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// sees waits for a text.
func (p *terminalOf) sees(text string) {
	p.t.Helper()
	if err := p.person.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		p.t.Fatal(err)
	}
	b := make([]byte, 4096)
	for !strings.Contains(p.seen.String(), text) {
		n, err := p.person.Read(b)
		p.seen.Write(b[:n])
		if err != nil {
			p.t.Fatalf("waiting for %q: %v, seen:\n%s", text, err, p.seen.String())
		}
	}
	_, rest, _ := strings.Cut(p.seen.String(), text)
	p.seen.Reset()
	p.seen.WriteString(rest)
}

func (p *terminalOf) types(keys string) {
	p.t.Helper()
	if _, err := p.person.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// isCooked: the terminal edits lines and shows what is typed.
func (p *terminalOf) isCooked() bool {
	p.t.Helper()
	mode, err := unix.IoctlGetTermios(int(p.line.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Fatal(err)
	}
	if edits, shows := mode.Lflag&unix.ICANON != 0, mode.Lflag&unix.ECHO != 0; edits == shows {
		return edits
	}
	p.t.Fatal("the terminal is half one, half the other")
	return false
}

// ends waits for the process and drops its last output.
func (p *terminalOf) ends() int {
	p.t.Helper()
	guard := time.AfterFunc(10*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer guard.Stop()
	exit := new(exec.ExitError)
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return p.cmd.ProcessState.ExitCode()
}

// loading is what progress shows once the stage has begun.
const loading = "%  load"

// self returns the test program, which behaves as h2surge if a variable is set, and the arguments of a run without an end.
func self(t *testing.T) (name string, args []string) {
	t.Helper()
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	peer := serve(t, mock.Options{})
	return name, []string{"run", "-D", "60", "--rps", "100", "-c", "1", "http://" + peer.Addr().String()}
}

// TestColours: only a terminal that can show colours gets them, and only if its user wants them.
func TestColours(t *testing.T) {
	_, line := openTerminal(t)
	for _, tc := range []struct {
		noColour, term string
		want           bool
	}{{"", "xterm", true}, {"1", "xterm", false}, {"", "dumb", false}} {
		t.Setenv("NO_COLOR", tc.noColour)
		t.Setenv("TERM", tc.term)
		if got := command.HasColours(line); got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
		if command.HasColours(&strings.Builder{}) {
			t.Errorf("%+v: colours in a pipe", tc)
		}
	}
}

func TestKeysOnATerminal(t *testing.T) {
	waits(t)
	name, args := self(t)
	p := onTerminal(t, name, args...)
	p.sees(terminal.KeysHint)
	p.sees(loading)
	if p.isCooked() {
		t.Error("keys wait for Enter")
	}
	for _, step := range []struct{ key, want string }{{"+", "rate 110/s"}, {"p", "paused"}, {"p", "resumed, rate 110/s"}, {"?", "shows this"}, {"q", "Verdict: "}} {
		p.types(step.key)
		p.sees(step.want)
	}
	if code := p.ends(); code != 4 || !p.isCooked() {
		t.Errorf("exit code %d, the terminal is as before: %v", code, p.isCooked())
	}
}

func TestTerminalAfterSignals(t *testing.T) {
	waits(t)
	for _, tc := range []struct {
		name, keys string
		want       int
	}{{"interrupt", "\x03", 4}, {"quit", "\x1c", 2}} { // ^C, and ^\, at which Go prints its goroutines
		t.Run(tc.name, func(t *testing.T) {
			waits(t)
			name, args := self(t)
			p := onTerminal(t, name, args...)
			p.sees(loading)
			p.types(tc.keys)
			go func() { // or the process would wait for someone to read
				b := make([]byte, 4096)
				for {
					if _, err := p.person.Read(b); err != nil {
						return
					}
				}
			}()
			if code := p.ends(); code != tc.want || !p.isCooked() {
				t.Errorf("exit code %d, the terminal is as before: %v", code, p.isCooked())
			}
		})
	}
}

// A shell that stops the run and brings it back.
func TestTerminalWhileStopped(t *testing.T) {
	waits(t)
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	name, args := self(t)
	p := onTerminal(t, sh, append([]string{"-c", `set -m; "$@"; echo stopped; read x; fg; echo over`, "sh", name}, args...)...)
	p.sees(loading)
	p.types("\x1a")
	p.sees("stopped\r\n")
	if !p.isCooked() {
		t.Error("the shell's terminal has no echo")
	}
	p.types("\n")
	p.sees(loading)
	p.types("+")
	p.sees("rate 110/s")
	p.types("q")
	p.sees("over\r\n")
	if p.ends(); !p.isCooked() {
		t.Error("the terminal is not as before")
	}
}
