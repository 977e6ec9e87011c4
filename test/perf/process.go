package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// command is a process to start.
type command struct {
	argv  []string
	env   []string // besides this program's own
	stdin string
	cpus  []int // it may use these and no others
}

// process is a child that runs. Only the main goroutine starts one.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer // not to be read before ended is closed
	ended          chan struct{}
}

func start(c command) (*process, error) {
	p := &process{cmd: exec.Command(c.argv[0], c.argv[1:]...), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), c.env...)
	p.cmd.Stdin = bytes.NewBufferString(c.stdin)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.SysProcAttr = childAttributes()
	p.cmd.WaitDelay = time.Second
	restore, err := pinThread(c.cpus)
	if err != nil {
		return nil, err
	}
	err = p.cmd.Start()
	restore()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", filepath.Base(c.argv[0]), err)
	}
	go func() {
		_ = p.cmd.Wait() // the exit code is in ProcessState
		close(p.ended)
	}()
	return p, nil
}

// stop ends the process and waits for that: politely, after 3 s for certain.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(3 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// finished is a process that has ended.
type finished struct {
	stdout, stderr string
	code           int
	cpu            time.Duration // user and system time of the whole process, from wait4
}

var errTooLong = errors.New("did not end in time")

// run starts a process and waits for its end, at most limit.
func run(ctx context.Context, c command, limit time.Duration) (finished, error) {
	p, err := start(c)
	if err != nil {
		return finished{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-p.ended:
	case <-ctx.Done():
		p.stop()
		return finished{}, fmt.Errorf("%s %w", filepath.Base(c.argv[0]), errTooLong)
	}
	s := p.cmd.ProcessState
	return finished{
		stdout: p.stdout.String(), stderr: p.stderr.String(), code: s.ExitCode(),
		cpu: s.UserTime() + s.SystemTime(),
	}, nil
}
