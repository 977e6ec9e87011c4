//go:build !linux

package main

import (
	"errors"
	"syscall"
)

var errNotLinux = errors.New("the benchmarks pin processes to CPUs, which they can do on Linux only")

func allowedCPUs() ([]int, error) { return nil, errNotLinux }

func pinThread([]int) (func(), error) { return nil, errNotLinux }

func childAttributes() *syscall.SysProcAttr { return nil }
