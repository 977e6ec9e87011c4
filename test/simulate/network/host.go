package network

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// Host is a process with an IP address. Its methods are those of a dial.Network.
type Host struct {
	net       *Network
	address   netip.Addr
	listeners []*listener
	port      uint16 // the next one that it chooses
	closed    bool
	thaw      int64 // until when it is frozen
}

const (
	firstPort = 32768
	// backlog is how many connections wait for Accept.
	backlog = 128
)

// LookupNetIP returns the addresses of a name.
func (h *Host) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	if all := h.net.names[host]; len(all) > 0 {
		return slices.Clone(all), nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// Close ends the process: its connections and listeners end as when a kernel closes them, and it opens no others. The
// address refuses connections.
func (h *Host) Close() {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.close()
}

func (h *Host) close() {
	h.closed, h.thaw = true, 0
	for len(h.listeners) > 0 {
		h.listeners[0].close()
	}
	for _, c := range slices.Clone(h.net.conns) { // close removes connections
		if c.host == h {
			c.close()
		}
	}
}

// Freeze stops the process for a time, as SIGSTOP does: it reads nothing, and what it sends leaves it at the end. Its
// kernel still accepts connections and octets.
func (h *Host) Freeze(d time.Duration) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.thaw = max(h.thaw, h.net.now()+int64(d))
}

// choose returns a port that is not in use.
func (h *Host) choose(port uint16) netip.AddrPort {
	if port == 0 {
		port = h.port
		h.port = max(h.port+1, firstPort)
	}
	return netip.AddrPortFrom(h.address, port)
}

// DialContext connects to "host:port".
func (h *Host) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	all, err := h.LookupNetIP(ctx, network, host)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	to, err := netip.ParseAddrPort(net.JoinHostPort(all[0].String(), port))
	if err != nil {
		return nil, err
	}
	c, err := h.connect(ctx, to)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: net.TCPAddrFromAddrPort(to), Err: err}
	}
	return c, nil
}

// connect sends a SYN, and again after 1, 2, 4, ... seconds until it is answered.
func (h *Host) connect(ctx context.Context, to netip.AddrPort) (*conn, error) {
	for again := time.Second; ; again *= 2 {
		c, delay, err := h.open(to)
		if c == nil && err == nil {
			delay = again
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			if c != nil {
				_ = c.Close() // never fails
			}
			return nil, ctx.Err()
		}
		if c != nil || err != nil {
			return c, err
		}
	}
}

// open returns the answer to a SYN, and after how long it comes; neither connection nor error: it does not come.
func (h *Host) open(to netip.AddrPort) (*conn, time.Duration, error) {
	n := h.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if h.closed {
		return nil, 0, syscall.ENETDOWN
	}
	if n.now() < h.thaw || n.isCut(way{h.address, to.Addr()}) || n.isCut(way{to.Addr(), h.address}) {
		return nil, 0, nil
	}
	peer := n.hosts[to.Addr()]
	l := peer.listener(to.Port())
	switch {
	case l == nil:
		return nil, 2 * n.opts.Delay, syscall.ECONNREFUSED
	case len(l.pending) == backlog:
		return nil, 0, nil
	}
	client, server := pair(h, peer, h.choose(0), to)
	l.pending <- server
	return client, time.Duration(n.delay(client.out.rand) + n.delay(client.in.rand)), nil
}

// Listen listens on a port; 0: it chooses one. The host of the address has no effect.
func (h *Host) Listen(network, address string) (net.Listener, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	at, err := netip.ParseAddrPort("0.0.0.0:" + port)
	if err != nil {
		return nil, err
	}
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	l := &listener{host: h, at: h.choose(at.Port()), pending: make(chan *conn, backlog)}
	if h.closed || h.listener(at.Port()) != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Addr: l.Addr(), Err: syscall.EADDRINUSE}
	}
	h.listeners = append(h.listeners, l)
	return l, nil
}

// listener returns the listener of a port, or nil.
func (h *Host) listener(port uint16) *listener {
	for _, l := range h.listeners {
		if l.at.Port() == port {
			return l
		}
	}
	return nil
}

type listener struct {
	host    *Host
	at      netip.AddrPort
	pending chan *conn
}

func (l *listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.at) }

func (l *listener) Accept() (net.Conn, error) {
	if c, open := <-l.pending; open {
		return c, nil
	}
	return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed}
}

func (l *listener) Close() error {
	l.host.net.mu.Lock()
	defer l.host.net.mu.Unlock()
	l.close()
	return nil
}

// close also closes the connections that wait for Accept.
func (l *listener) close() {
	if i := slices.Index(l.host.listeners, l); i >= 0 {
		l.host.listeners = slices.Delete(l.host.listeners, i, i+1)
		close(l.pending)
		for c := range l.pending {
			c.close()
		}
	}
}
