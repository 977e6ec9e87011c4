package dial

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/test/peer"
)

func parse(all ...string) (out []netip.Addr) {
	for _, s := range all {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

// fixed is a resolver of one answer, with a clock that does not move.
func fixed(all ...string) *Resolver {
	return &Resolver{
		hosts: map[string]*answer{}, now: func() time.Time { return time.Unix(0, 0) },
		lookup: func(context.Context, string, string) ([]netip.Addr, error) { return parse(all...), nil },
	}
}

func TestAddresses(t *testing.T) {
	for _, tt := range []struct {
		name, address string
		ips, want     []string
	}{
		{"an address needs no resolving", "10.0.0.7:80", nil, []string{"10.0.0.7:80"}},
		{"ascending, whatever the answer's order", "a:80", []string{"10.0.0.9", "10.0.0.1", "10.0.0.5"}, []string{"10.0.0.1:80", "10.0.0.5:80", "10.0.0.9:80"}},
		{"both families, the first one first", "a:80", []string{"fd00::2", "10.0.0.1", "fd00::1"}, []string{"[fd00::1]:80", "[fd00::2]:80", "10.0.0.1:80"}},
		{"mapped addresses are IPv4", "a:80", []string{"::ffff:10.0.0.2", "10.0.0.1", "fd00::1"}, []string{"10.0.0.1:80", "10.0.0.2:80", "[fd00::1]:80"}},
		{"no address twice", "a:80", []string{"10.0.0.1", "10.0.0.1", "10.0.0.2"}, []string{"10.0.0.1:80", "10.0.0.2:80"}},
	} {
		got, err := fixed(tt.ips...).addresses(t.Context(), tt.address)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}

// TestAnswersAreKeptForASecond: errors are not, and those who ask at once ask together.
func TestAnswersAreKeptForASecond(t *testing.T) {
	var now, lookups atomic.Int64
	var failing atomic.Bool
	r := fixed()
	r.now = func() time.Time { return time.Unix(0, now.Load()) }
	r.lookup = func(context.Context, string, string) ([]netip.Addr, error) {
		lookups.Add(1)
		if failing.Load() {
			return nil, errors.New("no answer")
		}
		return parse("10.0.0.1"), nil
	}
	for _, tt := range []struct {
		name    string
		at      time.Duration
		failing bool
		want    int64
	}{
		{"the first asks", 0, false, 1},
		{"within a second", 999 * time.Millisecond, true, 1},
		{"after a second", time.Second, true, 2},
		{"an error is not kept", time.Second, true, 3},
		{"nor is it when it is over", time.Second, false, 4},
		{"and the answer is", time.Second, false, 4},
	} {
		now.Store(int64(tt.at))
		failing.Store(tt.failing)
		if _, err := r.addresses(t.Context(), "a:80"); (err != nil) != (tt.failing && tt.want > 1) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got := lookups.Load(); got != tt.want {
			t.Errorf("%s: %d questions, want %d", tt.name, got, tt.want)
		}
	}
}

func TestThoseWhoAskTogetherAskOnce(t *testing.T) {
	var lookups atomic.Int64
	answered := make(chan struct{})
	r := fixed()
	r.lookup = func(context.Context, string, string) ([]netip.Addr, error) {
		lookups.Add(1)
		<-answered
		return parse("10.0.0.1"), nil
	}
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.addresses(impatient, "a:80"); !errors.Is(err, context.Canceled) {
		t.Errorf("gave up with %v", err)
	}
	errs := make(chan error)
	for range 10 {
		go func() {
			_, err := r.addresses(t.Context(), "a:80")
			errs <- err
		}()
	}
	close(answered)
	for range 10 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := lookups.Load(); n != 1 {
		t.Errorf("%d questions, want 1", n)
	}
}

// TestOpenTriesAllAddresses: connection k starts at address k, and a server that listens on one of them is found.
func TestOpenTriesAllAddresses(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.3:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // the test is over
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for name, ips := range map[string][]string{
		"one address":            {"127.0.0.3"},
		"both families":          {"::1", "127.0.0.3"},
		"several of each family": {"127.0.0.1", "::1", "127.0.0.2", "127.0.0.3", "127.0.0.4"},
	} {
		for k := range 2 * len(ips) {
			c, err := Open(t.Context(), &Request{
				Endpoint: &rv.Endpoint{Address: "a:" + port}, Timeout: 5 * time.Second, Address: k, Resolver: fixed(ips...),
			})
			if err != nil {
				t.Errorf("%s, connection %d: %v", name, k, err)
				continue
			}
			if want := "127.0.0.3:" + port; c.Address != want {
				t.Errorf("%s, connection %d: connected to %s, want %s", name, k, c.Address, want)
			}
			c.Close()
		}
	}
}

// TestOpenFailsWithTheLastError: none of the addresses has a listener.
func TestOpenFailsWithTheLastError(t *testing.T) {
	_, err := Open(t.Context(), &Request{
		Endpoint: &rv.Endpoint{Address: "a:" + peer.Refused(t)}, Timeout: 5 * time.Second, Resolver: fixed("127.0.0.1", "127.0.0.2"),
	})
	if err == nil {
		t.Error("connected to a port without a listener")
	}
}
