//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/h2surge/h2surge/test/cgroup2"
)

// outcomes is the second serial port: the kernel writes to the first only, so lines are never mixed.
const outcomes = "/dev/ttyS1"

// boot is the life of the first process: it does the job and switches the machine off, whatever happens. The error
// shows on the kernel's console.
func boot() error {
	defer unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF) //nolint:errcheck // the test ends the emulator then
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, "guest: "+err.Error())
	}
	unix.Sync()
	return nil
}

func work() error {
	if err := mountAll(); err != nil {
		return err
	}
	port, err := openPort(outcomes)
	if err != nil {
		return err
	}
	if err := loopbackUp(); err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	var job cgroup2.Job
	b, err := os.ReadFile(cgroup2.JobPath)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, &job); err != nil {
		return fmt.Errorf("%s: %w", cgroup2.JobPath, err)
	}
	if err := startTarget(&job.Target); err != nil {
		return fmt.Errorf("target: %w", err)
	}
	return runAll(job.Checks, port)
}

func runAll(checks []cgroup2.Check, port io.Writer) error {
	lines := json.NewEncoder(port)
	for i := range checks {
		o := run(&checks[i])
		fmt.Printf("guest: %s: exit code %d after %.1f s %s\n", o.Name, o.ExitCode, o.Seconds, o.Problem)
		if err := lines.Encode(o); err != nil {
			return err
		}
	}
	return nil
}

func mountAll() error {
	for _, m := range []struct{ point, kind string }{
		{"/proc", "proc"}, {"/sys", "sysfs"}, {"/dev", "devtmpfs"}, {"/tmp", "tmpfs"}, {cgroup2.Hierarchy, "cgroup2"},
	} {
		if err := os.MkdirAll(m.point, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, m.point, m.kind, 0, ""); err != nil {
			return fmt.Errorf("mounting %s: %w", m.point, err)
		}
	}
	// Views are made of mounts, which must not spread from one to another.
	return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
}

// openPort opens a serial port that transfers octets unchanged.
func openPort(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	settings, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	settings.Oflag &^= unix.OPOST
	settings.Cflag = settings.Cflag&^unix.CBAUD | unix.B115200
	return f, unix.IoctlSetTermios(int(f.Fd()), unix.TCSETS, settings)
}

// loopbackUp brings the one network interface up.
func loopbackUp() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket) //nolint:errcheck // nothing was written
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}

// startTarget returns when the target accepts connections.
func startTarget(t *cgroup2.Target) error {
	if err := makeGroup(&t.Group); err != nil {
		return err
	}
	cmd, folder, err := command(context.Background(), t.Group.Path, cgroup2.HostView, t.Command)
	if err != nil {
		return err
	}
	defer folder.Close() //nolint:errcheck // nothing was written
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	for end := time.Now().Add(commandTime); ; time.Sleep(50 * time.Millisecond) {
		c, err := net.Dial("tcp", t.Address)
		if err == nil {
			return c.Close()
		}
		if time.Now().After(end) {
			return err
		}
	}
}
