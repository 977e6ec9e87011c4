package cli

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/mock"
	"github.com/h2surge/h2surge/internal/mock/rules"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/test/certtest"
	"github.com/h2surge/h2surge/test/markdown"
)

// What the tests below lower in a page's LoadTest, as docs/how-to/README.md says.
const (
	docsRate     = 200
	docsRequests = 200
	docsDuration = 200 * time.Millisecond
	// docsChains is for chains of several steps, whose last step comes late on a busy machine.
	docsChains = 1600 * time.Millisecond
	docsLimit  = "1m"
)

// TestHowTo runs each LoadTest that a page marks with "run", in less time and with less load, and compares what the report says with
// what the server has counted.
func TestHowTo(t *testing.T) {
	waits(t)
	n := 0
	for _, p := range pagesOfDocs(t) {
		for _, b := range p.Blocks {
			var run func(*testing.T, markdown.Block)
			switch {
			case !b.Manifest():
				continue
			case b.Marked("run"):
				run = runDocs
			case b.Marked("run=http1"):
				run = runDocsHTTP1
			case b.Marked("run=http3"):
				run = runDocsHTTP3
			case b.Marked("run=grpc"):
				run = runDocsGRPC
			case b.Marked("run=ausf"):
				run = runDocsAUSF
			case b.Marked("run=tls"), b.Marked("run=tls-files"):
				run = runDocsTLS
			case b.Marked("run=callbacks"):
				run = func(t *testing.T, b markdown.Block) { runDocsCallbacks(t, b, rulesOf(t, p)) }
			default:
				if path.Dir(p.File) == "docs/how-to" {
					t.Errorf("%s:%d: a how-to page has a LoadTest that no test runs", b.File, b.Line)
				}
				continue
			}
			n++
			t.Run(strings.TrimSuffix(path.Base(p.File), ".md"), func(t *testing.T) {
				waits(t)
				run(t, b)
			})
		}
	}
	if n < 10 {
		t.Errorf("the pages have %d LoadTests that run", n)
	}
}

// runDocs runs it against the sample target.
func runDocs(t *testing.T, b markdown.Block) {
	peer := serve(t, mock.Options{})
	r := runLess(t, b, nil, "", "--target-url", "http://"+peer.Addr().String())
	if got, want := peer.Stats().Requests, uint64(r.WarmUp.Sent+r.Requests.Sent); got != want {
		t.Errorf("the target counted %d requests, the report has %d", got, want)
	}
}

// runDocsHTTP1 runs it against a server that speaks HTTP/1.1 only.
func runDocsHTTP1(t *testing.T, b markdown.Block) {
	peer := newWeb(t, nil)
	r := runLess(t, b, nil, "", "--target-url", peer.url)
	if got, want := peer.take().requests["HTTP/1.1"], int(r.WarmUp.Sent+r.Requests.Sent); got != want {
		t.Errorf("the server counted %d requests over HTTP/1.1, the report has %d", got, want)
	}
}

// runDocsAUSF runs it against the AUSF of the samples, which accepts only the right RES* and AUTS. The end of the run leaves out the remaining steps
// of a few instances.
func runDocsAUSF(t *testing.T, b markdown.Block) {
	set, err := rules.LoadFile("../../config/samples/targets/ausf.yaml")
	if err != nil {
		t.Fatal(err)
	}
	peer := serve(t, mock.Options{Rules: set})
	r := runLess(t, b, nil, "", "--target-url", "http://"+peer.Addr().String())
	counts := map[string]uint64{}
	for _, rule := range peer.Stats().Rules {
		counts[rule.Name] = rule.Matches
	}
	accepted := counts["authenticate"] + counts["stale"] + counts["resynchronized"] + counts["confirm"] + counts["remove"]
	if want := uint64(r.WarmUp.Sent + r.Requests.Sent); accepted != want || counts["confirm"] == 0 || counts["resynchronized"] == 0 {
		t.Errorf("%d of %d requests were accepted: %v", accepted, want, counts)
	}
}

const tlsObjects = `
---
apiVersion: v1
kind: ConfigMap
metadata: {name: core-ca}
data: {ca.crt: %q}
---
apiVersion: v1
kind: Secret
metadata: {name: load-client}
type: kubernetes.io/tls
stringData: {tls.crt: %q, tls.key: %q}
---
apiVersion: v1
kind: Secret
metadata: {name: token-client}
stringData: {secret: hidden}
`

// runDocsTLS runs it against a server that wants a client certificate and a token. With run=tls, its objects are the ConfigMap core-ca and the
// Secrets load-client and token-client. With run=tls-files, it names ca.pem, client.pem and client-key.pem, and has a Secret with replace-me.
func runDocsTLS(t *testing.T, b markdown.Block) {
	own := certtest.Self(t, "load-test")
	cert, key := own.PEM(), own.KeyPEM()
	var granted, served, refused atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("POST /oauth2/token", func(w http.ResponseWriter, r *http.Request) {
		if id, secret, _ := r.BasicAuth(); id != "load-test" || secret != "hidden" || r.FormValue("scope") != "read" {
			http.Error(w, "{}", http.StatusUnauthorized)
			return
		}
		granted.Add(1)
		w.Header().Set("content-type", "application/json")
		fmt.Fprint(w, `{"access_token":"abc","token_type":"Bearer","expires_in":3600}`)
	})
	tokens := httptest.NewTLSServer(mux)
	t.Cleanup(tokens.Close)
	api := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("authorization") != "Bearer abc" || r.TLS.PeerCertificates[0].Subject.CommonName != "load-test" {
			refused.Add(1)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		served.Add(1)
	}))
	api.EnableHTTP2, api.TLS = true, &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: own.Pool()}
	api.StartTLS()
	t.Cleanup(api.Close)
	ca, objects := certtest.PEM(api.Certificate()), ""
	here := []string{"https://login.example.svc:8443", tokens.URL, "https://api.example.svc:8443", api.URL}
	if b.Marked("run=tls") {
		objects = fmt.Sprintf(tlsObjects, ca, cert, key)
	} else {
		here = append(here, "ca.pem", file(t, "ca.pem", ca), "client.pem", file(t, "client.pem", cert), "client-key.pem", file(t, "client-key.pem", key), "replace-me", "hidden")
	}
	r := runLess(t, b, strings.NewReplacer(here...), objects)
	if n := r.WarmUp.Sent + r.Requests.Sent; granted.Load() == 0 || served.Load() != n || refused.Load() != 0 {
		t.Errorf("%d tokens granted, %d requests served, %d refused; the report has %d", granted.Load(), served.Load(), refused.Load(), n)
	}
}

// runLess runs a page's LoadTest with less load, and more objects, and checks that all requests succeeded.
func runLess(t *testing.T, b markdown.Block, change *strings.Replacer, objects string, args ...string) *rv.Report {
	t.Helper()
	text := b.Text
	if change != nil {
		text = change.Replace(text)
	}
	var docs []string
	for doc := range strings.SplitSeq(text, "\n---\n") {
		docs = append(docs, lessLoad(t, doc))
	}
	name := file(t, "docs.yaml", strings.Join(docs, "\n---\n")+objects)
	var out, errors bytes.Buffer
	code := execute(t.Context(), append([]string{"h2surge", "run", "-f", name, "-o", "json"}, args...), strings.NewReader(""), &out, &errors, parts())
	r := &rv.Report{}
	if err := json.Unmarshal(out.Bytes(), r); err != nil {
		t.Fatalf("%s:%d: exit code %d, %v\n%s", b.File, b.Line, code, err, errors.String())
	}
	if err := build.Check(r); err != nil {
		t.Error(err)
	}
	if code != 0 && code != 3 { // 3: this machine was busy
		t.Errorf("%s:%d: exit code %d: %+v\n%s", b.File, b.Line, code, r.Verdict, errors.String())
	}
	if n := r.Requests; n.Sent == 0 || n.Succeeded != n.Sent || n.Dropped != 0 || r.Chains.Aborted != 0 {
		t.Errorf("%s:%d: %+v, %+v", b.File, b.Line, n, r.Chains)
	}
	return r
}

// lessLoad lowers rates and durations of a LoadTest and raises its limits on times; another object stays as it is.
func lessLoad(t *testing.T, doc string) string {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
		t.Fatal(err)
	}
	if o["kind"] != "LoadTest" {
		return doc
	}
	spec := o["spec"].(map[string]any)
	longest := docsDuration
	rates := asList(spec["rates"])
	for _, template := range asList(spec["templates"]) {
		waitLonger(template)
	}
	for _, each := range asList(spec["chains"]) {
		chain := each.(map[string]any)
		rates = append(rates, asList(chain["rates"])...)
		steps := asList(chain["steps"])
		if len(steps) > 1 {
			longest = docsChains
		}
		for _, each := range steps {
			step := each.(map[string]any)
			waitLonger(step["await"])
			waitLonger(step["request"])
		}
		if _, later := chain["startAfter"]; later {
			chain["startAfter"] = v1alpha1.Duration{Duration: docsDuration / 4}.String()
		}
	}
	for _, each := range rates {
		rate := each.(map[string]any)
		if text, bounded := rate["duration"].(string); bounded {
			d, err := time.ParseDuration(text)
			if err != nil {
				t.Fatal(err)
			}
			if rate["warmUp"] == true {
				d = min(d, docsDuration)
			}
			rate["duration"] = v1alpha1.Duration{Duration: min(d, longest)}.String()
		}
		for field, most := range map[string]float64{"requestsPerSecond": docsRate, "chainsPerSecond": docsRate, "requests": docsRequests} {
			if n, asked := rate[field].(float64); asked {
				rate[field] = min(n, most)
			}
		}
	}
	if search, ok := spec["search"].(map[string]any); ok { // two probes
		search["start"], search["max"], search["probeDuration"], search["settleDuration"] = docsRate/4, docsRate/2, "1s", "100ms"
	}
	var thresholds []any
	for _, each := range asList(spec["thresholds"]) {
		threshold := each.(map[string]any)
		if _, isTime := threshold["percentile"]; isTime {
			threshold["max"] = docsLimit
		}
		if threshold["metric"] != "Rate" {
			thresholds = append(thresholds, threshold)
		}
	}
	spec["thresholds"] = thresholds
	out, err := yaml.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// waitLonger raises the timeout of a template, a request or an await, which may be nil.
func waitLonger(of any) {
	if fields, ok := of.(map[string]any); ok {
		fields["timeout"] = docsLimit
	}
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}
