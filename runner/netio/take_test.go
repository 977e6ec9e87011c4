package netio

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/test/certtest"
)

// input is an Input that keeps what it gets, and then returns err.
type input struct {
	got []byte
	err error
}

func (i *input) Receive(p []byte, _ int64) error {
	i.got = append(i.got, p...)
	return i.err
}

// greeted returns a TLS client after its handshake, and the records of a server that sends a text and close_notify.
func greeted(t *testing.T, text string) (*dial.Secure, []byte) {
	pair := certtest.Self(t, "peer").TLS()
	ours, theirs := net.Pipe()
	go func() {
		server := tls.Server(theirs, &tls.Config{
			Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true,
		})
		_, _ = io.WriteString(server, text)
		_ = server.Close()
	}()
	s := dial.NewSecure(ours, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13})
	if err := s.Handshake(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Detach()
	records, err := io.ReadAll(ours)
	if err != nil {
		t.Fatal(err)
	}
	return s, records
}

func TestSocketTake(t *testing.T) {
	const text = "hello"
	errRefused := errors.New("refused")
	for _, tt := range []struct {
		name    string
		change  func(records []byte) []byte
		refused error
		got     string
		status  Status
		fails   bool
		sends   bool // an alert
	}{
		{name: "a part of a record", change: func(p []byte) []byte { return p[:10] }, status: OK},
		{name: "close_notify", change: func(p []byte) []byte { return p }, got: text, status: Ended},
		{name: "a changed octet", change: func(p []byte) []byte { p[len(p)-1]++; return p }, got: text, status: Closed, fails: true, sends: true},
		{name: "the session refuses it", change: func(p []byte) []byte { return p }, refused: errRefused, got: text, status: OK, fails: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			secure, records := greeted(t, text)
			s, err := Open(&narrow{takes: 100}, &dial.Connection{Secure: secure}, 7)
			if err != nil {
				t.Fatal(err)
			}
			var plain []byte
			in := input{err: tt.refused}
			sent, st, err := s.Take(tt.change(records), &plain, &in, 1)
			if string(in.got) != tt.got || st != tt.status || (err != nil) != tt.fails || (sent > 0) != tt.sends {
				t.Errorf("got %q, %d sent, status %v, %v", in.got, sent, st, err)
			}
		})
	}
}

// TestSocketTakePlain: in cleartext, the session gets what was read.
func TestSocketTakePlain(t *testing.T) {
	s, err := Open(&narrow{}, &dial.Connection{}, 7)
	if err != nil {
		t.Fatal(err)
	}
	var in input
	if sent, st, err := s.Take([]byte("hello"), new([]byte), &in, 1); string(in.got) != "hello" || sent != 0 || st != OK || err != nil {
		t.Errorf("got %q, %d sent, status %v, %v", in.got, sent, st, err)
	}
}
