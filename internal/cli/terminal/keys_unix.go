//go:build linux || darwin

package terminal

import (
	"bytes"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/h2surge/h2surge/internal/cli/command"
)

// Keyboard makes a terminal deliver each key as it is pressed and unseen, if keys are read from one and
// answers go to one; otherwise there are no keys. The terminal is as it was when restore returns, while
// the process is stopped, and when a signal ends it.
func Keyboard(in io.Reader, errs io.Writer) (pressed <-chan byte, restore func()) {
	f, ok := in.(*os.File)
	if !ok || !command.IsTerminal(f) || !command.IsTerminal(errs) {
		return nil, func() {}
	}
	t := &terminal{File: f, fd: int(f.Fd()), signals: make(chan os.Signal, 4), done: make(chan struct{})}
	if there, ours := t.place(); !there || !ours {
		return nil, func() {}
	}
	signal.Ignore(unix.SIGTTIN)                          // reading in the background fails instead of stopping the process
	signal.Notify(t.signals, unix.SIGCONT, unix.SIGQUIT) // never SIGTSTP: Go cannot go back to its default
	t.take()
	go t.handle()
	keys := make(chan byte, keysAhead)
	go readKeys(t, keys, t.again)
	return keys, t.restore
}

// terminal is the one that controls this process.
type terminal struct {
	*os.File
	fd      int
	signals chan os.Signal
	// done is closed by restore.
	done chan struct{}

	mu sync.Mutex // guards the fields below
	// cooked is how it was; nil: it is so.
	cooked *unix.Termios
	closed bool
}

// place reports whether the terminal exists, and whether this process is in its foreground. A process in the
// background must not change the terminal, which the shell uses.
func (t *terminal) place() (there, ours bool) {
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err == nil, err == nil && group == unix.Getpgrp()
}

// take turns off line editing and echo; signals of keys stay, except for that of Ctrl-Z, which comes as a key.
func (t *terminal) take() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ours := t.place(); !ours || t.closed {
		return
	}
	if t.cooked == nil {
		was, err := unix.IoctlGetTermios(t.fd, getTermios)
		if err != nil {
			return
		}
		t.cooked = was
	}
	mode := *t.cooked
	mode.Lflag &^= unix.ICANON | unix.ECHO
	mode.Cc[unix.VMIN], mode.Cc[unix.VTIME] = 1, 0
	mode.Cc[unix.VSUSP] = disabled
	_ = unix.IoctlSetTermios(t.fd, setTermios, &mode) // then keys wait for Enter
}

// give makes it what it was.
func (t *terminal) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ours := t.place(); !ours || t.cooked == nil {
		return
	}
	_ = unix.IoctlSetTermios(t.fd, setTermios, t.cooked) // it has gone
	t.cooked = nil
}

// restore may be called more than once.
func (t *terminal) restore() {
	t.give()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.closed = true
	close(t.done)
	signal.Stop(t.signals)
	signal.Reset(unix.SIGTTIN)
}

// Read delivers keys. At Ctrl-Z it does what the terminal would do, after giving it back.
func (t *terminal) Read(b []byte) (int, error) {
	n, err := t.File.Read(b)
	if bytes.IndexByte(b[:n], controlZ) >= 0 {
		t.give()
		_ = unix.Kill(0, unix.SIGTSTP) // to all of its job; cannot fail
		time.AfterFunc(stopped, t.take)
	}
	return n, err
}

const (
	controlZ = 0x1a
	// stopped is how long it may take until all threads have stopped, on a busy machine too. Where there is no shell to
	// wake the job up, the system does not stop it at all.
	stopped = time.Second
)

// handle takes the terminal when a stopped process continues, and gives it back before Go prints all
// goroutines.
func (t *terminal) handle() {
	for {
		select {
		case <-t.done:
			return
		case s := <-t.signals:
			if s == unix.SIGCONT {
				t.take()
				continue
			}
			t.give()
			signal.Reset(s)
			_ = unix.Kill(unix.Getpid(), unix.SIGQUIT) // cannot fail
		}
	}
}

// again waits until reading makes sense again; it is false when it never will.
func (t *terminal) again() bool {
	for {
		select {
		case <-t.done:
			return false
		case <-time.After(time.Second): // whatever it is that fails, it does not take the CPU
		}
		there, ours := t.place()
		if !there {
			return false
		}
		if ours {
			t.take()
			return true
		}
	}
}
