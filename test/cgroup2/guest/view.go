//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/h2surge/h2surge/test/cgroup2"
)

// enter makes the mounts of a view and becomes the command. The process has its own mount namespace already, and its
// own cgroup namespace where the view has one.
func enter(view cgroup2.View, args []string) error {
	mount := mountNamespace
	switch view {
	case cgroup2.ContainerView:
	case cgroup2.HostMount:
		if err := bind(cgroup2.Hierarchy, cgroup2.HostHierarchy); err != nil {
			return err
		}
	case cgroup2.BindView:
		mount = mountOwnGroup
	default:
		return fmt.Errorf("unknown view %q", view)
	}
	if err := mount(); err != nil {
		return fmt.Errorf("view %q: %w", view, err)
	}
	return unix.Exec(args[0], args, os.Environ())
}

// mountNamespace replaces the machine's hierarchy by that of this process's cgroup namespace, as a container runtime
// does.
func mountNamespace() error {
	if err := unix.Unmount(cgroup2.Hierarchy, unix.MNT_DETACH); err != nil {
		return err
	}
	return unix.Mount("cgroup2", cgroup2.Hierarchy, "cgroup2", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC,
		"")
}

// mountOwnGroup replaces the machine's hierarchy by the part of it that is this process's own group.
func mountOwnGroup() error {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return err
	}
	group, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "0::")
	if !ok {
		return fmt.Errorf("/proc/self/cgroup is %q", b)
	}
	if err := bind(cgroup2.Hierarchy+group, "/own"); err != nil {
		return err
	}
	if err := unix.Unmount(cgroup2.Hierarchy, unix.MNT_DETACH); err != nil {
		return err
	}
	return unix.Mount("/own", cgroup2.Hierarchy, "", unix.MS_MOVE, "")
}

func bind(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	return unix.Mount(from, to, "", unix.MS_BIND, "")
}
