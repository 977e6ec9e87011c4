// Package dial opens connections: it resolves names, connects, and shakes hands by TLS. It returns a socket that does
// not belong to Go's network poller any more, so that an event loop can own it.
package dial

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/policy"
)

// Connection is a connected socket.
type Connection struct {
	// FD is non-blocking. The caller of Open closes it. On systems other than Linux and with a Network, it is -1, and Conn
	// is the connection.
	FD   int
	Conn net.Conn
	// Secure is nil on a cleartext connection.
	Secure *Secure
	// Streams is the connection of QUIC; nil: it is a socket.
	Streams Streams
	// Resumed: the handshake of TLS resumed a session. It is false with QUIC, whose handshake may not be complete.
	Resumed bool
	// Protocol is h2c, h2, h3 or http1: what the target says, what ALPN chose, or what was discovered.
	Protocol rv.Protocol
	// Address is what the socket is connected to, "ip:port" or the path of a Unix socket.
	Address string
	// Addresses is how many addresses the host name of the endpoint has; 0: the endpoint has no host name.
	Addresses int
	// Took is the time from the begin of Open to the connection, with the addresses that failed before.
	Took   time.Duration
	Phases Phases
}

// Phases are the times of the phases of Open, for the address of the connection.
type Phases struct {
	// NameResolution is about zero if the resolver knew the answer, and zero without a host name.
	NameResolution time.Duration
	// TCPConnect is also the time to connect to a Unix socket, and zero with QUIC. TLSHandshake is zero without TLS, and
	// that of QUIC.
	TCPConnect, TLSHandshake time.Duration
}

// Request is where and how to connect.
type Request struct {
	Endpoint *rv.Endpoint
	Protocol rv.Protocol
	// Discovery finds the protocol for rv.ProtocolDiscovered.
	Discovery *Discovery
	// Alternatives finds the address of rv.ProtocolH3; nil: it is that of the endpoint.
	Alternatives *Alternatives
	Timeout      time.Duration
	// TLS is nil for cleartext.
	TLS *tls.Config
	// Address is the number of the first address to try, modulo the number of the host's addresses. The others follow in
	// turn. The connections of a test are so spread over all pods of a headless Service.
	Address int
	// LocalAddresses are IP addresses to connect from: entry Number, modulo how many there are. Empty: the
	// system's choice.
	LocalAddresses []string
	Number         int
	// Resolver resolves host names.
	Resolver *Resolver
	// QUIC is for rv.ProtocolH3; nil: it is not possible.
	QUIC QUIC
	// Network is nil for the system's. It has one address per host and ignores LocalAddresses.
	Network Network
	// Policy decides about each address that a name has; nil: all are allowed. Unix sockets are part of the pod.
	Policy *policy.Policy
	// Progress is called when a step begins; nil: no call. Resolving is the first step and not reported.
	Progress func(Step)
}

// Step is a part of an attempt to connect.
type Step uint8

const (
	// Connecting: TCP connects to an address, of a name or as given.
	Connecting Step = iota
	// Handshaking: TLS shakes hands, or a server without TLS is asked for its protocol.
	Handshaking
)

func (r *Request) report(s Step) {
	if r.Progress != nil {
		r.Progress(s)
	}
}

// IsResolved returns true if an endpoint's address is a Unix socket or has an IP address, so that no name server is
// asked.
func IsResolved(address string) bool {
	if strings.HasPrefix(address, "unix:") {
		return true
	}
	_, err := netip.ParseAddrPort(address)
	return err == nil
}

// Open connects within the timeout.
func Open(ctx context.Context, r *Request) (*Connection, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	if r.Alternatives != nil && r.TLS != nil {
		to, err := r.Alternatives.of(ctx, r)
		if err != nil {
			return nil, r.timedOut(err, "")
		}
		at := *r
		at.Endpoint, r = to, &at
	}
	begin := time.Now()
	network, address := split(r.Endpoint.Address)
	if network == "unix" {
		return open(ctx, r, begin, network, address)
	}
	all, err := r.Resolver.addresses(ctx, address)
	if err != nil {
		return nil, err
	}
	if err := allowed(r.Policy, address, all); err != nil {
		return nil, err
	}
	resolution, named := time.Since(begin), !IsResolved(address)
	waited := named || r.Alternatives != nil // the address of the origin may have a name
	for k := range all {
		if k > 0 || waited {
			r.report(Connecting)
		}
		var c *Connection
		if c, err = openWithin(ctx, r, begin, all[(r.Address+k)%len(all)], len(all)-k); err == nil {
			if named {
				c.Addresses, c.Phases.NameResolution = len(all), resolution
			}
			return c, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

// allowed returns an error if the policy denies an address of a host. One denied address is enough, so that the result
// does not depend on which address is tried.
func allowed(p *policy.Policy, hostPort string, all []string) error {
	if p == nil {
		return nil
	}
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		return err
	}
	for _, address := range all {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if rule := p.Address(host, at.Addr()); rule != "" {
			return &failure.Error{Cause: failure.Cause{Kind: rv.CauseDenied, Detail: rule, Address: address}}
		}
	}
	return nil
}

// openWithin tries one of the addresses that are left.
func openWithin(ctx context.Context, r *Request, begin time.Time, address string, left int) (*Connection, error) {
	ctx, cancel := shareOf(ctx, left)
	defer cancel()
	return open(ctx, r, begin, "tcp", address)
}

// shareOf returns a context for one of the addresses that are left. Each of them gets an equal part of the time until
// the deadline of ctx.
func shareOf(ctx context.Context, left int) (context.Context, context.CancelFunc) {
	end, _ := ctx.Deadline()
	return context.WithTimeout(ctx, time.Until(end)/time.Duration(left))
}

// from returns the local address of the connection; nil: the system's choice.
func (r *Request) from() net.IP {
	if n := len(r.LocalAddresses); n > 0 {
		return net.ParseIP(r.LocalAddresses[r.Number%n])
	}
	return nil
}

// open connects to an address and shakes hands.
func open(ctx context.Context, r *Request, begin time.Time, network, address string) (*Connection, error) {
	if r.Protocol == rv.ProtocolH3 {
		return openQUIC(ctx, r, begin, network, address)
	}
	// No keep-alive probes: each request has a timeout.
	d := net.Dialer{KeepAlive: -1}
	if ip := r.from(); ip != nil && network == "tcp" {
		d.LocalAddr, d.ControlContext = &net.TCPAddr{IP: ip}, lateBind
	}
	dialContext := d.DialContext
	if r.Network != nil {
		dialContext = r.Network.DialContext
	}
	connect := func() (net.Conn, error) {
		c, err := dialContext(ctx, network, address)
		return c, r.timedOut(err, address)
	}
	out := &Connection{Protocol: r.Protocol, FD: -1, Address: address}
	var err error
	if r.Protocol == rv.ProtocolDiscovered {
		r.report(Handshaking)
		asked := time.Now()
		if out.Protocol, err = r.Discovery.of(ctx, r.Endpoint, connect); err != nil {
			return nil, r.timedOut(err, address)
		}
		begin = begin.Add(time.Since(asked)) // it is not a part of this connection
	}
	dialed := time.Now()
	c, err := connect()
	if err != nil {
		return nil, err
	}
	connected := time.Now()
	out.Phases.TCPConnect = connected.Sub(dialed)
	if r.TLS != nil {
		r.report(Handshaking)
		if err := out.secure(ctx, c, r); err != nil {
			_ = c.Close()
			return nil, err
		}
		out.Phases.TLSHandshake = time.Since(connected)
	}
	out.Took = time.Since(begin)
	return out, out.take(c)
}

// timedOut returns err with the timeout and the address that did not answer if the end of the timeout is the error. The
// deadline of a socket may end before that of its context.
func (r *Request) timedOut(err error, address string) error {
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return &failure.Error{Cause: failure.Cause{
		Kind: rv.CauseConnectTimeout, Detail: r.Timeout.String(), Address: address,
	}}
}

// split returns the arguments of net.Dial for an endpoint's address.
func split(address string) (string, string) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return "unix", path
	}
	return "tcp", address
}

func (out *Connection) secure(ctx context.Context, c net.Conn, r *Request) error {
	out.Secure = NewSecure(c, named(r.TLS, r.Endpoint.Authority))
	err := out.Secure.Handshake(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = failure.New(rv.CauseTLS, "the handshake timed out after "+r.Timeout.String())
	}
	if err != nil {
		return fmt.Errorf("TLS handshake: %w", err)
	}
	out.Secure.Detach()
	state := out.Secure.State()
	out.Resumed = state.DidResume
	chosen := state.NegotiatedProtocol
	switch r.Protocol {
	case rv.ProtocolH2:
		if chosen != "h2" {
			return failure.New(rv.CauseALPN, fmt.Sprintf("%q, not h2 (RFC 9113 3.3)", chosen))
		}
	case rv.ProtocolALPN:
		out.Protocol = rv.ProtocolHTTP1
		if chosen == "h2" {
			out.Protocol = rv.ProtocolH2
		}
	}
	return nil
}
