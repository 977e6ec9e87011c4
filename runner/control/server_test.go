package control

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// dial returns a client that trusts ca and shows cert, or no certificate when nil.
func dial(t *testing.T, ca *authority, cert *tls.Certificate) *http.Client {
	t.Helper()
	config := &tls.Config{RootCAs: ca.Pool(), ServerName: rv.RunnerName}
	if cert != nil {
		// Always: by itself a client keeps back a certificate of an authority that the server
		// does not name.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
	}
	transport := &http.Transport{TLSClientConfig: config, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

func ask(c *http.Client, method, url, body string) (status int, answer string, err error) {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	resp, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func TestWhoIsLetIn(t *testing.T) {
	ours, others := newAuthority(t), newAuthority(t)
	engine := &fakeEngine{state: rv.StateWaiting}
	_, addr := ours.serve(engine, errContradiction)
	client := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	for _, tc := range []struct {
		name string
		cert *tls.Certificate
		want string // part of the error; "": let in
	}{
		{name: "the operator", cert: ours.client(operator)},
		{name: "a stranger without certificate", want: "certificate required"},
		{name: "the operator's name, another authority", cert: others.client(operator), want: "unknown certificate authority"},
		{name: "a runner's certificate", cert: ours.client(runner), want: "bad certificate"},
		{name: "a runner's name, meant for clients", cert: ours.client(leaf{names: []string{rv.RunnerName}, usage: client}), want: "bad certificate"},
		{name: "the operator's name, meant for servers", cert: ours.client(leaf{names: []string{rv.OperatorName}, usage: runner.usage}), want: "bad certificate"},
		{name: "the operator's name, meant for nothing", cert: ours.client(leaf{names: []string{rv.OperatorName}}), want: "bad certificate"},
		{name: "a wildcard over the operator's name", cert: ours.client(leaf{names: []string{"*.h2surge.io"}, usage: client}), want: "bad certificate"},
		{name: "no name", cert: ours.client(leaf{usage: client}), want: "bad certificate"},
		{name: "expired", cert: ours.client(leaf{names: operator.names, usage: client, expired: true}), want: "expired certificate"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, _, err := ask(dial(t, ours, tc.cert), http.MethodGet, "https://"+addr+rv.PathSnapshot, "")
			switch {
			case tc.want == "" && (err != nil || status != http.StatusOK):
				t.Errorf("status %d, error %v, want 200", status, err)
			case tc.want != "" && err == nil:
				t.Errorf("status %d, want a refused handshake", status)
			case tc.want != "" && !strings.Contains(err.Error(), tc.want):
				t.Errorf("error %q, want one with %q", err, tc.want)
			}
		})
	}
	if engine.sequence != 1 {
		t.Errorf("%d snapshots were taken, want one, for the operator", engine.sequence)
	}
}

func TestPlainHTTPIsRefused(t *testing.T) {
	engine := &fakeEngine{}
	_, addr := newAuthority(t).serve(engine, errContradiction)
	status, _, err := ask(http.DefaultClient, http.MethodPut, "http://"+addr+rv.PathStop, `{"reason":"x","drain":false}`)
	if err == nil && status != http.StatusBadRequest {
		t.Errorf("status %d", status)
	}
	if engine.changes != 0 {
		t.Error("the engine was stopped")
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	ours := newAuthority(t)
	_, addr := ours.serve(&fakeEngine{}, errContradiction)
	conn, err := tls.Dial("tcp", addr, &tls.Config{
		RootCAs: ours.Pool(), ServerName: rv.RunnerName, MaxVersion: tls.VersionTLS12,
		Certificates: []tls.Certificate{*ours.client(operator)},
	})
	if err == nil {
		conn.Close()
		t.Fatal("TLS 1.2 was accepted")
	}
}

// The client's side of the agreement: a runner's certificate proves to be one.
func TestRunnerIsKnownByItsName(t *testing.T) {
	ours := newAuthority(t)
	_, addr := ours.serve(&fakeEngine{}, errContradiction)
	conn, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: ours.Pool(), ServerName: rv.OperatorName})
	if err == nil {
		conn.Close()
		t.Fatal("the runner passed for the operator")
	}
}

// talkative has a large snapshot.
type talkative struct{ *fakeEngine }

func (talkative) Snapshot() *rv.Snapshot { return &rv.Snapshot{Message: strings.Repeat("x", 256<<10)} }

// TestRecordsAreSmall: the operator keeps buffers for each runner that are as large as the largest record.
func TestRecordsAreSmall(t *testing.T) {
	ours := newAuthority(t)
	_, addr := ours.serve(talkative{&fakeEngine{}}, errContradiction)
	conn, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: ours.Pool(), ServerName: rv.RunnerName, Certificates: []tls.Certificate{*ours.client(operator)}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET "+rv.PathSnapshot+" HTTP/1.1\r\nHost: runner\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	const most = piece + 512 // with the header
	largest, total, buffer := 0, 0, make([]byte, 64<<10)
	for err == nil {
		var n int
		n, err = conn.Read(buffer) // octets of one record
		largest, total = max(largest, n), total+n
	}
	if total < 256<<10 || largest > most {
		t.Errorf("%d octets, in records of up to %d: %v; want 256 KiB in records of at most %d", total, largest, err, most)
	}
}

func TestLoadTLS(t *testing.T) {
	if _, err := LoadTLS(t.TempDir()); err == nil || !strings.Contains(err.Error(), rv.TLSCAFile) {
		t.Errorf("error %v, want one that names %s", err, rv.TLSCAFile)
	}
	if _, err := ServerTLS([]byte("no PEM"), nil, nil); err == nil {
		t.Error("a CA file without certificates was accepted")
	}
	if _, err := ServerTLS([]byte(newAuthority(t).PEM()), nil, nil); err == nil {
		t.Error("an empty key pair was accepted")
	}
}

// A connection that says nothing is bounded by the header timeout, which the handshake is under
// too. What is checked is that none of the bounds is off.
func TestNoTimeoutIsOff(t *testing.T) {
	s := New(Options{})
	if s.http.ReadHeaderTimeout <= 0 || s.http.ReadTimeout <= 0 || s.http.WriteTimeout <= 0 ||
		s.http.IdleTimeout <= 0 || s.http.MaxHeaderBytes <= 0 {
		t.Error("a bound is missing")
	}
}

func TestFinalSnapshotIsHeld(t *testing.T) {
	ours := newAuthority(t)
	engine := &fakeEngine{state: rv.StateRunning}
	s, addr := ours.serve(engine, errContradiction)
	c := dial(t, ours, ours.client(operator))
	get := func() rv.Snapshot {
		t.Helper()
		status, body, err := ask(c, http.MethodGet, "https://"+addr+rv.PathSnapshot, "")
		if err != nil || status != http.StatusOK {
			t.Fatalf("status %d, error %v", status, err)
		}
		var got rv.Snapshot
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	put := func(path, body string, want int) {
		t.Helper()
		if status, answer, err := ask(c, http.MethodPut, "https://"+addr+path, body); err != nil || status != want {
			t.Fatalf("%s %s: status %d, error %v, want %d: %s", path, body, status, err, want, answer)
		}
	}
	if first := get(); first.Sequence != 1 {
		t.Fatalf("sequence %d", first.Sequence)
	}
	put(rv.PathAck, `{"sequence":1}`, http.StatusConflict)
	put(rv.PathStop, `{"reason":"spec.stop","drain":true}`, http.StatusNoContent)
	put(rv.PathAck, `{"sequence":2}`, http.StatusConflict) // nobody has read it
	last := get()
	if again := get(); last.State != rv.StateDone || again.Sequence != last.Sequence {
		t.Fatalf("the final snapshot was %v and then %v", last, again)
	}
	put(rv.PathAck, `{"sequence":1}`, http.StatusConflict)
	select {
	case <-s.Acked():
		t.Fatal("acknowledged by a wrong sequence")
	default:
	}
	put(rv.PathAck, `{"sequence":2}`, http.StatusNoContent)
	put(rv.PathAck, `{"sequence":2}`, http.StatusNoContent)
	<-s.Acked()
	if since := time.Since(s.LastRequest()); since > time.Minute {
		t.Errorf("the last request was %v ago", since)
	}
}

// TestClockOfTheFinalSnapshot: an operator that reads it late, and for the first time, measures the clock of the runner by it.
func TestClockOfTheFinalSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f final
		take := func() *rv.Snapshot { return &rv.Snapshot{State: rv.StateDone, Sequence: 7, Clock: int64(time.Hour)} }
		for _, want := range []time.Duration{time.Hour, time.Hour + 20*time.Second, time.Hour + 40*time.Second} {
			if s := f.pass(take); s.Sequence != 7 || time.Duration(s.Clock) != want {
				t.Errorf("snapshot %d at %s of the clock; want 7 at %s", s.Sequence, time.Duration(s.Clock), want)
			}
			time.Sleep(20 * time.Second)
		}
	})
}

func TestServeTellsOfALostListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := New(Options{TLS: newAuthority(t).server()}).Serve(l); err == nil {
		t.Error("no error")
	}
}
