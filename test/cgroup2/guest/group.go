//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/h2surge/h2surge/test/cgroup2"
)

// controllers are passed on to every group below the root.
const controllers = "+cpu +cpuset +memory"

// makeGroup makes a group, whose parent must exist, and gives its parent's controllers to it.
func makeGroup(g *cgroup2.Group) error {
	folder := cgroup2.Hierarchy + g.Path
	if err := write(path.Join(path.Dir(folder), "cgroup.subtree_control"), controllers); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	for name, content := range g.Files {
		if err := write(path.Join(folder, name), content); err != nil {
			return err
		}
	}
	return nil
}

// removeGroup kills what is left in a group and removes it. Processes leave their group a little after they have ended.
func removeGroup(g *cgroup2.Group) error {
	folder := cgroup2.Hierarchy + g.Path
	err := write(path.Join(folder, "cgroup.kill"), "1")
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if removed := os.Remove(folder); !errors.Is(removed, unix.EBUSY) || time.Now().After(end) {
			return errors.Join(err, removed)
		}
	}
}

// write writes to a file that must exist, in one system call, as cgroup files want it.
func write(name, content string) error {
	f, err := os.OpenFile(filepath.Clean(name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing %q: %w", content, err)
	}
	return nil
}
