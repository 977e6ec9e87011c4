package runner

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/test/certtest"
)

// TestCallers: a notification of a peer that a listener does not accept gets its response, is counted under its own name, and
// reaches no step.
func TestCallers(t *testing.T) {
	t.Parallel()
	smf := certtest.Self(t, "smf.test")
	ca, _ := smf.Write(t, t.TempDir())
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("k", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	named := func(name string) *rv.ListenerTLS {
		return &rv.ListenerTLS{MinVersion: "1.2", ClientCAFile: ca, ClientNames: []string{name}}
	}
	for name, tt := range map[string]struct {
		listener rv.Listener
		client   func(*http.Transport)
		want     rv.ListenerCounts
		answer   string
	}{
		"with the right name": {rv.Listener{TLS: named("smf.test")}, overTLS(smf.TLS()), rv.ListenerCounts{Received: 4, InTime: 4, Awaited: 4}, ""},
		"with another name": {
			rv.Listener{TLS: named("amf.test")}, overTLS(smf.TLS()), rv.ListenerCounts{Received: 4, RefusedCertificate: 4, Awaited: 4, Missing: 4},
			`status 403, body "{\"title\":\"Forbidden\",\"status\":403,\"detail\":\"the client certificate has none of the required names\"}"`,
		},
		"without a token": {
			rv.Listener{Token: &rv.TokenCheck{Algorithm: rv.TokenHS256, KeysFile: secret}}, func(*http.Transport) {},
			rv.ListenerCounts{Received: 4, RefusedToken: 4, Awaited: 4, Missing: 4},
			`status 401, body "{\"title\":\"Unauthorized\",\"status\":401,\"detail\":\"the request has no access token\"}"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNotifier(t, tt.client)
			plan := subscriptions(n.address, "early") // sent before the response to the request, so before the end
			l := &plan.Listeners[0]
			l.TLS, l.Token = tt.listener.TLS, tt.listener.Token
			plan.Rates[0].Requests, plan.Rates[0].Count = 4, 1
			if tt.answer != "" {
				plan.Chains[0].Steps[1].Timeout = 10 * time.Millisecond
			}
			s := completeRun(t, plan, 1)
			got := s.Listeners[0].ListenerCounts
			got.Measured = rv.AwaitCounts{}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
			answer := ""
			select {
			case answer = <-n.refused:
			default:
			}
			if !strings.HasPrefix(answer, tt.answer) || (answer == "") != (tt.answer == "") {
				t.Errorf("answer %q, want %q", answer, tt.answer)
			}
		})
	}
}

// TestKeysCannotBeRead: the log names the listener whose token keys cannot be read again.
func TestKeysCannotBeRead(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("k", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := subscriptions("127.0.0.1:1", "once")
	plan.Listeners[0].Token = &rv.TokenCheck{Algorithm: rv.TokenHS256, KeysFile: secret}
	log := blockingLog{slog.NewTextHandler(io.Discard, nil), "the token keys of a listener cannot be read again; the runner keeps the last ones, and tries again until it can",
		make(chan struct{}), make(chan struct{})}
	close(log.release)
	r, err := New(plan, Options{NoPin: true, Workers: 1, Logger: slog.New(log)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // never fails
	if err := os.Remove(secret); err != nil {
		t.Fatal(err)
	}
	if err := r.Update(rv.Update{Revision: 1, Share: split.Whole(plan)}); err != nil {
		t.Fatal(err)
	}
	<-log.blocked
}

func TestInterface(t *testing.T) {
	t.Parallel()
	address := func(s string) net.Addr {
		ip, n, err := net.ParseCIDR(s)
		if err != nil {
			t.Fatal(err)
		}
		return &net.IPNet{IP: ip, Mask: n.Mask}
	}
	for _, tt := range []struct {
		list []net.Addr
		want string
	}{
		{[]net.Addr{address("192.0.2.1/24")}, "192.0.2.1"},
		{[]net.Addr{address("fe80::1/64"), address("2001:db8::1/64"), address("192.0.2.1/24")}, "192.0.2.1"},
		{[]net.Addr{address("fe80::1/64"), address("2001:db8::1/64"), address("2001:db8::2/64")}, "2001:db8::1"},
	} {
		if got, err := firstAddress("n2", tt.list); got != tt.want || err != nil {
			t.Errorf("%v: %q, %v; want %q", tt.list, got, err, tt.want)
		}
	}
	if _, err := firstAddress("n2", []net.Addr{address("fe80::1/64")}); err == nil || err.Error() != `interface "n2" has no IP address` {
		t.Errorf("link-local: %v", err)
	}
	plan := subscriptions("127.0.0.1:1", "once")
	plan.Listeners[0].Interface = "absent0"
	if _, err := New(plan, Options{}); err == nil || !strings.HasPrefix(err.Error(), `plan: listeners[0].interface: there is no interface "absent0"; there are `) {
		t.Errorf("an absent interface: %v", err)
	}
}

// TestConnectFromInterface: a target's connections come from the address of its interface. A runner without the
// interface does not start.
func TestConnectFromInterface(t *testing.T) {
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(i net.Interface) bool { return i.Flags&net.FlagLoopback != 0 })
	p := &rv.Plan{Targets: []rv.Target{{Connecting: rv.Connecting{LocalAddresses: []string{"a"}}}, {Connecting: rv.Connecting{Interface: all[i].Name}}, {}}}
	got, err := localAddresses(p)
	if err != nil {
		t.Fatal(err)
	}
	if want := [][]string{{"a"}, {"127.0.0.1"}, nil}; !cmp.Equal(want, got) {
		t.Errorf("addresses %q, want %q", got, want)
	}
	p.Targets[2].Connecting.Interface = "absent"
	if _, err := localAddresses(p); err == nil || !strings.HasPrefix(err.Error(), `targets[2].connecting.interface: there is no interface "absent"; there are `) {
		t.Errorf("error %v", err)
	}
}
