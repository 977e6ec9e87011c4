//go:build unix

package cli

import (
	"os"
	"syscall"
)

// become runs another program in this process, so that signals, the terminal and the exit code are the program's.
func become(path string, args []string) error {
	return Failf("kube: %s: %v", path, syscall.Exec(path, args, os.Environ()))
}
