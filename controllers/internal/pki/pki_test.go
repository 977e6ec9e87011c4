package pki

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

const (
	runA = types.UID("0a6f7a3e-0000-4000-8000-00000000000a")
	runB = types.UID("0a6f7a3e-0000-4000-8000-00000000000b")
)

// clock is a clock that tests set; pki never waits.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func newClock() *clock { return &clock{t: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func testAuthority(t *testing.T, c *clock) *Authority {
	t.Helper()
	root, err := newCA(c.now())
	if err != nil {
		t.Fatal(err)
	}
	return newAuthority(root, nil, c.now)
}

// runnerConfig is what a runner makes of its TLS directory, reduced to what crypto/tls checks
// and the check of the name that runners do.
func runnerConfig(t *testing.T, files map[string][]byte, c *clock) *tls.Config {
	t.Helper()
	pair, err := tls.X509KeyPair(files[runnerv1alpha1.TLSCertFile], files[runnerv1alpha1.TLSKeyFile])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(files[runnerv1alpha1.TLSCAFile]) {
		t.Fatal("no CA in the runner's files")
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, Time: c.now,
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
		VerifyConnection: func(s tls.ConnectionState) error {
			return s.PeerCertificates[0].VerifyHostname(runnerv1alpha1.OperatorName)
		},
	}
}

// handshake returns what either side sees. A byte goes each way because a TLS 1.3
// client learns of its refusal only when it reads.
func handshake(t *testing.T, server, clientConfig *tls.Config) error {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	errs := make(chan error, 2)
	run := func(c *tls.Conn, first bool) {
		err := c.Handshake()
		if err == nil && first {
			_, err = c.Write([]byte{1})
		} else if err == nil {
			_, err = c.Read(make([]byte, 1))
		}
		if err != nil {
			c.NetConn().Close()
		}
		errs <- err
	}
	go run(tls.Server(a, server), true)
	go run(tls.Client(b, clientConfig), false)
	return errors.Join(<-errs, <-errs)
}

func mustFiles(t *testing.T, a *Authority, uid types.UID) map[string][]byte {
	t.Helper()
	files, err := a.RunnerFiles(uid)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestHandshake(t *testing.T) {
	c := newClock()
	ours, foreign := testAuthority(t, c), testAuthority(t, c)
	files := mustFiles(t, ours, runA)

	// What somebody has who can read the Secret of another run.
	filesB := mustFiles(t, ours, runB)
	leafB, err := tls.X509KeyPair(filesB[runnerv1alpha1.TLSCertFile], filesB[runnerv1alpha1.TLSKeyFile])
	if err != nil {
		t.Fatal(err)
	}
	asRunner := ours.ClientConfig(runA).Clone()
	asRunner.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &leafB, nil }
	anonymous := ours.ClientConfig(runA).Clone()
	anonymous.GetClientCertificate = nil
	stranger := foreign.ClientConfig(runA).Clone()
	stranger.RootCAs = ours.ClientConfig(runA).RootCAs
	stranger.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return foreign.mint(foreign.current)
	}

	if same, other := ours.ClientConfig(runA), ours.ClientConfig(runB); same != ours.ClientConfig(runA) || same == other {
		t.Error("connections to the runners of a run do not share a configuration, or those of two runs do")
	}
	tests := map[string]struct {
		server map[string][]byte
		client *tls.Config
		want   string // part of the error; empty: no error
	}{
		"the operator":                       {files, ours.ClientConfig(runA), ""},
		"no certificate":                     {files, anonymous, "certificate"},
		"a certificate of another CA":        {files, stranger, "unknown authority"},
		"another runner's leaf as client":    {files, asRunner, "incompatible key usage"},
		"another run's runner as the server": {filesB, ours.ClientConfig(runA), "not " + RunName(runA)},
		"a server of another CA":             {mustFiles(t, foreign, runA), ours.ClientConfig(runA), "unknown authority"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := handshake(t, runnerConfig(t, tt.server, c), tt.client)
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want one that says %q", err, tt.want)
			}
		})
	}
}

func TestLeafIsOnlyAServer(t *testing.T) {
	c := newClock()
	a := testAuthority(t, c)
	files := mustFiles(t, a, runA)
	pair, err := tls.X509KeyPair(files[runnerv1alpha1.TLSCertFile], files[runnerv1alpha1.TLSKeyFile])
	if err != nil {
		t.Fatal(err)
	}
	leaf := pair.Leaf
	if !slices.Equal(leaf.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}) {
		t.Errorf("usages %v, want serverAuth alone", leaf.ExtKeyUsage)
	}
	if slices.Contains(leaf.DNSNames, runnerv1alpha1.OperatorName) {
		t.Error("a runner's leaf has the operator's name")
	}
	if leaf.IsCA {
		t.Error("a runner's leaf can sign")
	}
	for _, name := range []string{runnerv1alpha1.RunnerName, RunName(runA)} {
		if err := leaf.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
	if leaf.NotAfter.After(a.current.cert.NotAfter) {
		t.Error("the leaf outlives its CA")
	}
}

func TestCASignsOnlyBelowItsDomain(t *testing.T) {
	c := newClock()
	root, err := newCA(c.now())
	if err != nil {
		t.Fatal(err)
	}
	certPEM, keyPEM, err := root.issue(x509.ExtKeyUsageServerAuth, c.now(), c.now().Add(time.Hour), "bank.example")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(root.cert)
	_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "bank.example", CurrentTime: c.now()})
	if err == nil || !strings.Contains(err.Error(), "not permitted") {
		t.Errorf("error %v, want one about a name that is not permitted", err)
	}
}

func TestOperatorCertificateIsRenewed(t *testing.T) {
	c := newClock()
	a := testAuthority(t, c)
	first, err := a.mint(a.current)
	if err != nil {
		t.Fatal(err)
	}
	c.t = c.t.Add(operatorLifetime / 4)
	same, _ := a.mint(a.current)
	c.t = c.t.Add(operatorLifetime / 2)
	later, _ := a.mint(a.current)
	if same != first || later == first {
		t.Errorf("same after a quarter: %v, another after three quarters: %v; want both", same == first, later != first)
	}
}

func newStore(t *testing.T, c *clock, w client.Client) *Store {
	t.Helper()
	return NewStore(w, w, "surge", c.now)
}

func mustGet(t *testing.T, s *Store) *Authority {
	t.Helper()
	a, err := s.Get(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestStoreReplicasAgree(t *testing.T) {
	c, api := newClock(), fake.NewClientBuilder().Build()
	const replicas = 8
	var wg sync.WaitGroup
	got := make([]*Authority, replicas)
	for i := range replicas {
		wg.Go(func() {
			a, err := newStore(t, c, api).Get(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			got[i] = a
		})
	}
	wg.Wait()
	for i := range got {
		if got[i] == nil || !got[i].current.cert.Equal(got[0].current.cert) {
			t.Fatalf("replica %d has another CA", i)
		}
	}
}

func TestStoreRotates(t *testing.T) {
	c, api := newClock(), fake.NewClientBuilder().Build()
	store := newStore(t, c, api)
	get := func() *Authority { return mustGet(t, store) }
	old := get()
	c.t = c.t.Add(caLifetime - caRenewal + time.Hour)
	// A leaf of a run that began just now, by an operator that had not looked yet.
	running := runnerConfig(t, mustFiles(t, old, runA), c)
	renewed := get()
	if renewed == old || renewed.previous == nil {
		t.Fatal("near its end the CA was not renewed")
	}
	if err := handshake(t, running, renewed.ClientConfig(runA)); err != nil {
		t.Errorf("a runner from before the rotation refuses the operator: %v", err)
	}
	if err := handshake(t, runnerConfig(t, mustFiles(t, renewed, runB), c), renewed.ClientConfig(runB)); err != nil {
		t.Errorf("a runner from after the rotation refuses the operator: %v", err)
	}
	other, err := newStore(t, c, api).Get(context.Background())
	if err != nil || !other.current.cert.Equal(renewed.current.cert) || other.previous == nil {
		t.Errorf("another replica sees another authority (error %v)", err)
	}

	c.t = c.t.Add(caRenewal)
	if last := get(); last.previous != nil {
		t.Error("the first CA is past its end and still trusted")
	}
}

// TestLongestRun has a runner that starts at the worst moment, just before its CA is renewed, and runs the longest
// plan that the API allows: 256 stages of 30 days.
func TestLongestRun(t *testing.T) {
	c, api := newClock(), fake.NewClientBuilder().Build()
	store := newStore(t, c, api)
	get := func() *Authority { return mustGet(t, store) }
	get()
	c.t = c.t.Add(caLifetime - caRenewal - time.Hour)
	running := runnerConfig(t, mustFiles(t, get(), runA), c)
	const longest = 256 * 30 * 24 * time.Hour
	for _, elapsed := range []time.Duration{0, 24 * time.Hour, longest / 2, longest / 2} {
		c.t = c.t.Add(elapsed)
		if err := handshake(t, running, get().ClientConfig(runA)); err != nil {
			t.Fatalf("at %s: %v", c.t, err)
		}
	}
	if get().previous == nil {
		t.Error("the CA was not renewed in the meantime")
	}
}

func TestStoreOutlivesTheAPIServer(t *testing.T) {
	c, api := newClock(), fake.NewClientBuilder().Build()
	store := newStore(t, c, api)
	first := mustGet(t, store)
	away := errors.New("connection refused")
	store.reader = interceptor.NewClient(api, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return away
		},
	})
	c.t = c.t.Add(2 * reload)
	if got, err := store.Get(context.Background()); err != nil || got != first {
		t.Errorf("while the API server is away: %v, %v; want what was read before", got, err)
	}
	fresh := newStore(t, c, api)
	fresh.reader = store.reader
	if _, err := fresh.Get(context.Background()); !errors.Is(err, away) {
		t.Errorf("error %v, want %v when nothing was read before", err, away)
	}
}

// TestSecretIsDeleted: the CA stays the one that running tests trust.
func TestSecretIsDeleted(t *testing.T) {
	c, api := newClock(), fake.NewClientBuilder().Build()
	store := newStore(t, c, api)
	first := mustGet(t, store)
	secret := &corev1.Secret{}
	secret.Namespace, secret.Name = "surge", SecretName
	if err := api.Delete(context.Background(), secret); err != nil {
		t.Fatal(err)
	}
	c.t = c.t.Add(2 * reload)
	if got, err := store.Get(context.Background()); err != nil || !got.current.cert.Equal(first.current.cert) {
		t.Errorf("the operator has another CA (%v)", err)
	}
	other, err := newStore(t, c, api).Get(context.Background())
	if err != nil || !other.current.cert.Equal(first.current.cert) {
		t.Errorf("the Secret has another CA (%v)", err)
	}
}

func TestStoreRefusesGarbage(t *testing.T) {
	c, api := newClock(), fake.NewClientBuilder().Build()
	secret := &corev1.Secret{}
	secret.Namespace, secret.Name = "surge", SecretName
	secret.Data = map[string][]byte{keyCert: []byte("x"), keyKey: []byte("y")}
	if err := api.Create(context.Background(), secret); err != nil {
		t.Fatal(err)
	}
	if _, err := newStore(t, c, api).Get(context.Background()); err == nil {
		t.Error("a Secret that holds no CA was taken for one")
	}
}
