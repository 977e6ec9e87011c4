package process

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/internal/plan"
	"github.com/h2surge/h2surge/runner"
	"github.com/h2surge/h2surge/test/certtest"
)

// pod is a runner process of a test, and the operator's way to it.
type pod struct {
	t                *testing.T
	dir              string
	operator         *http.Client
	log              lines
	control, metrics string // addresses
	terminate        context.CancelFunc
	ended            chan error
}

// lines is a log that can be read while it is written. Each line sent to fresh is a JSON record.
type lines struct {
	mu    sync.Mutex
	all   bytes.Buffer
	fresh chan map[string]any
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.Write(p)
	var record map[string]any
	if err := json.Unmarshal(p, &record); err != nil {
		return 0, err
	}
	l.fresh <- record
	return len(p), nil
}

func (l *lines) await(t *testing.T, message string) map[string]any {
	t.Helper()
	for {
		select {
		case record := <-l.fresh:
			if record["msg"] == message {
				return record
			}
		case <-time.After(30 * time.Second):
			l.mu.Lock()
			defer l.mu.Unlock()
			t.Fatalf("no %q in the log:\n%s", message, l.all.String())
		}
	}
}

func smallPlan() *rv.Plan {
	return &rv.Plan{
		APIVersion: rv.APIVersion, Kind: rv.PlanKind, Name: "default/test", Shards: 2,
		Targets: []rv.Target{{
			Name: "t", Protocol: rv.ProtocolH2C, Connections: 2, MaxConcurrentStreams: 10, ConnectTimeout: time.Second,
			Endpoints: []rv.Endpoint{{Scheme: "http", Authority: "127.0.0.1:1", Address: "127.0.0.1:1"}},
		}},
		Chains: []rv.Chain{{Name: "c", Weight: 1, Steps: []rv.Step{{
			Name: "s", Method: "GET", Path: rv.Text{{Literal: "/"}}, Timeout: time.Second,
		}}}},
		Rates: []rv.Rate{{Name: "r", Count: 1, Period: time.Second, Duration: time.Second}},
		Drain: time.Second,
	}
}

// startPod runs a pod on a plan file, with the real engine when e is nil. The plan must have the digest, if there is one.
func startPod(t *testing.T, e Engine, planFile []byte, digest ...string) *pod {
	t.Helper()
	p := newPod(t)
	c := Config{ControlAddress: "127.0.0.1:0", MetricsAddress: "127.0.0.1:0", AckGrace: time.Minute, Index: 1, Pod: "pod-1", Node: "node-1"}
	c.PlanDigest = strings.Join(digest, "")
	var parts Parts
	if e != nil {
		parts.NewEngine = func(*rv.Plan, runner.Options) (Engine, error) { return e, nil }
	}
	p.start(c, parts, planFile)
	return p
}

func newPod(t *testing.T) *pod {
	p := &pod{t: t, dir: t.TempDir(), ended: make(chan error, 1)}
	p.log.fresh = make(chan map[string]any, 100)
	p.certificates()
	return p
}

// start starts the process, and waits for its addresses.
func (p *pod) start(c Config, parts Parts, planFile []byte) {
	p.t.Helper()
	c.Plan, c.TLSDir = filepath.Join(p.dir, "plan"), p.dir
	if err := os.WriteFile(c.Plan, planFile, 0o600); err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(p.t.Context())
	p.terminate = cancel
	parts.Log = slog.New(slog.NewJSONHandler(&p.log, nil))
	go func() { p.ended <- Run(ctx, c, parts) }()
	waits := p.log.await(p.t, "Runner waits for its share")
	p.control, p.metrics = waits["control"].(string), waits["metrics"].(string)
}

// certificates makes the install CA, the runner's files and the operator's client.
func (p *pod) certificates() {
	ca := certtest.New(p.t, x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil)
	of := func(name string, usage x509.ExtKeyUsage) *certtest.Pair {
		return certtest.New(p.t, x509.Certificate{DNSNames: []string{name}, ExtKeyUsage: []x509.ExtKeyUsage{usage}}, ca)
	}
	of(rv.RunnerName, x509.ExtKeyUsageServerAuth).Write(p.t, p.dir)
	if err := os.WriteFile(filepath.Join(p.dir, rv.TLSCAFile), []byte(ca.PEM()), 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.operator = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: ca.Pool(), ServerName: rv.RunnerName, Certificates: []tls.Certificate{of(rv.OperatorName, x509.ExtKeyUsageClientAuth).TLS()},
	}}}
	p.t.Cleanup(p.operator.CloseIdleConnections)
}

// put sends a message and returns the status.
func (p *pod) put(path string, message any) int {
	p.t.Helper()
	b, err := json.Marshal(message)
	if err != nil {
		p.t.Fatal(err)
	}
	r, err := http.NewRequest(http.MethodPut, "https://"+p.control+path, bytes.NewReader(b))
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := p.operator.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

func (p *pod) snapshot() *rv.Snapshot {
	p.t.Helper()
	status, body := p.get(p.operator, "https://"+p.control+rv.PathSnapshot)
	s := &rv.Snapshot{}
	if err := json.Unmarshal([]byte(body), s); err != nil || status != http.StatusOK {
		p.t.Fatalf("status %d, %v", status, err)
	}
	return s
}

func (p *pod) get(c *http.Client, url string) (int, string) {
	p.t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func encoded(t *testing.T) []byte { return encode(t, smallPlan()) }

func encode(t *testing.T, p *rv.Plan) []byte {
	t.Helper()
	canonical, _, err := plan.Canonical(p)
	if err != nil {
		t.Fatal(err)
	}
	gz, err := plan.Gzip(canonical)
	if err != nil {
		t.Fatal(err)
	}
	return gz
}

func TestRun(t *testing.T) {
	e := newFakeEngine()
	p := startPod(t, e, encoded(t))
	shares, err := split.Split(smallPlan(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if s := p.snapshot(); s.Shard != 1 || s.Generator.Pod != "pod-1" || s.Generator.Node != "node-1" {
		t.Errorf("the runner says it is shard %d, pod %q, node %q", s.Shard, s.Generator.Pod, s.Generator.Node)
	}
	if status, _ := p.get(http.DefaultClient, "http://"+p.metrics+"/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("ready without a share: %d", status)
	}
	if got := p.put(rv.PathUpdate, rv.Update{Revision: 1, Share: shares[0]}); got != http.StatusBadRequest {
		t.Errorf("the share of shard 0: status %d, want 400", got)
	}
	if got := p.put(rv.PathUpdate, rv.Update{Revision: 1, Share: shares[1]}); got != http.StatusNoContent {
		t.Fatalf("update: status %d", got)
	}
	for path, want := range map[string]string{"/readyz": "ok\n", "/healthz": "ok\n", "/metrics": "h2surge_runner_"} {
		if status, body := p.get(http.DefaultClient, "http://"+p.metrics+path); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %q", path, status, body)
		}
	}
	if got := p.put(rv.PathStart, rv.Start{At: 7}); got != http.StatusNoContent {
		t.Fatalf("start: status %d", got)
	}
	e.finish()
	if got := p.put(rv.PathAck, rv.Ack{Sequence: p.snapshot().Sequence}); got != http.StatusNoContent {
		t.Fatalf("ack: status %d", got)
	}
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
}

func TestTerminated(t *testing.T) {
	e := newFakeEngine()
	p := startPod(t, e, encoded(t))
	if got := p.put(rv.PathStart, rv.Start{At: 7}); got != http.StatusNoContent {
		t.Fatalf("start: status %d", got)
	}
	p.terminate()
	p.log.await(t, "Run ended")
	if got := p.put(rv.PathAck, rv.Ack{Sequence: p.snapshot().Sequence}); got != http.StatusNoContent {
		t.Fatalf("ack: status %d", got)
	}
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
	if len(e.stops) != 1 || e.stops[0].Drain {
		t.Errorf("stops: %v, want one without drain", e.stops)
	}
}

func TestPlanIsRejected(t *testing.T) {
	for name, tc := range map[string]struct {
		file   []byte
		digest string
		want   string
	}{
		"not a plan":     {[]byte("{}"), "", "plan"},
		"unknown field":  {[]byte(`{"surprise":1}`), "", "surprise"},
		"cut gzip":       {encoded(t)[:40], "", "decompressing"},
		"nothing at all": {nil, "", "EOF"},
		"another plan":   {encoded(t), strings.Repeat("ab", 32), "not the plan that the operator stored"},
		"another file":   {[]byte("{}"), strings.Repeat("ab", 32), "decompressing"},
	} {
		t.Run(name, func(t *testing.T) {
			p := startPod(t, nil, tc.file, tc.digest)
			s := p.snapshot()
			if s.Problem != rv.ProblemPlan || s.State != rv.StateDone || s.Shard != 1 || !strings.Contains(s.Message, tc.want) {
				t.Errorf("problem %q, state %q, shard %d, message %q", s.Problem, s.State, s.Shard, s.Message)
			}
			if status, _ := p.get(http.DefaultClient, "http://"+p.metrics+"/readyz"); status != http.StatusServiceUnavailable {
				t.Errorf("/readyz: %d", status)
			}
			if got := p.put(rv.PathAck, rv.Ack{Sequence: s.Sequence}); got != http.StatusNoContent {
				t.Errorf("ack: status %d", got)
			}
			if err := <-p.ended; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNoCertificates(t *testing.T) {
	err := Run(t.Context(), Config{TLSDir: t.TempDir()}, Parts{Log: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}
