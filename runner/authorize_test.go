package runner

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/test/certtest"
	"github.com/h2surge/h2surge/test/peer"
)

// nrf is a server that registers clients, grants tokens to those that are registered, and answers requests with a token that
// has not expired.
type nrf struct {
	address string
	// lifetime of tokens.
	lifetime time.Duration

	mu         sync.Mutex
	registered bool
	// forgets: the client is not registered any more after its first token.
	forgets bool
	tokens  map[string]time.Time // when they expire
	// refused counts requests for tokens by clients that are not registered.
	refused int
	// bad counts requests without a valid token, and without those of them that had none.
	// asserted counts requests with an assertion of three parts.
	good, bad, without, asserted, setup int
}

func newNRF(t *testing.T, lifetime time.Duration) *nrf {
	t.Helper()
	n := &nrf{lifetime: lifetime, tokens: map[string]time.Time{}}
	n.address = peer.Serve(t, true, n)
	return n
}

func (n *nrf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if strings.Count(r.Header.Get("3gpp-Sbi-Client-Credentials"), ".") == 2 {
		n.asserted++
	}
	switch {
	case r.URL.Path == "/register":
		n.setup++
		n.registered = true
	case r.URL.Path == "/token" && !n.registered:
		n.refused++
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprint(w, `{"error":"invalid_client","error_description":"who are you?"}`)
	case r.URL.Path == "/token":
		token = fmt.Sprintf("token%d", len(n.tokens))
		n.registered = !n.forgets
		n.tokens[token] = time.Now().Add(n.lifetime)
		_, _ = fmt.Fprintf(w, `{"access_token":"%s","token_type":"Bearer","expires_in":%d}`, token, n.lifetime/time.Second)
	case time.Now().Before(n.tokens[token]):
		n.good++
	default:
		n.bad++
		if token == "" {
			n.without++
		}
		w.WriteHeader(http.StatusUnauthorized)
	}
}

// plan sends requests with a token, after a setup chain that registers the client without one if setup is true.
func (n *nrf) plan(setup bool, rates ...rv.Rate) *rv.Plan {
	endpoints := []rv.Endpoint{{Scheme: "http", Authority: n.address, Address: n.address}}
	target := func(name string, auth *rv.Auth) rv.Target {
		return rv.Target{Name: name, Protocol: rv.ProtocolH2C, Connections: 2, MaxConcurrentStreams: 10, ConnectTimeout: 4 * time.Second, Endpoints: endpoints, Auth: auth}
	}
	step := func(target int, method, path string) []rv.Step {
		return []rv.Step{{Name: "step", Target: target, Method: method, Path: rv.Text{{Literal: path}}, Timeout: time.Minute, Expect: rv.Expect{Status: []rv.StatusRange{{From: 200, To: 200}}}}}
	}
	p := &rv.Plan{
		Name:    "default/tokens",
		Targets: []rv.Target{target("nrf", nil), target("udm", &rv.Auth{OAuth2: &rv.OAuth2{TokenURL: "http://" + n.address + "/token", HTTP2: true}})},
		Chains:  []rv.Chain{{Name: "read", Target: 1, Weight: 1, Steps: step(1, "GET", "/")}},
		Rates:   rates, Drain: time.Minute, Shards: 1,
	}
	if setup {
		p.Chains = append(p.Chains, rv.Chain{Name: "register", Phase: rv.PhaseSetup, Steps: step(0, "PUT", "/register")})
	}
	return p
}

// TestTokenAfterSetup: the token endpoint knows the client only after setup has registered it.
func TestTokenAfterSetup(t *testing.T) {
	n := newNRF(t, time.Hour)
	plan := n.plan(true, rv.Rate{Name: "r", Count: 1000, Period: time.Second, Requests: 30})
	s, err := Run(t.Context(), plan, split.Whole(plan), Options{Workers: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	law(t, s)
	if s.Counters.Succeeded != 30 || n.good != 30 || n.refused != 0 || n.setup != 1 || len(n.tokens) != 1 {
		t.Errorf("%d succeeded, %d good, %d refused, %d in setup, %d tokens", s.Counters.Succeeded, n.good, n.refused, n.setup, len(n.tokens))
	}
}

// TestTokenOfAnotherShard: a shard that does not run setup tries until the setup of another shard has registered the
// client. Its snapshot shows why it waits.
func TestTokenOfAnotherShard(t *testing.T) {
	t.Parallel()
	n := newNRF(t, time.Hour)
	plan := n.plan(true, rv.Rate{Name: "r", Count: 1000, Period: time.Second, Requests: 30})
	share := split.Whole(plan)
	share.Once = false
	r, err := New(plan, Options{Alone: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // never fails
	if err := r.Update(rv.Update{Revision: 1, Share: share}); err != nil {
		t.Fatal(err)
	}
	const want = `: answered 400: "invalid_client": "who are you?"`
	var s *rv.Snapshot
	if !eventually(func() bool {
		s = r.Snapshot()
		return s.Problem == rv.ProblemAuthorization && strings.HasSuffix(s.Message, want)
	}) || s.State != rv.StateConnecting {
		t.Fatalf("%s, problem %s: %s", s.State, s.Problem, s.Message)
	}
	n.mu.Lock()
	n.registered = true
	n.mu.Unlock()
	if err := r.awaitReady(t.Context()); err != nil {
		t.Errorf("%v: %s", err, r.Snapshot().Message)
	}
}

// TestTokensExpire: each request is sent with a token that the target accepts, also when tokens expire during the test.
func TestTokensExpire(t *testing.T) {
	t.Parallel()
	n := newNRF(t, 4*time.Second)
	n.registered = true
	plan := n.plan(false, rv.Rate{Name: "r", Count: 500, Period: time.Second, Duration: 5 * time.Second})
	s, err := Run(t.Context(), plan, split.Whole(plan), Options{Workers: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	law(t, s)
	if a := s.Authorizations; len(a) != 1 || a[0].Target != "udm" || int(a[0].Tokens) != len(n.tokens) || a[0].Failures+a[0].SentWithout != 0 {
		t.Errorf("authorizations %+v of %d tokens", a, len(n.tokens))
	}
	if s.Counters.Sent != 2500 || s.Counters.Succeeded != 2500 || n.good != 2500 || n.bad != 0 || len(n.tokens) < 3 {
		t.Errorf("%d sent, %d succeeded, %d with a token, %d without a valid one, %d tokens", s.Counters.Sent, s.Counters.Succeeded, n.good, n.bad, len(n.tokens))
	}
}

// TestTokenEndpointFails: the token expires, and the endpoint refuses the next one. The snapshot has the number of requests
// without a token, which is that of the target, and the error of the endpoint.
func TestTokenEndpointFails(t *testing.T) {
	t.Parallel()
	n := newNRF(t, 2*time.Second)
	n.registered, n.forgets = true, true
	plan := n.plan(false, rv.Rate{Name: "r", Count: 500, Period: time.Second, Duration: time.Minute})
	const refused = `: answered 400: "invalid_client": "who are you?"`
	r := ready(t, plan, split.Whole(plan))
	if err := r.Start(rv.Start{At: rv.Clock()}); err != nil {
		t.Fatal(err)
	}
	why := ""
	eventually(func() bool {
		s := r.Snapshot()
		why = s.Message
		return strings.HasSuffix(why, refused) && s.Authorizations[0].SentWithout > 0
	})
	if err := r.Stop(rv.Stop{Reason: "the test has seen it", Drain: true}); err != nil {
		t.Fatal(err)
	}
	<-r.Done()
	s := r.Snapshot()
	law(t, s)
	a := s.Authorizations[0]
	if a.Failures == 0 || !strings.HasPrefix(a.LastFailure, "auth.oauth2.tokenURL http") || !strings.HasSuffix(a.LastFailure, refused) {
		t.Errorf("authorization %+v", a)
	}
	if a.SentWithout == 0 || a.SentWithout != int64(n.without) || s.Counters.Succeeded != int64(n.good) {
		t.Errorf("%d sent without, the target has seen %d; %d succeeded of %d", a.SentWithout, n.without, s.Counters.Succeeded, n.good)
	}
	if s.Problem != "" || !strings.HasPrefix(why, "requests are sent without authorization: target udm: auth.oauth2") || !strings.HasSuffix(why, refused) {
		t.Errorf("problem %q; while it ran: %s", s.Problem, why)
	}
}

// TestClientAssertion: each request has an assertion that the key signed. A wrong file keeps the runner from being ready.
func TestClientAssertion(t *testing.T) {
	n := newNRF(t, time.Hour)
	plan := n.plan(false, rv.Rate{Name: "r", Count: 1000, Period: time.Second, Requests: 30})
	dir := t.TempDir()
	plan.Targets[1].Auth, plan.Targets[1].ClientAssertion = nil, &rv.ClientAssertion{
		Subject: "nf", Audience: []string{"UDM"}, CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"),
	}
	want := "NotAuthorized: target udm: clientAssertion.certFile " + dir
	if got := problem(t, plan, want); !strings.HasPrefix(got, want) {
		t.Errorf("without files: %s", got)
	}
	certtest.Self(t, "nf").Write(t, dir)
	plan.Targets[1].ConnectTimeout, plan.Targets[0].ConnectTimeout = time.Minute, time.Minute
	s, err := Run(t.Context(), plan, split.Whole(plan), Options{Workers: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Counters.Sent != 30 || n.asserted != 30 || s.Authorizations[0] != (rv.Authorization{Target: "udm"}) {
		t.Errorf("%d sent, %d with an assertion, %+v", s.Counters.Sent, n.asserted, s.Authorizations)
	}
}
