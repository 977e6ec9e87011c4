// Package livepage serves the HTML report of a test that runs, to browsers of this machine. The page reads itself again
// every second. It is read-only: it changes nothing and has no secrets that the report does not have.
package livepage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/render"
)

// View is what the page shows.
type View struct {
	Report *rv.Report
	// Live is the state of the test; nil: the report is final.
	Live *render.Live
}

// Server serves one page.
type Server struct {
	http     http.Server
	listener net.Listener
	remote   bool
	// boot differs between processes, so that a browser does not take the page of one process for that of another.
	boot int64

	mu sync.Mutex
	// view returns the current state, and number counts the states.
	view   func() (View, error)
	number int
	final  bool
	// asked is when a browser last asked for the page. seen is closed when a browser has the final report.
	asked time.Time
	seen  chan struct{}

	// rendering guards the rendered state.
	rendering  sync.Mutex
	rendered   int
	page, json []byte
}

// Limits of a connection. Requests are small and come from this machine.
const (
	headerTimeout = 5 * time.Second
	maxHeader     = 16 << 10
	// absent is the time after which a browser that did not ask again is gone, and closeTimeout is how long Close waits
	// for one that is not.
	absent, closeTimeout = 3 * time.Second, 3 * time.Second
)

// Listen starts a server. given is an address as in Address.
func Listen(given string, remote bool) (*Server, error) {
	address, err := Address(given, remote)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address) //nolint:noctx // listening does not block
	if err != nil {
		return nil, err
	}
	s := &Server{listener: l, remote: remote, boot: time.Now().UnixNano(), seen: make(chan struct{})}
	s.http = http.Server{Handler: s, ReadHeaderTimeout: headerTimeout, MaxHeaderBytes: maxHeader}
	go s.http.Serve(l) //nolint:errcheck // it ends when the listener is closed
	return s, nil
}

// URL returns the address of the page.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/" }

// Show sets what the page shows. Another goroutine calls view, at most once, when a browser asks for the page.
func (s *Server) Show(view func() (View, error)) { s.set(view, false) }

// Finish sets the final report.
func (s *Server) Finish(r *rv.Report) {
	s.set(func() (View, error) { return View{Report: r}, nil }, true)
}

func (s *Server) set(view func() (View, error), final bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view, s.final = view, final
	s.number++
}

// Close stops the server. If a browser shows the page, Close first gives it a few seconds to get the final report.
func (s *Server) Close() {
	s.mu.Lock()
	watched := s.final && time.Since(s.asked) < absent
	s.mu.Unlock()
	if watched {
		select {
		case <-s.seen:
		case <-time.After(closeTimeout):
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	// The page has a policy for what it loads. This one has what a page cannot set for itself.
	h.Set("Content-Security-Policy", "frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	switch {
	case !isAllowed(r.Host, s.remote):
		http.Error(w, "h2surge: this name is not allowed; use localhost or an IP address", http.StatusForbidden)
	case r.URL.Path != "/" && r.URL.Path != "/report.json":
		http.NotFound(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "h2surge: the page is read-only", http.StatusMethodNotAllowed)
	default:
		s.serve(w, r)
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	d, err := s.render()
	if err != nil {
		http.Error(w, "h2surge: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	tag := fmt.Sprintf(`"%d-%d"`, s.boot, d.number)
	w.Header().Set("ETag", tag)
	page := r.URL.Path == "/"
	switch {
	case r.Header.Get("If-None-Match") == tag:
		w.WriteHeader(http.StatusNotModified)
	case page:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, err = w.Write(d.page)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, err = w.Write(d.json)
	}
	if page && err == nil {
		s.served(&d)
	}
}

// served notes that a browser has a page.
func (s *Server) served(d *document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = time.Now()
	if !d.final {
		return
	}
	select {
	case <-s.seen:
	default:
		close(s.seen)
	}
}

// document is a rendered state.
type document struct {
	number     int
	final      bool
	page, json []byte
}

var errNothing = errors.New("the test has not started yet")

// render returns the current state. Each state is rendered once.
func (s *Server) render() (document, error) {
	s.rendering.Lock()
	defer s.rendering.Unlock()
	s.mu.Lock()
	view, out := s.view, document{number: s.number, final: s.final}
	s.mu.Unlock()
	if view == nil {
		return out, errNothing
	}
	if s.rendered != out.number {
		v, err := view()
		if err != nil {
			return out, err
		}
		if s.page, s.json, err = write(&v); err != nil {
			return out, err
		}
		s.rendered = out.number
	}
	out.page, out.json = s.page, s.json
	return out, nil
}

func write(v *View) (page, json []byte, err error) {
	var p, j bytes.Buffer
	if v.Live == nil {
		err = render.HTML(&p, v.Report)
	} else {
		err = render.LiveHTML(&p, v.Report, v.Live)
	}
	err = errors.Join(err, render.JSON(&j, v.Report))
	return p.Bytes(), j.Bytes(), err
}
