package runner

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/h2surge/h2surge/runner/dial"
)

// A notification must reach the worker that sent the request which causes it, so each worker has a port of its own for
// each listener of the plan, and its requests have the URL of this port.

// servers are the listening sockets of a runner. They stay open when other workers replace the first ones.
type servers struct {
	// sockets are by listener of the plan, then by worker.
	sockets [][]net.Listener
}

// localhost is where listeners listen unless Options says otherwise.
const localhost = "127.0.0.1"

// listen opens the sockets for n workers that are not open yet, and returns the URLs by worker, then by listener. The
// caller holds mu.
func (r *Runner) listen(n int) (urls [][]string, err error) {
	urls = make([][]string, n)
	if len(r.plan.Listeners) == 0 {
		return urls, nil
	}
	if r.servers.sockets == nil {
		r.servers.sockets = make([][]net.Listener, len(r.plan.Listeners))
	}
	for k := range r.plan.Listeners {
		for i := range n {
			if i == len(r.servers.sockets[k]) {
				if err := r.open(k, i); err != nil {
					return nil, err
				}
			}
			urls[i] = append(urls[i], "http://"+r.servers.sockets[k][i].Addr().String())
		}
	}
	return urls, nil
}

// open opens the socket of a worker for a listener of the plan.
func (r *Runner) open(listener, worker int) error {
	p := &r.plan.Listeners[listener]
	port := p.Port
	if port > 0 {
		port += worker
	}
	host := r.opts.ListenAddress
	if host == "" {
		host = localhost
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("listener %s: %w", p.Name, err)
	}
	r.servers.sockets[listener] = append(r.servers.sockets[listener], l)
	go r.acceptFrom(l, listener, worker)
	return nil
}

// acceptFrom gives each connection to the worker, until the socket is closed.
func (r *Runner) acceptFrom(l net.Listener, listener, worker int) {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			r.opts.Logger.Warn("a listener cannot accept a connection", "err", err)
			time.Sleep(acceptRetry)
			continue
		}
		d, err := dial.Accepted(c)
		if err != nil {
			r.opts.Logger.Warn("a listener cannot serve a connection", "err", err)
			continue
		}
		if !r.serve(listener, worker, d) {
			d.Close()
		}
	}
}

// acceptRetry is how long a listener waits when the process has no free descriptors.
const acceptRetry = 100 * time.Millisecond

// serve gives a connection to a worker. It returns false if there is none.
func (r *Runner) serve(listener, worker int, d *dial.Connection) bool {
	r.mu.Lock()
	ws := r.workers
	r.mu.Unlock()
	return ws != nil && worker < len(ws.all) && ws.all[worker].loop.Serve(listener, d)
}

// close closes all sockets.
func (s *servers) close() {
	for _, all := range s.sockets {
		for _, l := range all {
			_ = l.Close() // it is not used any more
		}
	}
}
