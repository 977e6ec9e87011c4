package runner

import (
	"net"
	"strings"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
)

// TestPolicy: a name that resolves to a denied address ends the run before any request, also if the plan denies only the
// address.
func TestPolicy(t *testing.T) {
	p := newPeer(t, 0)
	_, port, err := net.SplitHostPort(p.address)
	if err != nil {
		t.Fatal(err)
	}
	loopback := rv.AddressRule{Name: "loopback", CIDRs: []string{"127.0.0.0/8", "::1/128"}}
	for _, tt := range []struct {
		name, host string
		policy     *rv.AddressPolicy
		want       string
	}{
		{"a name", "localhost", &rv.AddressPolicy{Denied: []rv.AddressRule{loopback}}, "denies the address by rule: loopback (127.0.0.1:" + port + ")"},
		{"an address", "127.0.0.1", &rv.AddressPolicy{Denied: []rv.AddressRule{loopback}}, "denies the address by rule: loopback (127.0.0.1:" + port + ")"},
		{"not allowed", "localhost", &rv.AddressPolicy{Allowed: []rv.AddressRule{{Name: "pods", CIDRs: []string{"10.0.0.0/8"}}}}, "denies the address by rule: allowed"},
		{"allowed", "127.0.0.1", &rv.AddressPolicy{Allowed: []rv.AddressRule{loopback}}, ""},
		{"no policy", "127.0.0.1", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p.requests.Store(0)
			plan := lifeCycle(net.JoinHostPort(tt.host, port), rv.Rate{Name: "r", Count: 1000, Period: time.Second, Requests: 30})
			plan.Policy = tt.policy
			s, err := Run(t.Context(), plan, split.Whole(plan), Options{}, nil)
			if tt.want == "" {
				if err != nil || s.Problem != "" || s.Counters.Succeeded != 30 {
					t.Errorf("%v, problem %s %s, %d succeeded", err, s.Problem, s.Message, s.Counters.Succeeded)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || s.Problem != rv.ProblemPolicy || s.State != rv.StateDone {
				t.Errorf("%v, problem %s, state %s; want %q", err, s.Problem, s.State, tt.want)
			}
			if n := p.requests.Load(); n != 0 {
				t.Errorf("the target got %d requests", n)
			}
		})
	}
}

// TestPolicyOfTokenEndpoint: the runner asks the policy about the token endpoint, too.
func TestPolicyOfTokenEndpoint(t *testing.T) {
	p := newPeer(t, 0)
	_, port, err := net.SplitHostPort(p.address)
	if err != nil {
		t.Fatal(err)
	}
	plan := lifeCycle(p.address, rv.Rate{Name: "r", Count: 1000, Period: time.Second, Requests: 30})
	plan.Targets[0].Auth = &rv.Auth{OAuth2: &rv.OAuth2{TokenURL: "http://localhost:" + port + "/token", HTTP2: true}}
	plan.Policy = &rv.AddressPolicy{Denied: []rv.AddressRule{{Name: "tokens", Hosts: []string{"localhost"}}}}
	s, err := Run(t.Context(), plan, split.Whole(plan), Options{}, nil)
	if err == nil || s.Problem != rv.ProblemPolicy || !strings.Contains(s.Message, "rule: tokens") || p.requests.Load() != 0 {
		t.Errorf("%v, problem %s, message %q, %d requests", err, s.Problem, s.Message, p.requests.Load())
	}
}

// TestPolicyOfAnotherAuthority: a captured location with another authority is a connection, too. The run ends, and its counts add up.
func TestPolicyOfAnotherAuthority(t *testing.T) {
	p := newPeer(t, 0)
	_, port, err := net.SplitHostPort(p.address)
	if err != nil {
		t.Fatal(err)
	}
	plan := lifeCycle(p.address, rv.Rate{Name: "r", Count: 1000, Period: time.Second, Duration: time.Minute})
	p.mu.Lock()
	p.elsewhere = "http://localhost:" + port
	p.mu.Unlock()
	plan.Targets[0].FollowAuthority = true
	plan.Policy = &rv.AddressPolicy{Denied: []rv.AddressRule{{Name: "elsewhere", Hosts: []string{"localhost"}}}}
	s, err := Run(t.Context(), plan, split.Whole(plan), Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	law(t, s)
	if s.Problem != rv.ProblemPolicy || !strings.Contains(s.Message, "rule: elsewhere") {
		t.Errorf("problem %s, message %q", s.Problem, s.Message)
	}
}
