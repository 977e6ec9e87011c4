package netio

import (
	"time"

	"golang.org/x/sys/unix"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/poll"
)

// epollNet is Net on Linux.
type epollNet struct {
	poller *poll.Poller
	// direct is where to connect to for each address; nil: a name server must be asked.
	direct map[string]*direct
	// connection is the result of the last Connect.
	connection dial.Connection
	// why is the error of the last read or write that found a connection closed.
	why unix.Errno
}

// New returns a Net of the operating system, and a function that frees it after the worker has ended.
func New() (Net, func(), error) {
	p, err := poll.New()
	if err != nil {
		return nil, nil, err
	}
	return &epollNet{poller: p, direct: map[string]*direct{}}, p.Close, nil
}

func (*epollNet) Now() int64 { return rv.Clock() }

func (e *epollNet) Wait(out []Event, timeout time.Duration) (int, bool, error) {
	return e.poller.Wait(out, timeout)
}

func (e *epollNet) Wake() { e.poller.Wake() }

func (*epollNet) Nap(d time.Duration) { poll.Nap(d) }

func (e *epollNet) Adopt(c *dial.Connection, data int32) (int, error) {
	if err := e.poller.Add(c.FD, data, false); err != nil {
		c.Close()
		return -1, err
	}
	return c.FD, nil
}

func (e *epollNet) Interest(fd int, data int32, writable bool) error {
	return e.poller.Modify(fd, data, writable)
}

func (e *epollNet) Read(fd int, b []byte) (int, Status) {
	n, errno := poll.Read(fd, b)
	return n, e.status(errno, n == 0)
}

func (e *epollNet) Send(fd int, b []byte) (int, Status) {
	n, errno := poll.Send(fd, b)
	return n, e.status(errno, false)
}

func (e *epollNet) Why() error { return e.why }

func (e *epollNet) status(errno unix.Errno, end bool) Status {
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return Again
	case errno != 0:
		e.why = errno
		return Closed
	case end:
		return Ended
	}
	return OK
}

func (*epollNet) Close(fd int) { poll.Close(fd) }
