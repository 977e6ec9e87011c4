package terminal

import "golang.org/x/sys/unix"

// Requests of ioctl. The mode changes at once: output that Ctrl-S holds is not waited for.
const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)

// disabled is the character that no key makes (termios(3), _POSIX_VDISABLE).
const disabled = 0
