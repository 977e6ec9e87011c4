package netio

import (
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/poll"
)

// Net is what a worker needs of the operating system. Only the worker's goroutine may call it, except for Wake. Tests
// use an in-memory network with its own clock.
type Net interface {
	// Now reads the monotonic clock of rv.Clock.
	Now() int64
	// Wait fills out with ready connections; see poll.Poller.Wait.
	Wait(out []Event, timeout time.Duration) (n int, woken bool, err error)
	Wake()
	// Nap sleeps.
	Nap(d time.Duration)
	// Connect begins to connect to an address and does not wait. It returns ok false for host names, and on systems where
	// it is not possible. Once: the connection carries one request. The next call may change c.
	Connect(address string, once bool) (c *dial.Connection, ok bool, err error)
	// Adopt reports input on a connection as events with data from now on, and returns the number that the other methods
	// take. If it fails, it has closed the connection.
	Adopt(c *dial.Connection, data int32) (fd int, err error)
	// Interest also reports when the connection is writable, or stops that.
	Interest(fd int, data int32, writable bool) error
	Read(fd int, b []byte) (int, Status)
	Send(fd int, b []byte) (int, Status)
	// Why returns the error behind the last Closed of Read or Send.
	Why() error
	Close(fd int)
}

// Status is how a read or a write ended.
type Status uint8

const (
	// OK: the count is how many octets were read or written.
	OK Status = iota
	// Again: nothing can be read or written now.
	Again
	// Ended: the peer sends no more.
	Ended
	// Closed: the connection is broken.
	Closed
)

// Event is a ready connection.
type Event = poll.Event

// Dialer opens connections in the background. Any worker may call it.
type Dialer interface {
	Dial(a Attempt)
}

// Attempt is an attempt to open a connection. Its Awaiter gets each step, and then the outcome.
type Attempt struct {
	Awaiter
	// Target is what to connect to, and Endpoint which of its endpoints. Origin is the index of the
	// plan's target that it is, or was followed from.
	Target   *rv.Target
	Endpoint int
	Origin   int
	// Number is the connection's in the whole test. Address is where to start among the addresses of the
	// endpoint's host, modulo their number.
	Number, Address int
}

// Awaiter waits for a connection. Any goroutine may call it.
type Awaiter interface {
	// Progress takes the next step of the attempt.
	Progress(step dial.Step)
	// Connected takes the outcome. It returns false if the worker has ended, so that the caller closes the socket.
	Connected(c *dial.Connection, err error) bool
}
