package quicnet

import "runtime"

// OpensDuring returns whether a stream can be opened after the handshake that completes, while settle waits for the lock
// of the connection.
func (c *Conn) OpensDuring(complete func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	complete()
	<-c.q.HandshakeComplete()
	for range 10000 {
		if _, err := c.q.OpenUniStream(); err == nil {
			return true
		}
		runtime.Gosched()
	}
	return false
}
