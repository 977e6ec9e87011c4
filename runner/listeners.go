package runner

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/caller"
	"github.com/h2surge/h2surge/runner/dial"
)

// A notification must reach the worker that sent the request which causes it, so each worker has a port of its own for
// each listener of the plan, and its requests have the URL of this port.

// server has the listening sockets of a listener of the plan. They stay open when other workers replace the first ones.
type server struct {
	plan *rv.Listener
	ctx  context.Context
	log  *slog.Logger
	// serve gives a connection to a worker. It returns false if there is none.
	serve func(worker int, d *dial.Connection) bool
	// address is the IP address of the sockets. host is what URLs have in its place.
	address, host string
	network       dial.Network // nil: the system's
	tls           *tls.Config  // nil: cleartext
	// sockets are by worker. Runner.mu guards them.
	sockets []net.Listener
	// failedHandshakes counts connections. handshakes limits those that are under way.
	failedHandshakes atomic.Int64
	handshakes       chan struct{}
}

const (
	// localhost is where listeners listen unless Options says otherwise.
	localhost = "127.0.0.1"
	// maxHandshakes bounds the goroutines of a listener, so that peers that connect and are silent do not fill the memory.
	maxHandshakes = 1024
	// handshakeTimeout is how long a peer may take for a TLS handshake.
	handshakeTimeout = 5 * time.Second
	// acceptRetry is how long a listener waits when the process has no free descriptors.
	acceptRetry = 100 * time.Millisecond
)

// servers are those of a plan.
type servers []*server

// newServers returns the servers of a plan. They have no sockets yet.
func newServers(ctx context.Context, plan *rv.Plan, o *Options, serve func(listener, worker int,
	d *dial.Connection) bool) (out servers, err error) {
	for i := range plan.Listeners {
		s := &server{plan: &plan.Listeners[i], ctx: ctx, log: o.Logger, address: o.ListenAddress,
			network: o.Network, handshakes: make(chan struct{}, maxHandshakes)}
		s.serve = func(worker int, d *dial.Connection) bool { return serve(i, worker, d) }
		if s.address == "" {
			s.address = localhost
		}
		if name := s.plan.Interface; name != "" {
			if s.address, err = addressOf(name); err != nil {
				return nil, fmt.Errorf("listeners[%d].interface: %w", i, err)
			}
		}
		s.host = s.address
		if s.plan.TLS != nil && s.plan.Interface == "" && o.ListenName != "" {
			s.host = o.ListenName
		}
		if t := s.plan.TLS; t != nil {
			if s.tls, err = dial.ServerConfig(t, s.host); err != nil {
				return nil, fmt.Errorf("listeners[%d].tls.%w", i, err)
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// addressOf returns the first IP address of a network interface, if possible of IPv4.
func addressOf(name string) (string, error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		all, _ := net.Interfaces()
		var names []string
		for _, other := range all {
			names = append(names, other.Name)
		}
		return "", fmt.Errorf("there is no interface %q; there are %s", name, strings.Join(names, ", "))
	}
	list, err := i.Addrs()
	if err != nil {
		return "", err
	}
	return firstAddress(name, list)
}

func firstAddress(name string, list []net.Addr) (string, error) {
	found := ""
	for _, a := range list {
		n, ok := a.(*net.IPNet)
		switch {
		case !ok || n.IP.IsLinkLocalUnicast():
		case n.IP.To4() != nil:
			return n.IP.String(), nil
		case found == "":
			found = n.IP.String()
		}
	}
	if found == "" {
		return "", fmt.Errorf("interface %q has no IP address", name)
	}
	return found, nil
}

// localAddresses returns the addresses to connect from, by target of a plan.
func localAddresses(plan *rv.Plan) ([][]string, error) {
	out := make([][]string, len(plan.Targets))
	for i := range plan.Targets {
		how := &plan.Targets[i].Connecting
		out[i] = how.LocalAddresses
		if how.Interface != "" {
			address, err := addressOf(how.Interface)
			if err != nil {
				return nil, fmt.Errorf("targets[%d].connecting.interface: %w", i, err)
			}
			out[i] = []string{address}
		}
	}
	return out, nil
}

// newCallers returns what the listeners of a plan require of their peers.
func newCallers(plan *rv.Plan) (out []*caller.Policy, err error) {
	for i := range plan.Listeners {
		p, err := caller.NewPolicy(&plan.Listeners[i], os.ReadFile)
		if err != nil {
			return nil, fmt.Errorf("listeners[%d].%w", i, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// keepKeys keeps the token keys of the listeners up to date until the run ends. A read that blocks, for example of a
// mount that hangs, blocks neither a worker nor the end.
func (r *Runner) keepKeys() {
	for i, p := range r.callers {
		go p.KeepKeys(r.ctx, func(err error) {
			r.opts.Logger.Warn("the token keys of a listener cannot be read again; the runner keeps the last ones, and tries "+
				"again until it can", "listener", r.plan.Listeners[i].Name, "err", err)
		})
	}
}

// url returns the URL of the socket of a worker.
func (s *server) url(worker int) string {
	scheme := "http"
	if s.tls != nil {
		scheme = "https"
	}
	_, port, _ := net.SplitHostPort(s.sockets[worker].Addr().String())
	return scheme + "://" + net.JoinHostPort(s.host, port)
}

// listen opens the sockets for n workers that are not open yet, and returns the URLs by worker, then by listener. The
// caller holds Runner.mu.
func (all servers) listen(n int) (urls [][]string, err error) {
	urls = make([][]string, n)
	for _, s := range all {
		for i := range n {
			if i == len(s.sockets) {
				if err := s.open(i); err != nil {
					return nil, err
				}
			}
			urls[i] = append(urls[i], s.url(i))
		}
	}
	return urls, nil
}

// close closes all sockets. The caller holds Runner.mu.
func (all servers) close() {
	for _, s := range all {
		for _, l := range s.sockets {
			_ = l.Close() // it is not used any more
		}
	}
}

// open opens the socket of a worker.
func (s *server) open(worker int) error {
	port := s.plan.Port
	if port > 0 {
		port += worker
	}
	l, err := dial.Listen(s.network, net.JoinHostPort(s.address, strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("listener %s: %w", s.plan.Name, err)
	}
	s.sockets = append(s.sockets, l)
	go s.acceptFrom(l, worker)
	return nil
}

// acceptFrom gives each connection to the worker, until the socket is closed.
func (s *server) acceptFrom(l net.Listener, worker int) {
	var before error // of the last attempt
	for {
		c, err := l.Accept()
		if err != nil && before == nil && !errors.Is(err, net.ErrClosed) {
			s.log.Warn("a listener cannot accept a connection; it tries again until it can", "listener", s.plan.Name, "err", err)
		}
		before = err
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			time.Sleep(acceptRetry)
		case s.tls == nil:
			s.accepted(c, worker)
		default:
			s.handshakes <- struct{}{}
			go func() {
				defer func() { <-s.handshakes }()
				s.accepted(c, worker)
			}()
		}
	}
}

// accepted gives a connection that a peer has opened to the worker, after the TLS handshake.
func (s *server) accepted(c net.Conn, worker int) {
	peer := c.RemoteAddr().String()
	ctx, cancel := context.WithTimeout(s.ctx, handshakeTimeout)
	defer cancel()
	d, err := dial.Accepted(ctx, c, s.tls)
	if err != nil {
		s.fail(peer, err)
		return
	}
	if !s.serve(worker, d) {
		d.Close()
	}
}

// fail counts a connection that could not be served, and logs the first one. At the end of a run, nothing is counted:
// the runner itself has ended the handshake.
func (s *server) fail(peer string, err error) {
	if s.ctx.Err() != nil {
		return
	}
	if s.tls == nil {
		s.log.Warn("a listener cannot serve a connection", "listener", s.plan.Name, "err", err)
	} else if s.failedHandshakes.Add(1) == 1 {
		s.log.Warn("a handshake with a peer of a listener failed; others are counted, but not logged", "listener",
			s.plan.Name, "peer", peer, "err", err)
	}
}
