package simulate

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/h2surge/h2surge/test/simulate/network"
)

// notifier sends notifications to the listeners of runners: one connection and one goroutine for each address. It has
// no lock while it writes, because a goroutine that waits for a lock stops the time of the trial.
type notifier struct {
	from  *network.Host
	ended sync.WaitGroup
	mu    sync.Mutex               // guards the field below
	queue map[string]chan *url.URL // by host and port; nil: it is closed
}

// send sends a notification to a URL some time later. If too many wait, it is lost.
func (n *notifier) send(to string) {
	u, err := url.Parse(to)
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil || n.queue == nil {
		return
	}
	c := n.queue[u.Host]
	if c == nil {
		c = make(chan *url.URL, 1000)
		n.queue[u.Host] = c
		n.ended.Go(func() { n.work(c) })
	}
	select {
	case c <- u:
	default:
	}
}

// close ends all goroutines.
func (n *notifier) close() {
	n.mu.Lock()
	for _, c := range n.queue {
		close(c)
	}
	n.queue = nil
	n.mu.Unlock()
	n.from.Close()
	n.ended.Wait()
}

// work sends what comes, on a new connection if there is none. It loses a notification that it cannot send.
func (n *notifier) work(all <-chan *url.URL) {
	var conn net.Conn
	var stream uint32
	var fields bytes.Buffer
	var encoder *hpack.Encoder
	for u := range all {
		time.Sleep(time.Millisecond)
		if conn == nil {
			conn, stream = n.dial(u.Host), 1
			fields.Reset()
			encoder = hpack.NewEncoder(&fields)
		}
		if conn == nil {
			continue
		}
		for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":authority", u.Host}, {":path", u.Path}} {
			_ = encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}) // to a buffer
		}
		var out bytes.Buffer
		_ = http2.NewFramer(&out, nil).WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: fields.Bytes(),
			EndStream: true, EndHeaders: true})
		fields.Reset()
		stream += 2
		if _, err := conn.Write(out.Bytes()); err != nil {
			_ = conn.Close() // never fails
			conn = nil
		}
	}
	if conn != nil {
		_ = conn.Close() // never fails
	}
}

// dial opens a connection of HTTP/2, whose answers it discards; nil: it cannot.
func (n *notifier) dial(host string) net.Conn {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := n.from.DialContext(ctx, "tcp", host)
	if err != nil {
		return nil
	}
	var out bytes.Buffer
	out.WriteString(http2.ClientPreface)
	f := http2.NewFramer(&out, nil)
	_, _ = f.WriteSettings(), f.WriteSettingsAck()
	if _, err := conn.Write(out.Bytes()); err != nil {
		_ = conn.Close() // never fails
		return nil
	}
	n.ended.Go(func() {
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close() // never fails
	})
	return conn
}
