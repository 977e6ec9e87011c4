package main

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// goPair is the server of the Go rows, in HTTP/1.1 or over TLS in HTTP/2.
func goPair(t *testing.T, p protocol) (*goServer, string) {
	t.Helper()
	g := &goServer{filler: strings.Repeat("x", maxFiller)}
	s := httptest.NewUnstartedServer(http.HandlerFunc(g.answer))
	s.EnableHTTP2 = p == h2
	if p == h2 {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return g, s.URL
}

// TestGoClient: what the published HTTP/1.1 work does wrong is a connection for each request.
func TestGoClient(t *testing.T) {
	const n = 20
	for _, tc := range []struct {
		name        string
		p           protocol
		unread      bool
		parallel    int64
		proto       string
		connections int64 // at most
		exactly     bool
	}{
		{"HTTP/1.1 as published", http1, true, 1, "HTTP/1.1", n, true},
		{"HTTP/1.1 corrected", http1, false, 1, "HTTP/1.1", 1, true},
		{"HTTP/1.1 in parallel", http1, false, 4, "HTTP/1.1", 8, false},
		{"HTTP/2 as published", h2, true, 1, "HTTP/2.0", 1, true},
		{"HTTP/2 corrected", h2, false, 1, "HTTP/2.0", 1, true},
		// Go dials once for each request that finds no connection, and keeps one.
		{"HTTP/2 in parallel", h2, false, 4, "HTTP/2.0", 4, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server, url := goPair(t, tc.p)
			g := newGoRun(goWork{URL: url, Seconds: 60, Parallel: tc.parallel, Requests: n, Unread: tc.unread})
			t.Cleanup(g.client.CloseIdleConnections)
			told, err := g.run()
			if err != nil {
				t.Fatal(err)
			}
			if told.Requests != n || server.requests.Load() != n || told.Rejected != 0 || told.Protocol != tc.proto {
				t.Errorf("%+v, and the server received %d", told, server.requests.Load())
			}
			if got := told.Connections; got > tc.connections || tc.exactly && got != tc.connections {
				t.Errorf("%d connections, want %d", got, tc.connections)
			}
			if (told.Suite != "") != (tc.p == h2) || told.AllocsPerOp <= 0 || told.BytesPerOp <= 0 {
				t.Errorf("%+v", told)
			}
		})
	}
}

func TestGoServer(t *testing.T) {
	_, url := goPair(t, http1)
	for _, tc := range []struct {
		query        string
		body, header int
	}{{"", len("hello"), 0}, {"?body=65536&header=0", 65536, 0}, {"?body=0&header=1024", len("hello"), 1024}, {"?body=-1&header=x", len("hello"), 0}} {
		resp, err := http.Get(url + "/" + tc.query)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(resp.Header.Get("x-pad")); got != tc.header {
			t.Errorf("%q: header of %d bytes, want %d", tc.query, got, tc.header)
		}
		if resp.ContentLength != int64(tc.body) {
			t.Errorf("%q: body of %d bytes, want %d", tc.query, resp.ContentLength, tc.body)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestCountNginx: reading the count is a request too.
func TestCountNginx(t *testing.T) {
	requests := 68209
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		_, _ = w.Write([]byte("Active connections: 1 \nserver accepts handled requests\n 3328 3328 " + strconv.Itoa(requests) + " \nReading: 0\n"))
	}))
	defer s.Close()
	count := countNginx(s.URL)
	for range 2 {
		if got, err := count(); err != nil || got != 68209 {
			t.Errorf("count %d, %v", got, err)
		}
	}
}

func TestProbe(t *testing.T) {
	dir := t.TempDir()
	if err := writeCertificate(dir+"/cert.pem", dir+"/key.pem"); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(dir+"/cert.pem", dir+"/key.pem")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	s.StartTLS()
	defer s.Close()
	got, err := probe(s.URL)
	if err != nil || !strings.HasPrefix(got, "TLS 1.3 TLS_") {
		t.Errorf("%q, %v", got, err)
	}
}
