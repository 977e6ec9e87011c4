package compile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/plan"
	"github.com/h2surge/h2surge/test/builder"
	"github.com/h2surge/h2surge/test/golden"
)

type spec = v1alpha1.LoadTestSpec

// TestErrors has a row for each mistake that only the compiler finds. Those that the API server
// finds too are rows of builder.Rules and of the bounds test in test/integration.
// thresholds is a p99 of the response time of a part of the requests.
func thresholds(of v1alpha1.Threshold) []v1alpha1.Threshold {
	t := builder.P99("1s")
	t.Target, t.Chain, t.Step, t.Stage = of.Target, of.Chain, of.Step, of.Stage
	return []v1alpha1.Threshold{t}
}

func TestErrors(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(*spec)
		want []string
	}{
		{"undefined variable in a path", func(s *spec) { s.Templates[1].Path = "/a/${x}" },
			[]string{`spec.templates[1].path: variable "x" is not defined`}},
		{"undefined variable in a header", func(s *spec) {
			s.Templates[0].Headers = []v1alpha1.Header{{Name: "a", Value: new("b")}, {Name: "a", Value: new("${x}${y}")}}
		}, []string{`spec.templates[0].headers[1].value: variable "x" is not defined`, `spec.templates[0].headers[1].value: variable "y" is not defined`}},
		{"undefined variable in a body, reported once", func(s *spec) { s.Templates[0].Body = "${x} ${x}" },
			[]string{`spec.templates[0].body: variable "x" is not defined`}},
		{"capture before it is made", func(s *spec) { reorder(s, 1, 0, 2) },
			[]string{`spec.templates[1].path: capture "session" is read by step "update" of chain "session" before step "create" makes it`}},
		{"capture in the step that makes it", func(s *spec) { s.Templates[0].Body = "${session}" },
			[]string{`spec.templates[0].body: capture "session" is made by step "create" of chain "session" itself, from the response to this request`}},
		{"capture that another chain makes", func(s *spec) {
			s.Chains = append(s.Chains, v1alpha1.Chain{Name: "alone", Target: "target", Steps: []v1alpha1.Step{{Template: "update", Name: "first"}}})
		}, []string{`spec.templates[1].path: capture "session" is made by no step of chain "alone", where step "first" reads it`}},
		{"unknown template", func(s *spec) { s.Chains[0].Steps[1].Template = "patch" },
			[]string{`spec.chains[0].steps[1].template: there is no template "patch"`}},
		{"no template", func(s *spec) { s.Chains[0].Steps[1].Template = "" },
			[]string{`spec.chains[0].steps[1]: exactly one of request, template, parallel and await is needed`}},
		{"unknown target", func(s *spec) { s.Chains[0].Target = "elsewhere" },
			[]string{`spec.chains[0].target: there is no target "elsewhere"`}},
		{"two targets of one name", func(s *spec) { s.Targets = append(s.Targets, s.Targets[0]) },
			[]string{`spec.targets[1].name: "target" is the name of entry 0 too`}},
		{"two variables of one name", func(s *spec) { s.Variables = append(s.Variables, s.Variables[0]) },
			[]string{`spec.variables[1].name: "ue" is the name of entry 0 too`}},
		{"two templates of one name", func(s *spec) { s.Templates = append(s.Templates, v1alpha1.Template{Name: "delete"}) },
			[]string{`spec.templates[3].name: "delete" is the name of entry 2 too`}},
		{"two chains of one name", func(s *spec) { s.Chains = append(s.Chains, s.Chains[0]) },
			[]string{`spec.chains[1].name: "session" is the name of entry 0 too`}},
		{"two stages of one name", func(s *spec) { s.Rates = append(s.Rates, s.Rates[0]) },
			[]string{`spec.rates[1].name: "steady" is the name of entry 0 too`}},
		{"two thresholds of one name", func(s *spec) { s.Thresholds = []v1alpha1.Threshold{builder.P99("1s"), builder.P99("2s")} },
			[]string{`spec.thresholds[1].name: "p99" is the name of entry 0 too`}},
		{"a threshold on a stage that does not exist", func(s *spec) { s.Thresholds = thresholds(v1alpha1.Threshold{Stage: "stedy"}) },
			[]string{`spec.thresholds[0].stage: there is no stage "stedy"; did you mean steady?`}},
		{"a threshold on a warm-up", func(s *spec) {
			s.Rates = append([]v1alpha1.Rate{s.Rates[0]}, s.Rates...)
			s.Rates[0].Name, s.Rates[0].WarmUp = "warm", true
			s.Thresholds = thresholds(v1alpha1.Threshold{Stage: "warm"})
		}, []string{"spec.thresholds[0].stage: stage warm is a warm-up, which has no figures"}},
		{"a threshold on a target that does not exist", func(s *spec) { s.Thresholds = thresholds(v1alpha1.Threshold{Target: "targets"}) },
			[]string{`spec.thresholds[0].target: there is no target "targets"; did you mean target?`}},
		{"a threshold on a chain that does not exist", func(s *spec) { s.Thresholds = thresholds(v1alpha1.Threshold{Chain: "sessions"}) },
			[]string{`spec.thresholds[0].chain: there is no chain "sessions"; did you mean session?`}},
		{"a threshold on a step that does not exist", func(s *spec) { s.Thresholds = thresholds(v1alpha1.Threshold{Step: "session/updat"}) },
			[]string{`spec.thresholds[0].step: there is no step "session/updat"; did you mean session/update?`}},
		{"a minimum of a count that ends the test", func(s *spec) {
			s.Thresholds = []v1alpha1.Threshold{{Name: "a", Metric: v1alpha1.MetricSucceeded, Min: ptr.To(intstr.FromInt32(5)), AbortOnFail: true}}
		}, []string{"spec.thresholds[0].abortOnFail: abortOnFail is not allowed with a min of a count over the run or a stage, because the count is known at the end only; set window"}},
		{"a template twice in a chain", func(s *spec) { s.Chains[0].Steps = append(s.Chains[0].Steps, v1alpha1.Step{Template: "update"}) },
			[]string{`spec.chains[0].steps[3].name: "update" is the name of step 1 too; give one of them another name`}},
		{"two captures of one name", func(s *spec) {
			s.Templates[0].Capture = append(s.Templates[0].Capture, v1alpha1.Capture{Name: "session", ValueSource: v1alpha1.ValueSource{Header: "etag"}})
		}, []string{`spec.templates[0].capture[1].name: "session" is the name of entry 0 too`}},
		{"variable and capture of one name", func(s *spec) { s.Variables[0].Name = "session"; s.Templates[0].Body, s.Templates[1].Body = "", "" },
			[]string{`spec.templates[0].capture[0].name: "session" is the name of a variable too`}},
		{"a status twice", func(s *spec) { s.Templates[0].Expect.Status = statuses("201", "2xx", "201") },
			[]string{`spec.templates[0].expect.status[2]: "201" is the name of entry 0 too`}},
		{"more than 32 chains", func(s *spec) { s.Chains = manyChains(33) }, []string{`spec.chains: has 33 entries, at most 32 are possible`}},
		{"capture of a pseudo-header", func(s *spec) { s.Templates[0].Capture[0].Header = ":status" },
			[]string{"spec.templates[0].capture[0].header: must be a token: letters, digits and !#$%&'*+-.^_`|~ (RFC 9110 5.6.2)"}},

		{"method with a space", method("GET /"), []string{`spec.templates[0].method: must be a token such as GET (RFC 9110 9.1)`}},
		{"CONNECT", method("CONNECT"), []string{`spec.templates[0].method: CONNECT is not supported: it opens a tunnel instead of getting a response`}},
		{"path without a slash", path("sessions"), []string{`spec.templates[0].path: must begin with / or with a capture`}},
		{"path that begins with a number", path("${ue}/a"), []string{`spec.templates[0].path: must begin with / or with a capture`}},
		{"path with a space", path("/a b"), []string{`spec.templates[0].path: has a character that is not possible in a path (white space, control and non-ASCII characters and # must be percent-encoded)`}},
		{"path with a fragment", path("/a#b"), []string{`spec.templates[0].path: has a character that is not possible in a path (white space, control and non-ASCII characters and # must be percent-encoded)`}},
		{"path with an umlaut", path("/\u00fc"), []string{`spec.templates[0].path: has a character that is not possible in a path (white space, control and non-ASCII characters and # must be percent-encoded)`}},
		{"list values that a path cannot have", func(s *spec) {
			s.Variables[0] = builder.List("ue", "a", "b c")
			s.Templates[0].Path = "/${ue}"
		}, []string{`spec.templates[0].path: variable "ue": its value number 1 has a character that is not possible in a path (white space, control and non-ASCII characters and # must be percent-encoded)`}},
		{"* for GET", func(s *spec) {
			s.Templates[2] = v1alpha1.Template{Name: "delete", Request: v1alpha1.Request{Path: "*"}}
		},
			[]string{`spec.templates[2].path: * goes with the method OPTIONS only`}},
		{"* below a base path", func(s *spec) {
			s.Targets[0].URL += "/base"
			s.Templates[2] = v1alpha1.Template{Name: "delete", Request: v1alpha1.Request{Method: "OPTIONS", Path: "*"}}
		}, []string{`spec.templates[2].path: * is not possible on target "target", whose url has a path`}},
		{"a placeholder without an end", body("a${ue"), []string{`spec.templates[0].body: ${ without }; write $${ for a literal ${`}},
		{"a placeholder without a name", body("a${}"), []string{`spec.templates[0].body: ${} has no name; write $${} for a literal ${}`}},
		{"a placeholder with an expression", body("${ue+1}"), []string{`spec.templates[0].body: ${ must be followed by a name (letters, digits and _, not beginning with a digit, at most 50 characters); write $${ for a literal ${`}},

		{"header name with a space", header("a b", "c"), []string{"spec.templates[0].headers[0].name: must be a token: letters, digits and !#$%&'*+-.^_`|~ (RFC 9110 5.6.2)"}},
		{"header without a name", header("", "c"), []string{"spec.templates[0].headers[0].name: must not be empty"}},
		{"pseudo-header", header(":path", "/"), []string{"spec.templates[0].headers[0].name: is a pseudo-header; method, path and the target's url set those"}},
		{"connection", header("Connection", "close"), []string{"spec.templates[0].headers[0].name: is specific to a connection and is not possible in HTTP/2 (RFC 9113 8.2.2)"}},
		{"proxy-connection", header("proxy-connection", "close"), []string{"spec.templates[0].headers[0].name: is specific to a connection and is not possible in HTTP/2 (RFC 9113 8.2.2)"}},
		{"keep-alive", header("keep-alive", "1"), []string{"spec.templates[0].headers[0].name: is specific to a connection and is not possible in HTTP/2 (RFC 9113 8.2.2)"}},
		{"transfer-encoding", header("Transfer-Encoding", "chunked"), []string{"spec.templates[0].headers[0].name: is specific to a connection and is not possible in HTTP/2 (RFC 9113 8.2.2)"}},
		{"upgrade", header("upgrade", "h2c"), []string{"spec.templates[0].headers[0].name: is specific to a connection and is not possible in HTTP/2 (RFC 9113 8.2.2)"}},
		{"te", header("te", "gzip"), []string{"spec.templates[0].headers[0].name: may only have the value trailers (RFC 9113 8.2.2)"}},
		{"content-length", header("Content-Length", "3"), []string{"spec.templates[0].headers[0].name: is set from the body"}},
		{"host", header("Host", "a.example"), []string{"spec.templates[0].headers[0].name: is set from the target's url; to dial another address than the url's, use connectTo"}},
		{"CR in a value", header("a", "b\rc"), []string{"spec.templates[0].headers[0].value: has a character that is not possible in a header (no CR, LF, NUL or other control character)"}},
		{"LF in a value", header("a", "b\nx: y"), []string{"spec.templates[0].headers[0].value: has a character that is not possible in a header (no CR, LF, NUL or other control character)"}},
		{"NUL in a value", header("a", "b\x00"), []string{"spec.templates[0].headers[0].value: has a character that is not possible in a header (no CR, LF, NUL or other control character)"}},
		{"white space at the end of a value", header("a", "b "), []string{"spec.templates[0].headers[0].value: must not begin or end with white space (RFC 9113 8.2.1)"}},
		{"LF from a list into a value", func(s *spec) {
			s.Variables[0] = builder.List("ue", "a\nb")
			header("a", "${ue}")(s)
		}, []string{`spec.templates[0].headers[0].value: variable "ue": its value number 0 has a character that is not possible in a header (no CR, LF, NUL or other control character)`}},

		{"scheme", url("ftp://a"), []string{"spec.targets[0].url: must begin with http:// or https://"}},
		{"no scheme", url("a.example:80"), []string{"spec.targets[0].url: must begin with http:// or https://"}},
		{"no host", url("http:///a"), []string{"spec.targets[0].url: must have a host"}},
		{"opaque", url("http:a"), []string{"spec.targets[0].url: must have a host"}},
		{"password", url("http://me:secret@a"), []string{"spec.targets[0].url: must not have a user or password; send an authorization header instead"}},
		{"password that breaks the URL", url("http://me:se cret@a:x"), []string{"spec.targets[0].url: is not a URL of the form http://host:port/path"}},
		{"fragment", url("http://a/#b"), []string{"spec.targets[0].url: must not have a fragment (#)"}},
		{"query", url("http://a/?b"), []string{"spec.targets[0].url: must not have a query (?); it belongs to the path of a template"}},
		{"empty query", url("http://a/?"), []string{"spec.targets[0].url: must not have a query (?); it belongs to the path of a template"}},
		{"port of words", url("http://a:http"), []string{"spec.targets[0].url: is not a URL of the form http://host:port/path"}},
		{"port 0", url("http://a:0"), []string{"spec.targets[0].url: must have a port between 1 and 65535"}},
		{"port 65536", url("http://a:65536"), []string{"spec.targets[0].url: must have a port between 1 and 65535"}},
		{"empty port", url("http://a:"), []string{"spec.targets[0].url: must have a port between 1 and 65535"}},
		{"IPv6 without brackets", url("http://::1/"), []string{"spec.targets[0].url: is not a URL of the form http://host:port/path"}},
		{"IPv6 with a zone", url("http://[fe80::1%25eth0]/"), []string{"spec.targets[0].url: has a host that is neither a name nor an IP address"}},
		{"host of strange characters", url("http://a$b/"), []string{"spec.targets[0].url: has a host that is neither a name nor an IP address"}},
		{"schemes that differ", func(s *spec) { s.Targets[0].URL, s.Targets[0].URLs = "", []string{"http://a", "https://b"} },
			[]string{"spec.targets[0].urls[1]: all urls of a target must have the same scheme"}},
		{"h2c over https", func(s *spec) { s.Targets[0].URL, s.Targets[0].Protocol = "https://a", "h2c" },
			[]string{"spec.targets[0].protocol: h2c is HTTP/2 without TLS and needs an http url; h2 is the one over TLS"}},
		{"h2 over http", func(s *spec) { s.Targets[0].Protocol = "h2" },
			[]string{"spec.targets[0].protocol: h2 is HTTP/2 over TLS and needs an https url; h2c is the one without TLS"}},
		{"h3 over http", func(s *spec) { s.Targets[0].Protocol = "h3" },
			[]string{"spec.targets[0].protocol: h3 is HTTP/3 over QUIC, which always uses TLS: it needs an https url"}},
		{"h3 over an old TLS", h3(func(t *v1alpha1.Target) { t.TLS = &v1alpha1.TLS{MaxVersion: "1.2"} }),
			[]string{"spec.targets[0].tls.maxVersion: must be 1.3 with protocol h3: QUIC needs TLS 1.3 (RFC 9001 4.2)"}},
		{"h3 with suites of TLS 1.2", h3(func(t *v1alpha1.Target) {
			t.TLS = &v1alpha1.TLS{CipherSuites: []string{"TLS_RSA_WITH_AES_128_CBC_SHA"}}
		}),
			[]string{"spec.targets[0].tls.cipherSuites: is not allowed with protocol h3: TLS 1.3 has fixed cipher suites"}},
		{"h3 with HTTP/1.1", h3(func(t *v1alpha1.Target) { t.HTTP1 = &v1alpha1.HTTP1{Pipeline: 2} }),
			[]string{"spec.targets[0].http1: is not allowed with protocol h3"}},
		{"h3 with windows of HTTP/2", h3(func(t *v1alpha1.Target) { t.HTTP2 = &v1alpha1.HTTP2{StreamWindow: ptr.To[int32](1)} }),
			[]string{"spec.targets[0].http2: is of HTTP/2; allowed with protocol h3: pingInterval"}},
		{"h3 over a Unix socket", h3(func(t *v1alpha1.Target) { t.ConnectTo = "unix:/a" }),
			[]string{"spec.targets[0].connectTo: must not be a unix socket with protocol h3, which uses UDP"}},
		{"early data without sessions", h3(func(t *v1alpha1.Target) { t.TLS = &v1alpha1.TLS{EarlyData: v1alpha1.EarlyDataAll} }),
			[]string{"spec.targets[0].tls.earlyData: All needs sessionResumption: true"}},
		{"early data over TCP", secure(func(t *v1alpha1.TLS) { t.EarlyData, t.SessionResumption = v1alpha1.EarlyDataSafeMethods, true }),
			[]string{"spec.targets[0].tls.earlyData: SafeMethods needs protocol h3"}},
		{"Alt-Svc without TLS", func(s *spec) { s.Targets[0].FollowAltSvc = true },
			[]string{"spec.targets[0].followAltSvc: needs an https url: alternative services have a certificate of the target (RFC 7838 2.1)"}},
		{"Alt-Svc with h3", h3(func(t *v1alpha1.Target) { t.FollowAltSvc = true }), []string{"spec.targets[0].followAltSvc: needs protocol Auto or h2"}},
		{"Alt-Svc with an address", h3(func(t *v1alpha1.Target) { t.FollowAltSvc, t.Protocol, t.ConnectTo = true, "h2", "a:1" }),
			[]string{"spec.targets[0].followAltSvc: cannot be used with connectTo: Alt-Svc has the address"}},
		{"Alt-Svc on demand", h3(func(t *v1alpha1.Target) {
			t.FollowAltSvc, t.Protocol, t.Connecting = true, "Auto", &v1alpha1.Connecting{Open: v1alpha1.OpenOnDemand}
		}), []string{"spec.targets[0].followAltSvc: needs connecting.open AtStart: a runner asks for Alt-Svc as it opens connections before the load"}},
		{"Alt-Svc for each instance", h3(func(t *v1alpha1.Target) {
			t.FollowAltSvc, t.Protocol, t.Connecting = true, "h2", &v1alpha1.Connecting{Open: v1alpha1.OpenPerInstance}
		}), []string{"spec.targets[0].followAltSvc: needs connecting.open AtStart: a runner asks for Alt-Svc as it opens connections before the load"}},
		{"Alt-Svc with ALPN", h3(func(t *v1alpha1.Target) {
			t.FollowAltSvc, t.Protocol, t.TLS = true, "Auto", &v1alpha1.TLS{ALPN: []string{"h2"}}
		}),
			[]string{"spec.targets[0].tls.alpn: is not allowed with followAltSvc: the load is HTTP/3"}},
		{"server name with a port", secure(func(t *v1alpha1.TLS) { t.ServerName = "a.example:443" }),
			[]string{"spec.targets[0].tls.serverName: must be a host name or an IP address, without a port"}},
		{"version of long ago", secure(func(t *v1alpha1.TLS) { t.MinVersion = "1.1" }), []string{"spec.targets[0].tls.minVersion: must be 1.2 or 1.3"}},
		{"suite of OpenSSL", secure(func(t *v1alpha1.TLS) { t.CipherSuites = []string{"ECDHE-RSA-AES128-GCM-SHA256"} }),
			[]string{"spec.targets[0].tls.cipherSuites[0]: is not known; allowed: IANA names such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}},
		{"suite of TLS 1.3", secure(func(t *v1alpha1.TLS) {
			t.CipherSuites = []string{"TLS_RSA_WITH_RC4_128_SHA", "TLS_AES_128_GCM_SHA256"}
		}), []string{"spec.targets[0].tls.cipherSuites[1]: belongs to TLS 1.3; allowed: suites of TLS 1.2"}},
		{"suite twice", secure(func(t *v1alpha1.TLS) {
			t.CipherSuites = []string{"TLS_RSA_WITH_RC4_128_SHA", "TLS_RSA_WITH_RC4_128_SHA"}
		}), []string{`spec.targets[0].tls.cipherSuites[1]: "TLS_RSA_WITH_RC4_128_SHA" is the name of entry 0 too`}},
		{"unknown curve", secure(func(t *v1alpha1.TLS) { t.Curves = []string{"X25519", "X448"} }),
			[]string{"spec.targets[0].tls.curves[1]: must be one of X25519MLKEM768, X25519, P-256, P-384, P-521"}},
		{"protocol twice", secure(func(t *v1alpha1.TLS) { t.ALPN = []string{"h2", "h2"} }),
			[]string{`spec.targets[0].tls.alpn[1]: "h2" is the name of entry 0 too`}},
		{"HTTP/3", secure(func(t *v1alpha1.TLS) { t.ALPN = []string{"h3"} }), []string{"spec.targets[0].tls.alpn[0]: must be h2 or http/1.1"}},
		{"key that could be elsewhere", secure(func(t *v1alpha1.TLS) {
			t.CAFrom = &v1alpha1.ContentSource{SecretKeyRef: &v1alpha1.KeyReference{Name: "a", Key: ".."}}
		}), []string{"spec.targets[0].tls.caFrom.secretKeyRef.key: must be letters, digits, -, _ and dots, and not begin with two dots"}},
		{"name that could be elsewhere", secure(func(t *v1alpha1.TLS) {
			t.CAFrom = &v1alpha1.ContentSource{ConfigMapKeyRef: &v1alpha1.KeyReference{Name: "../a", Key: "ca.crt"}}
		}), []string{"spec.targets[0].tls.caFrom.configMapKeyRef.name: must be lower-case letters, digits, - and dots, beginning and ending with a letter or digit"}},
		{"file in the place of those of Secrets", secure(func(t *v1alpha1.TLS) {
			t.CAFrom = &v1alpha1.ContentSource{File: "/etc//h2surge/files/x"}
		}), []string{"spec.targets[0].tls.caFrom.file: must not be below /etc/h2surge/files, which is for what ConfigMaps and Secrets hold"}},
		{"certificate without its key", secure(func(t *v1alpha1.TLS) {
			t.Certificate = &v1alpha1.ClientCertificate{Files: &v1alpha1.CertificateFiles{Certificate: "a.pem"}}
		}), []string{"spec.targets[0].tls.certificate.files.key: must not be empty"}},
		{"http1 with h2c", func(s *spec) { s.Targets[0].Protocol, s.Targets[0].HTTP1 = v1alpha1.ProtocolH2C, &v1alpha1.HTTP1{} },
			[]string{"spec.targets[0].http1: http1 is not allowed when the target uses only HTTP/2"}},
		{"http1 where only h2 is offered", func(s *spec) {
			secure(func(t *v1alpha1.TLS) { t.ALPN = []string{"h2"} })(s)
			s.Targets[0].HTTP1 = &v1alpha1.HTTP1{}
		}, []string{"spec.targets[0].http1: http1 is not allowed when the target uses only HTTP/2"}},
		{"http2 where only http/1.1 is offered", func(s *spec) {
			secure(func(t *v1alpha1.TLS) { t.ALPN = []string{"http/1.1"} })(s)
			s.Targets[0].HTTP2 = &v1alpha1.HTTP2{}
		}, []string{"spec.targets[0].http2: http2 is not allowed when the target uses only HTTP/1.1"}},
		{"many requests on a connection for one", func(s *spec) {
			s.Targets[0].Protocol, s.Targets[0].HTTP1 = "http1", &v1alpha1.HTTP1{KeepAlive: ptr.To(false)}
			s.Targets[0].Connecting = &v1alpha1.Connecting{MaxRequests: ptr.To[int64](2)}
		}, []string{"spec.targets[0].connecting.maxRequests: must be 1 or unset with http1.keepAlive false: a connection carries one request"}},
		{"an interface and addresses", func(s *spec) {
			s.Targets[0].Connecting = &v1alpha1.Connecting{Interface: "n6", LocalAddresses: []string{"127.0.0.1"}}
		}, []string{"spec.targets[0].connecting.interface: cannot be used with localAddresses"}},
		{"an interface for a socket", func(s *spec) {
			s.Targets[0].ConnectTo, s.Targets[0].Connecting = "unix:/a", &v1alpha1.Connecting{Interface: "n6"}
		}, []string{"spec.targets[0].connecting.interface: is not allowed with a unix socket in connectTo"}},
		{"one certificate and many", secure(func(t *v1alpha1.TLS) {
			t.CertificateDirectory = "/nfs"
			t.Certificate = &v1alpha1.ClientCertificate{SecretRef: &v1alpha1.SecretReference{Name: "a"}}
		}), []string{"spec.targets[0].tls.certificateDirectory: cannot be used with certificate"}},
		{"connections of instances in batches", func(s *spec) {
			s.Targets[0].ConnectionChoice = v1alpha1.ConnectionChoiceBatch
			s.Targets[0].Connecting = &v1alpha1.Connecting{Open: v1alpha1.OpenPerInstance}
		}, []string{"spec.targets[0].connecting.open: PerInstance cannot be used with connectionChoice Batch: an instance does not use the connections of others"}},
		{"connections of instances for one request", func(s *spec) {
			s.Targets[0].Protocol, s.Targets[0].HTTP1 = "http1", &v1alpha1.HTTP1{KeepAlive: ptr.To(false)}
			s.Targets[0].Connecting = &v1alpha1.Connecting{Open: v1alpha1.OpenPerInstance}
		}, []string{"spec.targets[0].connecting.open: PerInstance needs http1.keepAlive: without keepAlive a connection carries one request"}},
		{"a ramp of connections of instances", func(s *spec) {
			s.Targets[0].Connecting = &v1alpha1.Connecting{Open: v1alpha1.OpenPerInstance, Ramp: &v1alpha1.ConnectionRamp{Connections: 1}}
		}, []string{"spec.targets[0].connecting: ramp needs open AtStart: else requests determine when the runner opens connections"}},
		{"all streams of connections of instances", func(s *spec) {
			s.Targets[0].Connecting = &v1alpha1.Connecting{Open: v1alpha1.OpenPerInstance}
			s.Rates = []v1alpha1.Rate{{Name: "most", ClosedLoop: &v1alpha1.ClosedLoop{}, Requests: ptr.To[int64](9)}}
		}, []string{"spec.rates[0].closedLoop: concurrency is needed: connections to target \"target\" are opened for chain instances"}},
		{"a local address for a socket", func(s *spec) {
			s.Targets[0].ConnectTo = "unix:/a"
			s.Targets[0].Connecting = &v1alpha1.Connecting{LocalAddresses: []string{"127.0.0.1"}}
		}, []string{"spec.targets[0].connecting.localAddresses: is not allowed with a unix socket in connectTo"}},
		{"connectTo without a port", connectTo("a.example"), []string{"spec.targets[0].connectTo: must be host:port (an IPv6 host in brackets) or unix:/path"}},
		{"connectTo of port 0", connectTo("a.example:0"), []string{"spec.targets[0].connectTo: must be host:port (an IPv6 host in brackets) or unix:/path"}},
		{"relative socket", connectTo("unix:a.sock"), []string{"spec.targets[0].connectTo: must be unix: and an absolute path"}},
		{"long socket", connectTo("unix:/" + strings.Repeat("a", 107)), []string{"spec.targets[0].connectTo: has a socket path of 108 bytes, at most 107 are possible"}},

		{"a search after a stage that ends by requests", func(s *spec) {
			s.Search, s.Rates = &v1alpha1.Search{}, []v1alpha1.Rate{{Name: "warm", RequestsPerSecond: ptr.To[int64](5), Requests: ptr.To[int64](10), WarmUp: true}}
		}, []string{"spec.rates: requests is not allowed with search; use duration"}},
		{"a stage name of another list", func(s *spec) {
			own(s, v1alpha1.Rate{Name: "steady", RequestsPerSecond: ptr.To[int64](5), Duration: &v1alpha1.Duration{Duration: time.Second}})
		}, []string{`spec.chains[1].rates[0].name: "steady" is the name of spec.rates[0] too`}},
		{"a chain of the mix without rates", func(s *spec) {
			own(s, builder.PerSecond("own", 5, time.Second))
			s.Rates = nil
		}, []string{"spec.rates: at least 1 is needed, unless each chain of phase Load has rates of its own"}},
		{"too many stages", func(s *spec) {
			own(s, builder.PerSecond("own", 5, time.Second))
			s.Rates = nil
			for i := range 64 {
				s.Rates = append(s.Rates, builder.PerSecond(fmt.Sprint("s", i), 5, time.Second))
			}
		}, []string{"spec.rates: 65 stages together with those of all chains, at most 64 are possible"}},
		{"width too small", func(s *spec) { s.Variables[0].Range = &v1alpha1.IntegerRange{Start: 0, End: 1001, Step: 10, Width: 3} },
			[]string{"spec.variables[0].range.width: is smaller than the 4 digits of the largest value"}},
		{"runner template", func(s *spec) {
			s.Runner.PodTemplate = raw(`{"spec":{"containers":[{"nam":"runner"}]},"x":1}`)
		}, []string{
			"spec.runner.podTemplate.spec.containers[0].nam: unknown field", "spec.runner.podTemplate.x: unknown field",
			"spec.runner.podTemplate.spec.containers[0].name: is needed; the runner's own container is called runner",
		}},
		{"everything at once", func(s *spec) {
			s.Targets[0].URL = "x"
			s.Templates[0].Body = "${x}"
			s.Chains[0].Target = "elsewhere"
			s.Rates[0].Duration = &v1alpha1.Duration{}
			s.Thresholds = []v1alpha1.Threshold{{Name: "a", Metric: "bad"}}
		}, []string{
			"spec.rates[0].duration: must be greater than 0 and at most 720h",
			`spec.thresholds[0].metric: is not known; did you mean Body, Blocked or Lag? "h2surge explain spec.thresholds.metric" lists all 34`,
			"spec.thresholds[0]: exactly one of max, min and maxIncrease is needed",
			"spec.targets[0].url: must begin with http:// or https://",
			`spec.templates[0].body: variable "x" is not defined`,
			`spec.chains[0].target: there is no target "elsewhere"`,
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lt := builder.Sessions("test", "http://target.example").Edit(tc.edit).Build()
			p, _, errs := compile.Compile("default/test", &lt.Spec)
			if diff := cmp.Diff(tc.want, compile.ErrorLines(errs)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if p != nil {
				t.Error("there is a plan in spite of errors")
			}
		})
	}
}

func reorder(s *spec, order ...int) {
	steps := s.Chains[0].Steps
	s.Chains[0].Steps = nil
	for _, i := range order[:2] {
		s.Chains[0].Steps = append(s.Chains[0].Steps, steps[i])
	}
	_ = order[2] // the third step is left out, so that one read is too early and no more
}

// manyChains have four steps each.
func manyChains(n int) (out []v1alpha1.Chain) {
	for i := range n {
		out = append(out, v1alpha1.Chain{
			Name: "c" + strings.Repeat("x", i%40) + string(rune('a'+i/40)), Target: "target",
			Steps: []v1alpha1.Step{{Template: "create"}, {Template: "update"}, {Template: "delete"}, {Template: "update", Name: "again"}},
		})
	}
	return out
}

func method(m string) func(*spec)    { return func(s *spec) { s.Templates[0].Method = m } }
func path(p string) func(*spec)      { return func(s *spec) { s.Templates[0].Path = p } }
func body(b string) func(*spec)      { return func(s *spec) { s.Templates[0].Body = b } }
func url(u string) func(*spec)       { return func(s *spec) { s.Targets[0].URL = u } }
func connectTo(a string) func(*spec) { return func(s *spec) { s.Targets[0].ConnectTo = a } }
func secure(edit func(*v1alpha1.TLS)) func(*spec) {
	return func(s *spec) {
		s.Targets[0].URL, s.Targets[0].TLS = "https://a.example", &v1alpha1.TLS{}
		edit(s.Targets[0].TLS)
	}
}

// h3 edits a target with protocol h3.
func h3(edit func(*v1alpha1.Target)) func(*spec) {
	return func(s *spec) {
		s.Targets[0].URL, s.Targets[0].Protocol = "https://a.example", v1alpha1.ProtocolH3
		edit(&s.Targets[0])
	}
}

func header(name, value string) func(*spec) {
	return func(s *spec) { s.Templates[0].Headers = []v1alpha1.Header{{Name: name, Value: new(value)}} }
}

// own adds a chain with stages of its own.
func own(s *spec, rates ...v1alpha1.Rate) {
	s.Chains = append(s.Chains, v1alpha1.Chain{Name: "own", Target: "target", Phase: v1alpha1.PhaseLoad, Rates: rates, Steps: []v1alpha1.Step{{Name: "ping", Request: &v1alpha1.Request{Path: "/"}}}})
}

// TestOwnRates: the plan has the stages of the mix first, then those of the chains. The deadline includes the longest.
func TestOwnRates(t *testing.T) {
	lt := builder.Sessions("test", "http://target.example").Edit(func(s *spec) {
		own(s, builder.PerSecond("own", 5, time.Second), builder.PerSecond("more", 6, 10*time.Minute))
		s.Chains[1].StartAfter = &v1alpha1.Duration{Duration: time.Hour}
		s.WeightBy = v1alpha1.WeightByRequests
	}).Build()
	p, _, errs := compile.Compile("default/test", &lt.Spec)
	if len(errs) > 0 {
		t.Fatal(compile.ErrorLines(errs))
	}
	got := ""
	for _, r := range p.Rates {
		got += fmt.Sprintf("%s %d, ", r.Name, r.Chain)
	}
	if want := "steady 0, own 2, more 2, "; got != want {
		t.Errorf("stages %q, want %q", got, want)
	}
	if least := time.Hour + 10*time.Minute; p.Deadline < least || p.Deadline > least+10*time.Minute || p.Chains[1].StartAfter != time.Hour || p.Chains[1].Weight != 1 {
		t.Errorf("deadline %v, startAfter %v, weight %d", p.Deadline, p.Chains[1].StartAfter, p.Chains[1].Weight)
	}
}

// TestRulesOfTheAPI: what the API server refuses is refused here with the same words.
func TestRulesOfTheAPI(t *testing.T) {
	for _, row := range builder.Rules() {
		t.Run(row.Name, func(t *testing.T) {
			doc, err := json.Marshal(row.Document())
			if err != nil {
				t.Fatal(err)
			}
			got := linesOf(t, string(doc))
			if !slices.ContainsFunc(got, func(line string) bool {
				return strings.HasPrefix(line, row.Path+": ") && strings.Contains(line, row.Want)
			}) {
				t.Errorf("got %q, want %q at %s", got, row.Want, row.Path)
			}
		})
	}
}

// linesOf are the errors of Load, or else those of Compile.
func linesOf(t *testing.T, manifest string) []string {
	t.Helper()
	m, err := compile.Load(strings.NewReader(manifest))
	var broken *compile.ManifestError
	if errors.As(err, &broken) {
		return compile.ErrorLines(broken.Errors)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, _, errs := compile.Compile(m.Name(), &m.LoadTest.Spec)
	return compile.ErrorLines(errs)
}

func TestWarnings(t *testing.T) {
	lt := builder.Sessions("test", "http://target.example").Shards(4).
		Variable(builder.List("two", "a", "b")).
		Edit(func(s *spec) {
			s.Targets = append(s.Targets, v1alpha1.Target{Name: "spare", URL: "http://b"})
			s.Templates[1].Method = "patch"
			s.Templates[1].Path = "/fixed"
			s.Templates[2].Path = "/fixed"
			s.Templates = append(s.Templates, v1alpha1.Template{Name: "unused"})
		}).Build()
	_, got, errs := compile.Compile("default/test", &lt.Spec)
	if len(errs) > 0 {
		t.Fatal(compile.ErrorLines(errs))
	}
	want := []string{
		`spec.variables[1]: variable "two" has 2 values for 4 shards, so every shard uses all of them`,
		`spec.templates[1].method: methods are case-sensitive, and this one is not all upper case`,
		`spec.targets[1]: target "spare" is not used by a chain; its connections are opened anyway`,
		`spec.templates[3]: template "unused" is used by no chain`,
		`spec.variables[1]: variable "two" is never read`,
		`spec.templates[0].capture[0]: capture "session" is never read`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestEndpoints(t *testing.T) {
	for _, tc := range []struct {
		url, connectTo                     string
		scheme, authority, address, prefix string
	}{
		{url: "http://a.example", scheme: "http", authority: "a.example", address: "a.example:80"},
		{url: "HTTP://a.example/", scheme: "http", authority: "a.example", address: "a.example:80"},
		{url: "http://a.example:8080/x/y/", scheme: "http", authority: "a.example:8080", address: "a.example:8080", prefix: "/x/y"},
		{url: "http://10.0.0.1:1", scheme: "http", authority: "10.0.0.1:1", address: "10.0.0.1:1"},
		{url: "http://[::1]", scheme: "http", authority: "[::1]", address: "[::1]:80"},
		{url: "http://[2001:db8::1]:8080", scheme: "http", authority: "[2001:db8::1]:8080", address: "[2001:db8::1]:8080"},
		{url: "http://a.example", connectTo: "unix:/run/a.sock", scheme: "http", authority: "a.example", address: "unix:/run/a.sock"},
		{url: "http://a.example", connectTo: "[::1]:7", scheme: "http", authority: "a.example", address: "[::1]:7"},
		{url: "http://a.example", connectTo: "b.example:7", scheme: "http", authority: "a.example", address: "b.example:7"},
	} {
		lt := builder.Minimal("test").TargetURL(tc.url).Edit(connectTo(tc.connectTo)).Build()
		p, _, errs := compile.Compile("default/test", &lt.Spec)
		if len(errs) > 0 {
			t.Errorf("%s: %v", tc.url, compile.ErrorLines(errs))
			continue
		}
		got := p.Targets[0].Endpoints[0]
		if got.Scheme != tc.scheme || got.Authority != tc.authority || got.Address != tc.address || got.BasePath != tc.prefix {
			t.Errorf("%s, connectTo %q: %+v", tc.url, tc.connectTo, got)
		}
	}
}

func TestProtocols(t *testing.T) {
	for _, tc := range []struct {
		url      string
		protocol v1alpha1.Protocol
		want     string
		alpn     string // empty: no TLS
	}{
		{"http://a", "", "discovered", ""},
		{"http://a", "Auto", "discovered", ""},
		{"http://a", "h2c", "h2c", ""},
		{"http://a", "http1", "http1", ""},
		{"https://a", "", "alpn", "h2 http/1.1"},
		{"https://a", "h2", "h2", "h2"},
		{"https://a", "http1", "http1", "http/1.1"},
		{"https://a", "h3", "h3", "h3"},
	} {
		lt := builder.Minimal("test").TargetURL(tc.url).Edit(func(s *spec) { s.Targets[0].Protocol = tc.protocol }).Build()
		p, _, errs := compile.Compile("default/test", &lt.Spec)
		if len(errs) > 0 {
			t.Errorf("%q over %s: %v", tc.protocol, tc.url, compile.ErrorLines(errs))
			continue
		}
		got, alpn := p.Targets[0], ""
		if got.TLS != nil {
			alpn = strings.Join(got.TLS.ALPN, " ")
		}
		if string(got.Protocol) != tc.want || alpn != tc.alpn {
			t.Errorf("%q over %s is %q with ALPN %q, want %q with %q", tc.protocol, tc.url, got.Protocol, alpn, tc.want, tc.alpn)
		}
	}
}

// TestDeadline checks that a plan has a deadline, unless a stage ends by its requests.
func TestDeadline(t *testing.T) {
	for _, tc := range []struct {
		name string
		lt   *builder.LoadTest
		want string
	}{
		{"a second, 5.1 of drain twice, a minute", builder.Minimal("test"), "1m11.2s"},
		{"asked for", builder.Minimal("test").Deadline(90), "1m30s"},
		{"requests only", builder.Minimal("test").Rates(builder.ClosedLoop("all", 10)), "0s"},
		{"requests only, asked for", builder.Minimal("test").Rates(builder.ClosedLoop("all", 10)).Deadline(5), "5s"},
	} {
		lt := tc.lt.Build()
		p, _, errs := compile.Compile("default/test", &lt.Spec)
		if len(errs) > 0 {
			t.Fatal(compile.ErrorLines(errs))
		}
		if got := p.Deadline.String(); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// TestSpecIsLeftAlone: the operator compiles objects of a shared cache.
func TestSpecIsLeftAlone(t *testing.T) {
	lt := builder.Sessions("test", "http://target.example").Build()
	before := lt.DeepCopy()
	compile.Compile("default/test", &lt.Spec)
	if diff := cmp.Diff(before, lt); diff != "" {
		t.Errorf("Compile changed its input (-before +after):\n%s", diff)
	}
}

// TestGoldens keeps the plans of all samples. Run with -update when a change is meant.
func TestGoldens(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "config", "samples", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := filepath.Glob(filepath.Join("testdata", "manifests", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	files = append(append(files, own...), filepath.Join("..", "..", "test", "builder", "full.yaml"))
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if name == "kustomization" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			golden.Compare(t, filepath.Join("plans", name+".json"), compiled(t, file))
		})
	}
}

// compiled is the plan of a file, indented; it has been through bytes and back.
func compiled(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := compile.Load(f)
	if err != nil {
		t.Fatal(err)
	}
	p, warnings, errs := compile.Compile(m.Name(), &m.LoadTest.Spec)
	if len(errs) > 0 {
		t.Fatal(compile.ErrorLines(errs))
	}
	if len(warnings) > 0 {
		t.Errorf("warnings: %q", warnings)
	}
	canonical, _, err := plan.Canonical(p)
	if err != nil {
		t.Fatal(err)
	}
	back, err := plan.Parse(canonical)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, back); diff != "" {
		t.Errorf("bytes and back (-want +got):\n%s", diff)
	}
	out, err := json.MarshalIndent(back, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

func statuses(written ...string) (out []intstr.IntOrString) {
	for _, s := range written {
		out = append(out, intstr.Parse(s))
	}
	return out
}
