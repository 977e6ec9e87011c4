//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/h2surge/h2surge/test/cgroup2"
)

// commandTime bounds one command. It takes a few seconds on an idle machine.
const commandTime = 2 * time.Minute

// run makes the groups of a check, runs its command and removes the groups.
func run(c *cgroup2.Check) (o cgroup2.Outcome) {
	o.Name = c.Name
	begun := time.Now()
	defer func() { o.Seconds = time.Since(begun).Seconds() }()
	var err error
	for i := range c.Groups {
		err = errors.Join(err, makeGroup(&c.Groups[i]))
	}
	if err == nil {
		err = execute(c, &o)
	}
	for i := len(c.Groups) - 1; i >= 0; i-- {
		err = errors.Join(err, removeGroup(&c.Groups[i]))
	}
	if err != nil {
		o.Problem = err.Error()
	}
	return o
}

func execute(c *cgroup2.Check, o *cgroup2.Outcome) error {
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	cmd, folder, err := command(ctx, c.Groups[len(c.Groups)-1].Path, c.View, c.Command)
	if err != nil {
		return err
	}
	defer folder.Close() //nolint:errcheck // nothing was written
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	o.ExitCode, o.Stdout, o.Stderr = cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return nil // the test knows which exit code is right
	}
	return err
}

// command returns a command that begins its life in a group (clone3(2), CLONE_INTO_CGROUP), so that what it reads while
// it initialises is that group's. The folder must stay open until it has started.
func command(ctx context.Context, group string, view cgroup2.View, args []string) (cmd *exec.Cmd, folder io.Closer,
	err error) {
	f, err := os.Open(cgroup2.Hierarchy + group)
	if err != nil {
		return nil, nil, err
	}
	attributes := &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(f.Fd())}
	if view != cgroup2.HostView {
		args = append([]string{cgroup2.GuestPath, "view", string(view)}, args...)
		attributes.Unshareflags = unix.CLONE_NEWNS
		if view != cgroup2.BindView {
			attributes.Unshareflags |= unix.CLONE_NEWCGROUP
		}
	}
	cmd = exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.SysProcAttr = attributes
	return cmd, f, nil
}
