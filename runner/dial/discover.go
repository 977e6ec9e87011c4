package dial

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
)

// answerWithin is how long a server may take for the first octets of its answer. A server that knows HTTP/2 sends
// SETTINGS at once (RFC 9113 3.4).
const answerWithin = time.Second

// Discovery knows the protocols of servers without TLS. It asks each endpoint once, with connections of its own, and is
// safe for concurrent use.
type Discovery struct {
	asking asking[rv.Protocol]
	mu     sync.Mutex
	// found has the protocol of each address of an endpoint. An endpoint that gave no answer is asked again.
	found map[string]rv.Protocol
}

// Found returns the protocol of an endpoint's address; empty: it was not found yet.
func (d *Discovery) Found(address string) rv.Protocol {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.found[address]
}

// of returns the protocol of an endpoint. Unless it is known, it connects as long as ctx allows.
func (d *Discovery) of(ctx context.Context, e *rv.Endpoint, connect func() (net.Conn, error)) (rv.Protocol, error) {
	return d.asking.do(ctx, e.Address, func() (rv.Protocol, error) {
		if p := d.Found(e.Address); p != "" {
			return p, nil
		}
		p, err := discover(ctx, e, connect)
		if err == nil {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.found == nil {
				d.found = map[string]rv.Protocol{}
			}
			d.found[e.Address] = p
		}
		return p, err
	})
}

// discover offers HTTP/2 with prior knowledge (RFC 9113 3.3). A server of HTTP/1.1 takes the preface for a request with
// an unknown method and answers it, or closes, or waits. Only in the last two cases it gets a request, OPTIONS *
// (RFC 9110 9.3.7), so that no resource of the server is touched.
func discover(ctx context.Context, e *rv.Endpoint, connect func() (net.Conn, error)) (rv.Protocol, error) {
	var preface bytes.Buffer
	preface.WriteString(http2.ClientPreface)
	if err := http2.NewFramer(&preface, nil).WriteSettings(); err != nil {
		return "", err
	}
	first, err := exchange(ctx, connect, preface.Bytes())
	switch {
	case err != nil:
		return "", err
	case isHTTP2(first):
		return rv.ProtocolH2C, nil
	case isHTTP1(first):
		return rv.ProtocolHTTP1, nil
	}
	then, err := exchange(ctx, connect, fmt.Appendf(nil, "OPTIONS * HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
		e.Authority))
	switch {
	case err != nil:
		return "", err
	case isHTTP1(then):
		return rv.ProtocolHTTP1, nil
	}
	return "", failure.New(rv.CauseProtocol, unknown(first, then))
}

// unknown says what a server answered to HTTP/2 and to HTTP/1.1 if it speaks neither without TLS. A server with TLS
// sends an alert or closes.
func unknown(first, then []byte) string {
	switch {
	case isTLSAlert(first) || isTLSAlert(then):
		return "the server expects TLS: write https:// in the URL"
	case len(first) == 0 && len(then) == 0:
		return fmt.Sprintf("the server closed the connection or did not answer within %v, as servers with TLS do: try https:// in the URL", answerWithin)
	}
	return fmt.Sprintf("answered %s to HTTP/2, and %s to HTTP/1.1", octets(first), octets(then))
}

// exchange sends a message on a new connection and returns the first octets of the answer, as many as a frame header
// has. They are fewer if the server closes, or sends no more within answerWithin. If ctx ends first, that is the error,
// because it says nothing about the server.
func exchange(ctx context.Context, connect func() (net.Conn, error), message []byte) ([]byte, error) {
	c, err := connect()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(answerWithin)); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })()
	answer, n := make([]byte, frameHeader), 0
	if _, err = c.Write(message); err == nil { // else the server has closed
		n, err = io.ReadFull(c, answer)
	}
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return answer[:n], nil
}

// frameHeader is the size of a frame header (RFC 9113 4.1).
const frameHeader = 9

// isHTTP2 returns whether an answer begins with the server's preface, which is SETTINGS (RFC 9113 3.4), or with GOAWAY.
func isHTTP2(answer []byte) bool {
	if len(answer) < frameHeader || binary.BigEndian.Uint32(answer[5:])<<1 != 0 { // the reserved bit has no meaning
		return false
	}
	kind := http2.FrameType(answer[3])
	return kind == http2.FrameGoAway || kind == http2.FrameSettings && !http2.Flags(answer[4]).Has(http2.FlagSettingsAck)
}

func isHTTP1(answer []byte) bool { return bytes.HasPrefix(answer, []byte("HTTP/1.")) }

// isTLSAlert returns whether an answer begins with a record of an alert, of any version of TLS (RFC 8446 5.1).
func isTLSAlert(answer []byte) bool { return bytes.HasPrefix(answer, []byte{21, 3}) }

// octets shows what a server answered.
func octets(answer []byte) string {
	if len(answer) == 0 {
		return "nothing"
	}
	return fmt.Sprintf("%q", answer)
}
