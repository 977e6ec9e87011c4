package control

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// maxBody bounds a message. The largest is a Start whose changes have the rates of many stages many times.
const maxBody = 8 << 20

// errConflict marks the endpoint's own conflicts.
var errConflict = errors.New("conflict")

// route is what a path answers to.
type route struct {
	method string
	serve  func(s *Server, w http.ResponseWriter, r *http.Request, body []byte)
}

var routes = map[string]route{
	rv.PathUpdate:   {http.MethodPut, put(func(s *Server, u *rv.Update) error { return s.engine.Update(*u) })},
	rv.PathStart:    {http.MethodPut, put(func(s *Server, m *rv.Start) error { return s.engine.Start(*m) })},
	rv.PathStop:     {http.MethodPut, put(stop)},
	rv.PathTeardown: {http.MethodPut, put(func(s *Server, m *rv.Teardown) error { return s.engine.Teardown(*m) })},
	rv.PathAck:      {http.MethodPut, put(func(s *Server, m *rv.Ack) error { return s.final.ack(m.Sequence) })},
	rv.PathSnapshot: {http.MethodGet, (*Server).snapshot},
}

// ServeHTTP answers one request of a client that TLS has let in.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.lastRequest.Store(time.Now().UnixNano())
	w.Header().Set("Cache-Control", "no-store")
	route, ok := routes[r.URL.Path]
	if !ok {
		refuse(w, http.StatusNotFound, "no such path"+s.versions())
		return
	}
	if r.Method != route.method {
		w.Header().Set("Allow", route.method)
		refuse(w, http.StatusMethodNotAllowed, "only "+route.method+" is answered here")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refuseBody(w, err)
		return
	}
	route.serve(s, w, r, body)
}

// maxReason bounds Stop.Reason, which goes into the report as it is.
const maxReason = 256

func stop(s *Server, m *rv.Stop) error {
	if len(m.Reason) > maxReason {
		return fmt.Errorf("reason is longer than %d bytes", maxReason)
	}
	return s.engine.Stop(*m)
}

// put makes a route of a message type: decode and hand on. The engine checks the message.
func put[T any](accept func(*Server, *T) error) func(*Server, http.ResponseWriter, *http.Request, []byte) {
	return func(s *Server, w http.ResponseWriter, _ *http.Request, body []byte) {
		message := new(T)
		err := decode(body, message)
		if err != nil {
			err = fmt.Errorf("%w%s", err, s.versions())
		}
		if err == nil {
			err = accept(s, message)
		}
		if err != nil {
			refuse(w, s.status(err), err.Error())
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// versions follows an error that an operator of another build can cause.
func (s *Server) versions() string {
	return fmt.Sprintf(" (the runner is build %s with protocol version %d; an operator of another version may not work with it)", s.version, rv.ProtocolVersion)
}

func (s *Server) status(err error) int {
	if errors.Is(err, errConflict) || s.conflict != nil && errors.Is(err, s.conflict) {
		return http.StatusConflict
	}
	return http.StatusBadRequest
}

// snapshot first does what the query asks for, so that the snapshot shows the new lease.
func (s *Server) snapshot(w http.ResponseWriter, r *http.Request, _ []byte) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		refuse(w, http.StatusBadRequest, "query: "+err.Error())
		return
	}
	lease, err := leaseOf(query)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if lease != (rv.Lease{}) {
		s.engine.Renew(lease)
	}
	if query.Has(rv.QueryObserve) {
		s.engine.Observe(query.Get(rv.QueryObserve) == "true")
	}
	take := s.engine.Snapshot
	if query.Get(rv.QueryDetail) == rv.DetailTotals {
		take = s.engine.Totals
	}
	s.answer(w, r, s.final.pass(take))
}

// leaseOf returns the lease in the query of a poll. Without the parameters it returns the zero lease, which renews
// nothing.
func leaseOf(query url.Values) (rv.Lease, error) {
	var l rv.Lease
	for name, field := range map[string]*int64{rv.QueryLeaseUntil: &l.Until, rv.QueryTerm: &l.Term} {
		if !query.Has(name) {
			continue
		}
		n, err := strconv.ParseInt(query.Get(name), 10, 64)
		if err != nil || n < 0 {
			return rv.Lease{}, fmt.Errorf("query: %s is %q; allowed: a number that is not negative", name, query.Get(name))
		}
		*field = n
	}
	return l, nil
}

// answer sends a snapshot in its binary form if the client accepts it, else as JSON.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, snapshot *rv.Snapshot) {
	binary := slices.Contains(r.Header.Values("Accept"), rv.MediaTypeSnapshot)
	var b []byte
	var err error
	if binary {
		b, err = snapshot.AppendBinary(nil)
	} else {
		b, err = json.Marshal(snapshot)
	}
	if err != nil { // a figure that JSON has no word for: a bug of the engine
		s.log.Error("A document cannot be encoded", "err", err)
		refuse(w, http.StatusInternalServerError, "the document cannot be encoded")
		return
	}
	w.Header().Set("Vary", "Accept, Accept-Encoding")
	if binary {
		write(w, http.StatusOK, rv.MediaTypeSnapshot, b)
		return
	}
	if acceptsGzip(r.Header) {
		b = compress(b)
		w.Header().Set("Content-Encoding", "gzip")
	}
	write(w, http.StatusOK, "application/json", b)
}

// compress favours speed: it runs on the CPU that also makes the load.
func compress(b []byte) []byte {
	var buf bytes.Buffer
	z, _ := gzip.NewWriterLevel(&buf, gzip.BestSpeed) // fails for unknown levels only
	_, _ = z.Write(b)                                 // a Buffer takes everything
	_ = z.Close()
	return buf.Bytes()
}

// acceptsGzip reads Accept-Encoding (RFC 9110 12.5.3) for gzip alone; "*" is not taken for it.
func acceptsGzip(h http.Header) bool {
	for _, value := range h.Values("Accept-Encoding") {
		for item := range strings.SplitSeq(value, ",") {
			coding, weight, _ := strings.Cut(item, ";")
			if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
				return !zeroWeight(weight)
			}
		}
	}
	return false
}

func zeroWeight(parameter string) bool {
	q, ok := strings.CutPrefix(strings.TrimSpace(parameter), "q=")
	n, err := strconv.ParseFloat(q, 64)
	return ok && err == nil && n == 0
}

func refuseBody(w http.ResponseWriter, err error) {
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		refuse(w, http.StatusRequestEntityTooLarge, "the body is larger than "+strconv.Itoa(maxBody)+" bytes")
		return
	}
	refuse(w, http.StatusBadRequest, "the body cannot be read")
}

func refuse(w http.ResponseWriter, status int, message string) {
	b, _ := json.Marshal(rv.Error{Message: message}) // a string can always be encoded
	write(w, status, "application/json", b)
}

func write(w http.ResponseWriter, status int, mediaType string, b []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	out := http.NewResponseController(w)
	for part := range slices.Chunk(b, piece) {
		if _, err := w.Write(part); err != nil {
			return // the client is gone: it will ask again
		}
		_ = out.Flush() // makes a TLS record
	}
}

// piece is how much of an answer is in a TLS record. crypto/tls keeps buffers for each connection that fit the largest
// record. The operator, which has a connection for each runner, keeps 13 KB for one with records of 4 KiB, as net/http
// makes them, and 7 KB with these.
const piece = 1 << 10
