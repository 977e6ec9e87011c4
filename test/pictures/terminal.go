package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const columns = 88

// terminal draws the screen of a command that runs in the directory of the studio.
func (s *studio) terminal(name, command string) error {
	words := strings.Fields(command)
	cmd := exec.CommandContext(s.ctx, s.path(words[0]), words[1:]...)
	cmd.Dir = s.dir
	return draw(filepath.Join(s.out, name), command, cmd)
}

// draw runs a command on a pseudo-terminal until it ends, and draws its screen below a line with the command.
func draw(file, command string, cmd *exec.Cmd) error {
	person, line, err := openTerminal()
	if err != nil {
		return err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = line, line, line
	cmd.Env = append(cmd.Environ(), "TERM=xterm-256color")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := errors.Join(cmd.Start(), line.Close()); err != nil {
		return err
	}
	output, err := io.ReadAll(person) // ends with EIO when the process has ended
	if !errors.Is(err, syscall.EIO) {
		return err
	}
	if err := errors.Join(cmd.Wait(), person.Close()); err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, output)
	}
	var c screen
	c.write("\x1b[1m$ " + command + "\x1b[0m\r\n")
	c.write(string(output))
	return os.WriteFile(file, []byte(c.svg(command)), 0o644)
}

// openTerminal returns the person's side and the program's side of a new pseudo-terminal.
func openTerminal() (person, line *os.File, err error) {
	person, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(person.Fd())
	size := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: columns})
	if err := errors.Join(size, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)); err != nil {
		return nil, nil, err
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	line, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	return person, line, err
}
