//go:build !unix

package cli

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
)

// become runs another program to its end. Its exit code becomes that of this process, and it decides what an interrupt means.
func become(path string, args []string) error {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	cmd := &exec.Cmd{Path: path, Args: args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return Exit(exit.ExitCode())
	}
	if err != nil {
		return Failf("kube: %s: %v", path, err)
	}
	return nil
}
