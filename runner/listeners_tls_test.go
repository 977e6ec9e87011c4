package runner

import (
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// overTLS makes the client of a notifier use HTTP/2 over TLS, without verifying the listener.
func overTLS(certificates ...tls.Certificate) func(*http.Transport) {
	return func(t *http.Transport) {
		var proto http.Protocols
		proto.SetHTTP2(true)
		t.Protocols = &proto
		t.TLSClientConfig = &tls.Config{InsecureSkipVerify: true, Certificates: certificates}
	}
}

// TestListenersOverTLS: notifications reach their steps through TLS, and the bodies of responses return.
func TestListenersOverTLS(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"once", "early"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			n := newNotifier(t, overTLS())
			plan := subscriptions(n.address, how)
			plan.Listeners[0].TLS = &rv.ListenerTLS{MinVersion: "1.2"}
			s := completeRun(t, plan, 2)
			law(t, s)
			n.group.Wait()
			if got := &s.Listeners[0]; got.InTime != 200 || got.Received != 200 || got.FailedHandshakes != 0 {
				t.Errorf("%+v", *got)
			}
			select {
			case why := <-n.refused:
				t.Error(why)
			default:
			}
		})
	}
}

// TestFailedHandshakes: a peer that does not speak TLS is counted, and does not disturb the others.
func TestFailedHandshakes(t *testing.T) {
	t.Parallel()
	n := newNotifier(t)
	plan := subscriptions(n.address, "once")
	plan.Listeners[0].TLS = &rv.ListenerTLS{MinVersion: "1.2"}
	plan.Rates[0].Requests, plan.Rates[0].Count = 4, 1
	plan.Chains[0].Steps[1].Timeout = 50 * time.Millisecond
	s := completeRun(t, plan, 1)
	n.group.Wait()
	if got := &s.Listeners[0]; got.FailedHandshakes == 0 || got.Received != 0 || got.Missing != 4 {
		t.Errorf("%+v", *got)
	}
}

// TestSilentPeerOfTLS: peers that connect and never begin a handshake do not keep the runner from its end.
func TestSilentPeerOfTLS(t *testing.T) {
	t.Parallel()
	plan := subscriptions("127.0.0.1:1", "once")
	plan.Listeners[0].TLS = &rv.ListenerTLS{MinVersion: "1.2"}
	r, err := New(plan, Options{NoPin: true, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	urls, err := r.servers.listen(1)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", urls[0][0][len("https://"):])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // the test is over
	_ = r.Close()
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is open")
	}
	if s := r.Snapshot(); s.Listeners[0].FailedHandshakes != 0 {
		t.Errorf("%+v", s.Listeners[0])
	}
}

// TestListenerURLs: only a listener with TLS on the address of the pod has its name in URLs.
func TestListenerURLs(t *testing.T) {
	t.Parallel()
	secure := &rv.ListenerTLS{MinVersion: "1.2"}
	for _, tt := range []struct {
		listener rv.Listener
		name     string
		want     string // without the port
	}{
		{rv.Listener{}, "pod.test", "http://127.0.0.1:"},
		{rv.Listener{TLS: secure}, "pod.test", "https://pod.test:"},
		{rv.Listener{TLS: secure}, "", "https://127.0.0.1:"},
		{rv.Listener{TLS: secure, Interface: "lo"}, "pod.test", "https://127.0.0.1:"},
	} {
		plan := subscriptions("127.0.0.1:1", "once")
		l := &plan.Listeners[0]
		l.TLS, l.Interface = tt.listener.TLS, tt.listener.Interface
		r, err := New(plan, Options{NoPin: true, Workers: 1, ListenName: tt.name})
		if err != nil {
			t.Fatal(err)
		}
		urls, err := r.servers.listen(1)
		if err != nil {
			t.Fatal(err)
		}
		if got := urls[0][0]; !strings.HasPrefix(got, tt.want) {
			t.Errorf("%+v: %s, want %s", tt.listener, got, tt.want)
		}
		_ = r.Close()
	}
}
