package quicnet

import (
	"io"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/h2surge/h2surge/runner/h3"
)

// queued returns a connection with a reader that puts a record after release is closed, and a queue of some octets.
func queued(octets int) (c *Conn, release chan struct{}) {
	c, release = &Conn{notify: func() {}, in: make([]byte, octets)}, make(chan struct{})
	c.drained = sync.NewCond(&c.mu)
	c.readers.Go(func() {
		<-release
		c.put(&h3.Record{Kind: h3.Data, Fin: true})
	})
	return c, release
}

// TestEndFollowsRecords: the end of a connection is reported after what a lane has read, also if the lane waited for a
// full queue.
func TestEndFollowsRecords(t *testing.T) {
	for _, before := range []int{0, maxQueued + 1} {
		synctest.Test(t, func(t *testing.T) {
			c, release := queued(before)
			if before > 0 {
				close(release)
				synctest.Wait()
			}
			go c.end(io.EOF)
			b := make([]byte, 2*maxQueued)
			read := func(want int, ended bool) {
				synctest.Wait()
				if n, err := c.Read(b); n != want || (err != nil) != ended {
					t.Errorf("%d octets, %v, want %d", n, err, want)
				}
			}
			read(before, false)
			if before == 0 {
				close(release)
			}
			read(h3.RecordLen, false)
			read(0, true)
		})
	}
}

// TestDiscard: no lane waits for a queue that nothing reads.
func TestDiscard(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		c, release := queued(maxQueued + 1)
		close(release)
		synctest.Wait()
		c.discard()
		c.end(io.EOF)
	})
}
