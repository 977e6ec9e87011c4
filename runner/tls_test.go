package runner

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
)

// newSecurePeer is the peer over TLS; the file holds its certificate.
func newSecurePeer(t *testing.T) (p *lifecycle, caFile string) {
	t.Helper()
	p = &lifecycle{alive: map[string]bool{}, bodies: map[string]int{}}
	s := httptest.NewUnstartedServer(p)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	p.address = s.Listener.Addr().String()
	caFile = filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(caFile, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return p, caFile
}

func securePlan(address string, tls rv.TLS, rates ...rv.Rate) *rv.Plan {
	plan := lifeCycle(address, rates...)
	plan.Targets[0].Protocol = rv.ProtocolH2
	plan.Targets[0].Endpoints[0].Scheme = "https"
	plan.Targets[0].ConnectTimeout = 10 * time.Second
	plan.Targets[0].TLS = &tls
	return plan
}

func TestRunOverTLS(t *testing.T) {
	p, ca := newSecurePeer(t)
	for _, tls := range []rv.TLS{
		{CAFile: ca, MinVersion: "1.2", MaxVersion: "1.3", ALPN: []string{"h2"}},
		{CAFile: ca, MinVersion: "1.2", MaxVersion: "1.2", ALPN: []string{"h2"}, CipherSuites: []string{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}, Curves: []string{"P-256"}},
		{InsecureSkipVerify: true, MinVersion: "1.3", MaxVersion: "1.3", ALPN: []string{"h2"}, SessionResumption: true},
		{CAFile: ca, ServerName: "example.com", MinVersion: "1.3", MaxVersion: "1.3", ALPN: []string{"h2"}},
	} {
		p.requests.Store(0)
		plan := securePlan(p.address, tls, rv.Rate{Name: "fast", ClosedLoop: true, Requests: 1500})
		s, err := Run(t.Context(), plan, split.Whole(plan), Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		law(t, s)
		if s.Counters.Succeeded != 1500 || p.requests.Load() != 1500 {
			t.Errorf("%+v: %+v, the peer counted %d", tls, s.Counters, p.requests.Load())
		}
	}
}

func TestTLSProblemsAreTold(t *testing.T) {
	p, ca := newSecurePeer(t)
	other := filepath.Join(t.TempDir(), "none.pem")
	for _, tt := range []struct {
		tls  rv.TLS
		want string
	}{
		{rv.TLS{MinVersion: "1.2", MaxVersion: "1.3", ALPN: []string{"h2"}}, "set tls.caFrom to the CA's certificate"},
		{rv.TLS{CAFile: ca, ServerName: "wrong.test", MinVersion: "1.2", MaxVersion: "1.3", ALPN: []string{"h2"}}, "set tls.serverName"},
		{rv.TLS{CAFile: ca, MinVersion: "1.2", MaxVersion: "1.3", ALPN: []string{"http/1.1"}}, `by ALPN: "", not h2 (RFC 9113 3.3)`},
		{rv.TLS{CAFile: other, MinVersion: "1.2", MaxVersion: "1.3"}, "targets[0].tls.caFile: open "},
		{rv.TLS{MinVersion: "1.3", MaxVersion: "1.2"}, "targets[0].tls.minVersion: 1.3 is above maxVersion 1.2"},
		{rv.TLS{MinVersion: "1.1", MaxVersion: "1.2"}, `targets[0].tls.minVersion: "1.1" is neither 1.2 nor 1.3`},
		{rv.TLS{MinVersion: "1.2", MaxVersion: "1.2", CipherSuites: []string{"x"}}, `targets[0].tls.cipherSuites: "x" is not known`},
		{rv.TLS{MinVersion: "1.2", MaxVersion: "1.3", CipherSuites: []string{"TLS_AES_128_GCM_SHA256"}}, "belongs to TLS 1.3, whose suites cannot be chosen"},
		{rv.TLS{MinVersion: "1.2", MaxVersion: "1.3", Curves: []string{"x"}}, `targets[0].tls.curves: "x" is not known`},
	} {
		plan := securePlan(p.address, tt.tls, rv.Rate{Name: "r", ClosedLoop: true, Requests: 1})
		if got := problem(t, plan, tt.want); !strings.Contains(got, tt.want) {
			t.Errorf("%+v: problem %q, want %q", tt.tls, got, tt.want)
		}
	}
}

// problem is why a runner cannot take a plan, or else the problem and the message that it reports
// while it connects: as soon as that has a text.
func problem(t *testing.T, plan *rv.Plan, text string) (got string) {
	t.Helper()
	r, err := New(plan, Options{})
	if err != nil {
		return err.Error()
	}
	defer r.Close() //nolint:errcheck // never fails
	if err := r.Update(rv.Update{Revision: 1, Share: split.Whole(plan)}); err != nil {
		return err.Error()
	}
	eventually(func() bool {
		s := r.Snapshot()
		got = fmt.Sprintf("%s: %s", s.Problem, s.Message)
		return strings.Contains(got, text)
	})
	return got
}
