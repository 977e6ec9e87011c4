//go:build !linux

package harness

import (
	"errors"
	"syscall"
)

var errNotLinux = errors.New("processes are bound to CPUs, which needs Linux")

// AllowedCPUs fails: only Linux binds processes to CPUs.
func AllowedCPUs() ([]int, error) { return nil, errNotLinux }

func pinThread([]int) (func(), error) { return nil, errNotLinux }

func childAttributes() *syscall.SysProcAttr { return nil }
