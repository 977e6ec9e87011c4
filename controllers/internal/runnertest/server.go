package runnertest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"testing"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Serve answers for the runner on loopback, over mutual TLS with the files of a runner's Secret,
// until the test ends. It returns the address.
func (r *Runner) Serve(t testing.TB, files map[string][]byte) string {
	t.Helper()
	cfg, err := ServerTLS(files)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: r, ErrorLog: nil}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.Errorf("control endpoint: %v", err)
		}
	}()
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()
}

// ServerTLS is the configuration of a control endpoint with the files of a runner's Secret.
func ServerTLS(files map[string][]byte) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(files[runnerv1alpha1.TLSCertFile], files[runnerv1alpha1.TLSKeyFile])
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(files[runnerv1alpha1.TLSCAFile]) {
		return nil, errors.New("no CA")
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
		VerifyConnection: func(s tls.ConnectionState) error {
			if !slices.Contains(s.PeerCertificates[0].DNSNames, runnerv1alpha1.OperatorName) {
				return fmt.Errorf("the client is %v", s.PeerCertificates[0].DNSNames)
			}
			return nil
		},
	}, nil
}

// ServeHTTP is the control protocol.
func (r *Runner) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var err error
	switch req.Method + " " + req.URL.Path {
	case "PUT " + runnerv1alpha1.PathUpdate:
		err = put(req, r.Update)
	case "PUT " + runnerv1alpha1.PathStart:
		err = put(req, r.Start)
	case "PUT " + runnerv1alpha1.PathStop:
		err = put(req, r.Stop)
	case "PUT " + runnerv1alpha1.PathTeardown:
		err = put(req, r.Teardown)
	case "PUT " + runnerv1alpha1.PathAck:
		err = put(req, r.Ack)
	case "GET " + runnerv1alpha1.PathSnapshot:
		var s *runnerv1alpha1.Snapshot
		totals := req.URL.Query().Get(runnerv1alpha1.QueryDetail) == runnerv1alpha1.DetailTotals
		if s, err = r.Poll(req.Context(), runnerv1alpha1.Lease{}, totals); err == nil {
			answer(w, req, s)
			return
		}
	default:
		err = errors.New("no such call")
	}
	switch {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, ErrGone):
		panic(http.ErrAbortHandler)
	case errors.Is(err, ErrConflict):
		w.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(w).Encode(runnerv1alpha1.Error{Message: err.Error()})
	default:
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(runnerv1alpha1.Error{Message: err.Error()})
	}
}

func put[T any](req *http.Request, f func(ctx context.Context, m T) error) error {
	var m T
	if err := json.NewDecoder(req.Body).Decode(&m); err != nil {
		return err
	}
	return f(req.Context(), m)
}

// answer writes a snapshot in pieces, as a runner does: a TLS record stays small.
func answer(w http.ResponseWriter, req *http.Request, s *runnerv1alpha1.Snapshot) {
	b, mediaType := []byte(nil), req.Header.Get("Accept")
	if mediaType == runnerv1alpha1.MediaTypeSnapshot {
		b, _ = s.AppendBinary(nil)
	} else {
		b, _ = json.Marshal(s)
		mediaType = "application/json"
	}
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	out := http.NewResponseController(w)
	for chunk := range slices.Chunk(b, 1<<10) {
		_, _ = w.Write(chunk)
		_ = out.Flush()
	}
}
