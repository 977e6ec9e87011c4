//go:build unix

package cli

import (
	"os/exec"
	"syscall"
)

// apart puts a child into a process group of its own: an interrupt typed on the terminal goes to
// the whole group, and the demo's target has to answer until the runner has drained.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
