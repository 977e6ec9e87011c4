//go:build conformance

package conformance

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
)

// producer is a network function behind a proxy. It counts requests by what they were.
type producer struct {
	name string
	// other is the name of the producer that requests of /left are redirected to.
	other string
	port  int
	mu    sync.Mutex
	seen  map[string]int64
}

func newProducer(t *testing.T, name, other string) *producer {
	t.Helper()
	p := &producer{name: name, other: other, seen: map[string]int64{}}
	s := httptest.NewUnstartedServer(p)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	p.port = s.Listener.Addr().(*net.TCPAddr).Port
	return p
}

// ServeHTTP creates resources with a binding, redirects /moved to another path and /left to the other producer, and counts a request as wrong if a header does not arrive as
// TS 29.500 5.2.3 has it.
func (p *producer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	what := r.Method + " " + strings.TrimRight(r.URL.Path, "0123456789")
	if problem := p.wrong(r); problem != "" {
		what = "wrong: " + problem
	}
	p.mu.Lock()
	p.seen[what]++
	p.mu.Unlock()
	switch {
	case r.Method == http.MethodPost:
		w.Header().Set("location", "/n/1")
		w.Header().Set("3gpp-sbi-binding", "bl=nf-set; nfset="+p.name+"; group=1")
		w.Header().Set("3gpp-sbi-lci", `Timestamp: "x"; Load-Metric: 10%`)
		w.WriteHeader(http.StatusCreated)
	case strings.HasPrefix(r.URL.Path, "/moved"):
		w.Header().Set("location", "/kept/1")
		w.WriteHeader(http.StatusTemporaryRedirect)
	case strings.HasPrefix(r.URL.Path, "/left"):
		w.Header().Set("location", apiRoot(p.other)+"/arrived/1")
		w.WriteHeader(http.StatusPermanentRedirect)
	default:
		w.WriteHeader(http.StatusOK)
	}
}

// apiRoot is the apiRoot of a producer, which only the proxy can connect to.
func apiRoot(name string) string { return "http://" + name + ".core:80" }

func (p *producer) wrong(r *http.Request) string {
	at, err := time.Parse("Mon, 02 Jan 2006 15:04:05.000 GMT", r.Header.Get("3gpp-sbi-sender-timestamp"))
	routing, wantRouting := r.Header.Get("3gpp-sbi-routing-binding"), "bl=nf-set; nfset="+p.name
	if strings.HasPrefix(r.URL.Path, "/arrived") {
		wantRouting = "bl=nf-set; nfset=" + p.other
	}
	switch {
	case strings.HasPrefix(r.URL.Path, "/arrived") && r.Header.Get("3gpp-sbi-target-apiroot") != apiRoot(p.name):
		return "target apiRoot " + r.Header.Get("3gpp-sbi-target-apiroot")
	case err != nil || time.Since(at) > time.Hour || time.Since(at) < -time.Minute:
		return "sender timestamp " + r.Header.Get("3gpp-sbi-sender-timestamp")
	case r.Header.Get("3gpp-sbi-max-rsp-time") != "3000":
		return "max rsp time " + r.Header.Get("3gpp-sbi-max-rsp-time")
	case !strings.HasPrefix(r.Header.Get("3gpp-sbi-correlation-info"), "imsi-0010100000000"):
		return "correlation info " + r.Header.Get("3gpp-sbi-correlation-info")
	case r.Method == http.MethodPost && routing != "" || r.Method != http.MethodPost && routing != wantRouting:
		return "routing binding " + routing
	}
	return ""
}

// scp is haproxy as a service communication proxy: it forwards by 3gpp-Sbi-Target-apiRoot (model C), or by a discovery
// parameter (model D), and it knows no other server.
func scp(a, b *producer) *realServer {
	return &realServer{"haproxy", "haproxy", func(s *site) []door { return []door{{rv.ProtocolH2C, false, s.ports[0]}} }, func(t *testing.T, s *site) []string {
		return []string{"-db", "-f", write(t, s, "haproxy.cfg", fmt.Sprintf(`defaults
  mode http
  timeout client 10s
  timeout server 10s
  timeout connect 1s
frontend scp
  bind 127.0.0.1:%d proto h2
  use_backend a if { req.hdr(3gpp-sbi-target-apiroot) -m str http://a.core:80 }
  use_backend b if { req.hdr(3gpp-sbi-target-apiroot) -m str http://b.core:80 }
  use_backend b if { req.hdr(3gpp-sbi-discovery-target-nf-type) -m str UDM }
backend a
  server a 127.0.0.1:%d proto h2
backend b
  server b 127.0.0.1:%d proto h2
`, s.ports[0], a.port, b.port))}
	}}
}

// TestSCP: a consumer sends through a real proxy that routes by the headers of TS 29.500, and every request arrives at the
// producer that they name, also after a redirect to the other producer.
func TestSCP(t *testing.T) {
	a, b := newProducer(t, "a", "b"), newProducer(t, "b", "a")
	s := newSite(t, time.Now().Add(time.Hour))
	scp(a, b).start(t, s)
	manifest, err := compile.Load(strings.NewReader(fmt.Sprintf(`
apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: scp}
spec:
  targets:
    - name: direct
      url: http://127.0.0.1:%[1]d
      sbi: {correlationInfo: "imsi-00101${ue}", targetAPIRoot: "http://a.core:80"}
    - name: discovered
      url: http://127.0.0.1:%[1]d
      sbi: {correlationInfo: "imsi-00101${ue}", discovery: [{name: target-nf-type, value: UDM}, {name: service-names, value: nudm-sdm}]}
  variables: [{name: ue, range: {start: 0, end: 100, width: 10}}]
  templates:
    - {name: create, method: POST, path: /n, timeout: 3s, body: "{}", capture: [{name: resource, header: location}]}
    - {name: read, path: "${resource}", timeout: 3s}
    - {name: moved, path: "/moved/${ue}", timeout: 3s, maxRedirects: 1, expect: {status: [200]}}
    - {name: left, path: "/left/${ue}", timeout: 3s, maxRedirects: 1, expect: {status: [200]}}
  chains:
    - {name: model-c, target: direct, steps: [{template: create}, {template: read}, {template: moved}, {template: left}]}
    - {name: model-d, target: discovered, steps: [{template: create}, {template: read}, {template: moved}, {template: left}]}
  rates: [{name: all, chainsPerSecond: 200, duration: 1s}]
  runner: {shards: 1}
`, s.ports[0])))
	if err != nil {
		t.Fatal(err)
	}
	plan, _, errs := compile.Compile("default/scp", &manifest.LoadTest.Spec)
	if len(errs) > 0 {
		t.Fatal(compile.ErrorLines(errs))
	}
	got := mustExecute(t, plan)
	arrived := int64(0)
	for k, p := range []*producer{a, b} {
		created, moved, left := &got.Steps[4*k], &got.Steps[4*k+2], &got.Steps[4*k+3]
		kept, arrivals := p.seen["GET /kept/"], got.Steps[4*(1-k)+3].Redirects
		// The last instances may end with the load, before their later steps.
		want := map[string]int64{
			"POST /n": created.Sent, "GET /n/": got.Steps[4*k+1].Sent, "GET /moved/": moved.Sent - moved.Redirects, "GET /kept/": moved.Redirects,
			"GET /left/": left.Sent - left.Redirects, "GET /arrived/": arrivals,
		}
		if diff := cmp.Diff(want, p.seen); diff != "" {
			t.Errorf("requests of producer %s (-want +got):\n%s", p.name, diff)
		}
		if created.Sent != 100 || created.LoadControl != 100 || kept < 90 || arrivals < 90 {
			t.Errorf("producer %s: %d created, %d with load control, %d redirected, %d from the other; want 100, 100 and twice at least 90",
				p.name, created.Sent, created.LoadControl, kept, arrivals)
		}
		for _, n := range p.seen {
			arrived += n
		}
	}
	if c := got.Counters; c.Sent != arrived || c.Succeeded != arrived {
		t.Errorf("%+v, %d requests arrived", c, arrived)
	}
}
