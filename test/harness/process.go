// Package harness starts processes on CPUs of their own, and writes tables into pages. It is what "make bench" and
// "make accuracy" share.
//
// A process inherits the CPUs of the thread that starts it, and gets a signal when that thread ends. A program that
// uses Start or Run therefore locks its main goroutine to its thread, and starts every process from it.
package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Command is a process to start.
type Command struct {
	Argv  []string
	Env   []string // in addition to the environment of this program
	Stdin string
	CPUs  []int // it may use these and no others
}

// Process is a child that runs.
type Process struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer // not to be read before ended is closed
	ended          chan struct{}
}

// Start starts a process on its CPUs.
func Start(c Command) (*Process, error) {
	p := &Process{cmd: exec.Command(c.Argv[0], c.Argv[1:]...), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), c.Env...)
	p.cmd.Stdin = bytes.NewBufferString(c.Stdin)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.SysProcAttr = childAttributes()
	p.cmd.WaitDelay = time.Second
	restore, err := pinThread(c.CPUs)
	if err != nil {
		return nil, err
	}
	err = p.cmd.Start()
	restore()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", filepath.Base(c.Argv[0]), err)
	}
	go func() {
		_ = p.cmd.Wait() // the exit code is in ProcessState
		close(p.ended)
	}()
	return p, nil
}

// Stop sends SIGTERM, after 3 s SIGKILL, and waits for the end of the process.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(3 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// Await returns when the process accepts connections on a port, within 5 s.
func (p *Process) Await(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for {
		c, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			return c.Close()
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended with exit code %d: %s", p.cmd.Args[0], p.cmd.ProcessState.ExitCode(),
				LastLine(p.stderr.String()))
		case <-ctx.Done():
			return fmt.Errorf("%s does not listen on port %d: %w", p.cmd.Args[0], port, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Finished is a process that has ended.
type Finished struct {
	Stdout, Stderr string
	Code           int
	CPU            time.Duration // user and system time of the whole process, from wait4
}

// ErrTooLong is the error of a process that did not end in time.
var ErrTooLong = errors.New("did not end in time")

// Run starts a process and waits for its end, at most limit.
func Run(ctx context.Context, c Command, limit time.Duration) (Finished, error) {
	p, err := Start(c)
	if err != nil {
		return Finished{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-p.ended:
	case <-ctx.Done():
		p.Stop()
		return Finished{}, fmt.Errorf("%s %w", filepath.Base(c.Argv[0]), ErrTooLong)
	}
	s := p.cmd.ProcessState
	return Finished{
		Stdout: p.stdout.String(), Stderr: p.stderr.String(), Code: s.ExitCode(),
		CPU: s.UserTime() + s.SystemTime(),
	}, nil
}

// LastLine returns the last line of a text that is not empty.
func LastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
