package transport

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

const (
	// connectTimeout is short, because the kernel repeats a lost SYN later and later: a runner must get its messages soon
	// after the network works again.
	connectTimeout = time.Second
	// handshakeTimeout is long, because a stopped process accepts connections and answers none of them: they would pile up
	// until it continues.
	handshakeTimeout = 10 * time.Second
	// maxAnswer bounds the body of an answer: 256 steps with a distribution each are some 2 MB.
	maxAnswer = 16 << 20
	// maxHead bounds the status line and the header of an answer, maxRefusal the body of an answer with an error.
	maxHead    = 16 << 10
	maxRefusal = 64 << 10
	// maxPooled bounds the buffers that are kept between calls.
	maxPooled = 1 << 20
)

// HTTPS is the Dial of production: HTTP/1.1 over mutual TLS. tlsFor returns the configuration that verifies the runners
// of a run. connect opens connections; nil: net.Dialer.
//
// An operator has a connection for each runner, and each is idle for almost all of the time. So a connection has no
// goroutine and no buffer of its own: a call takes the buffers from a pool. net/http.Transport would need twice as much
// memory for each runner.
func HTTPS(tlsFor func(context.Context, types.UID) (*tls.Config, error), connect DialContext) Dial {
	if connect == nil {
		connect = new(net.Dialer).DialContext
	}
	return func(run types.UID, address string) Client {
		return &httpClient{address: address, open: connect,
			tls: func(ctx context.Context) (*tls.Config, error) { return tlsFor(ctx, run) }}
	}
}

// DialContext is the method of net.Dialer.
type DialContext = func(ctx context.Context, network, address string) (net.Conn, error)

type httpClient struct {
	address string
	open    DialContext
	tls     func(context.Context) (*tls.Config, error)
	conn    net.Conn    // nil: none
	dialing chan dialed // the result of a dial that no call has taken yet; nil: none
	stop    func()      // ends that dial
}

type dialed struct {
	conn net.Conn
	err  error
}

// connect returns the connection. A dial that takes longer than a call continues: the next call waits for it, and makes
// no other one.
func (c *httpClient) connect(ctx context.Context) (net.Conn, error) {
	if c.conn != nil {
		return c.conn, nil
	}
	if c.dialing == nil {
		background, stop := context.WithCancel(context.WithoutCancel(ctx))
		result := make(chan dialed, 1)
		c.dialing, c.stop = result, stop
		go func() {
			conn, err := c.dial(background)
			result <- dialed{conn, err}
		}()
	}
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case d := <-c.dialing:
		c.stop()
		c.conn, c.dialing, c.stop = d.conn, nil, nil
		return d.conn, d.err
	}
}

func (c *httpClient) dial(ctx context.Context) (net.Conn, error) {
	cfg, err := c.tls(ctx)
	if err != nil {
		return nil, err
	}
	connecting, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := c.open(connecting, "tcp", c.address)
	if err != nil {
		return nil, err
	}
	handshaking, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	secure := tls.Client(&records{Conn: conn}, cfg)
	if err := secure.HandshakeContext(handshaking); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}

// Close also ends a dial.
func (c *httpClient) Close() {
	c.disconnect()
	if c.dialing != nil {
		c.stop()
		if d := <-c.dialing; d.conn != nil {
			_ = d.conn.Close()
		}
		c.dialing, c.stop = nil, nil
	}
}

func (c *httpClient) disconnect() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// do makes a request and passes its answer to read; nil: the answer is not needed. All messages are idempotent. So a
// request is repeated once if the connection was used before: the runner can have closed it in the meantime.
func (c *httpClient) do(ctx context.Context, method, path string, body []byte, read func(*http.Response) error) error {
	used := c.conn != nil
	answered, err := c.exchange(ctx, method, path, body, read)
	if err != nil && used && !answered && ctx.Err() == nil {
		_, err = c.exchange(ctx, method, path, body, read)
	}
	return err
}

// exchange returns whether the runner has answered. It closes the connection unless it got a whole answer.
func (c *httpClient) exchange(ctx context.Context, method, path string, body []byte,
	read func(*http.Response) error) (answered bool, err error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return false, err
	}
	defer func() {
		if err != nil && ctx.Err() != nil { // the error of the connection is the consequence
			err = context.Cause(ctx)
		}
	}()
	interrupted := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	whole := false
	defer func() {
		if !interrupted() || !whole {
			c.disconnect()
		}
	}()
	if err := c.send(conn, method, path, body); err != nil {
		return false, err
	}
	in := readers.Get().(*bufio.Reader)
	defer func() {
		in.Reset(nil)
		readers.Put(in)
	}()
	limited := &io.LimitedReader{R: conn, N: maxHead}
	in.Reset(limited)
	resp, err := http.ReadResponse(in, nil) //nolint:bodyclose // Close reads a body to its end, however long it is; here the connection is closed instead
	if err != nil {
		return false, err
	}
	answer := *resp
	answer.Body = io.NopCloser(io.LimitReader(resp.Body, maxAnswer))
	limited.N = maxAnswer + 1
	if resp.StatusCode >= http.StatusMultipleChoices || read == nil {
		read, limited.N = refusal, maxRefusal
	}
	err = read(&answer)
	if _, rest := resp.Body.Read(make([]byte, 1)); errors.Is(rest, io.EOF) {
		whole = !resp.Close && in.Buffered() == 0
	}
	return true, err
}

func (c *httpClient) send(conn net.Conn, method, path string, body []byte) error {
	out := buffers.Get().(*bytes.Buffer)
	defer keep(out)
	out.Reset()
	_, _ = fmt.Fprintf(out, "%s %s HTTP/1.1\r\nHost: %s\r\nAccept: %s\r\n", method, path, c.address,
		runnerv1alpha1.MediaTypeSnapshot)
	if body != nil {
		out.WriteString("Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n")
	}
	out.WriteString("\r\n")
	out.Write(body)
	_, err := conn.Write(out.Bytes())
	return err
}

// buffers and readers are for messages, inputs for what comes from the network.
var (
	buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}
	readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4<<10) }}
	inputs  = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 8<<10) }}
)

// records is a connection whose Read never returns octets of two TLS records. crypto/tls keeps a buffer for each
// connection. With whole records it is as large as a record; otherwise it grows to some times that. A large read buffer
// belongs to the connection only while it has data.
type records struct {
	net.Conn
	in   *bufio.Reader // nil: no data
	left int           // octets of the record that Read has not returned
}

func (r *records) Read(p []byte) (n int, err error) {
	if r.in == nil {
		r.in = inputs.Get().(*bufio.Reader)
		r.in.Reset(r.Conn)
	}
	if r.left == 0 {
		const header = 5
		b, err := r.in.Peek(header)
		if err != nil && len(b) == 0 {
			r.release()
			return 0, err
		}
		r.left = len(b) // of a header that is cut off
		if len(b) == header {
			r.left += int(b[3])<<8 | int(b[4])
		}
	}
	n, err = r.in.Read(p[:min(len(p), r.left)])
	if r.left -= n; r.left == 0 && r.in.Buffered() == 0 {
		r.release()
	}
	return n, err
}

func (r *records) release() {
	r.in.Reset(nil)
	inputs.Put(r.in)
	r.in = nil
}

func keep(b *bytes.Buffer) {
	if b.Cap() <= maxPooled {
		buffers.Put(b)
	}
}
