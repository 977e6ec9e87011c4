package h2load

import (
	"math"
	"net"
	"slices"
	"strings"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/convert"
)

// maxPipeline is the bound of targets[].http1.pipeline.
const maxPipeline = 64

func (c *converter) target() {
	u := c.urls[0]
	t := v1alpha1.Target{
		Name: target, URL: u.Base(), Connections: new(c.small("--clients", 1)),
		MaxConcurrentStreams: c.small("--max-concurrent-streams", 1),
	}
	if t.MaxConcurrentStreams == 0 {
		c.Fail("--max-concurrent-streams", "must be at least 1")
	}
	for field, flag := range map[string]string{
		"": "URI", ".connections": "-c", ".maxConcurrentStreams": "-m", ".http2.streamWindow": "-w", ".http2.connectionWindow": "-W",
		".http2.maxFrameSize": "-f", ".http2.headerTableSize": "--header-table-size", ".http2.encoderTableSize": "--encoder-header-table-size",
		".tls": "--alpn-list", ".tls.serverName": "--sni", ".tls.curves": "--groups", ".tls.cipherSuites": "--ciphers", ".connectTo": "--connect-to",
		".connecting.ramp": "-r", ".connecting.ramp.period": "--rate-period", ".connecting.maxAge": "-T", ".connecting.inactivityTimeout": "-N",
	} {
		c.Origin("spec.targets[0]"+field, flag)
	}
	c.protocol(&t, u.Scheme == "https")
	c.dial(&t)
	c.http2(&t)
	c.connecting(&t)
	c.Spec().Targets = []v1alpha1.Target{t}
}

func (c *converter) protocol(t *v1alpha1.Target, secure bool) {
	offered := c.offered()
	clear := c.Last["--no-tls-proto"]
	switch {
	case c.Has("--h1"), !secure && clear == "http/1.1":
		t.Protocol = v1alpha1.ProtocolHTTP1
	case !secure:
		if clear != "" && clear != "h2c" {
			c.Fail("--no-tls-proto", "must be h2c or http/1.1")
		}
		t.Protocol = v1alpha1.ProtocolH2C
	case len(offered) == 1 && offered[0] == "http/1.1":
		t.Protocol = v1alpha1.ProtocolHTTP1
	case len(offered) == 1:
		t.Protocol = v1alpha1.ProtocolH2
	}
	if t.Protocol == v1alpha1.ProtocolHTTP1 {
		c.pipeline(t)
	}
	if secure {
		c.tls(t, offered)
	}
}

// pipeline: -m is the number of pipelined requests for HTTP/1.1, unless they have a body.
func (c *converter) pipeline(t *v1alpha1.Target) {
	streams := t.MaxConcurrentStreams
	if streams <= 1 || c.Has("--data") {
		t.MaxConcurrentStreams = 1
		return
	}
	if streams > maxPipeline {
		c.WarnAt("spec.targets[0].http1", "--max-concurrent-streams", "%d requests are pipelined at most", maxPipeline)
	}
	t.HTTP1 = &v1alpha1.HTTP1{Pipeline: min(streams, maxPipeline)}
}

func (c *converter) offered() (out []string) {
	name := "--alpn-list"
	if !c.Has(name) {
		name = "--npn-list"
	}
	for p := range strings.FieldsFuncSeq(c.Last[name], func(r rune) bool { return r == ',' }) {
		switch p = strings.TrimSpace(p); {
		case p == "h2-16" || p == "h2-14" || slices.Contains(out, p): // drafts of HTTP/2
		case p == "h2" || p == "http/1.1":
			out = append(out, p)
		default:
			c.WarnAt("spec.targets[0]", name, "%s cannot be offered and is left out", p)
		}
	}
	return out
}

func (c *converter) tls(t *v1alpha1.Target, offered []string) {
	t.TLS = &v1alpha1.TLS{InsecureSkipVerify: true, ServerName: c.Last["--sni"]}
	c.WarnAt("spec.targets[0].tls.insecureSkipVerify", "https", "h2load never verifies certificates; without insecureSkipVerify the server's is verified")
	if len(offered) > 1 && t.Protocol == "" {
		t.TLS.ALPN = offered
	}
	if groups := c.Last["--groups"]; groups != "" {
		possible := []string{"X25519MLKEM768", "X25519", "secp256r1", "secp384r1", "secp521r1", "P-256", "P-384", "P-521"}
		for g := range strings.SplitSeq(groups, ":") {
			if slices.Contains(possible, g) {
				t.TLS.Curves = append(t.TLS.Curves, g)
			} else {
				c.WarnAt("spec.targets[0].tls.curves", "--groups", "%s cannot be offered and is left out", g)
			}
		}
	}
	if names := c.Last["--ciphers"]; names != "" {
		for n := range strings.FieldsFuncSeq(names, func(r rune) bool { return r == ':' || r == ',' }) {
			if strings.HasPrefix(n, "TLS_") {
				t.TLS.CipherSuites = append(t.TLS.CipherSuites, n)
			} else {
				c.WarnAt("spec.targets[0].tls", "--ciphers", "%s is a name of OpenSSL, which is not converted; tls.cipherSuites takes IANA's", n)
			}
		}
	}
}

// dial says where to connect to, when not where the URL says.
func (c *converter) dial(t *v1alpha1.Target) {
	if socket, is := strings.CutPrefix(c.Last["--base-uri"], "unix:"); is {
		t.ConnectTo = "unix:" + socket
		return
	}
	if to := c.Last["--connect-to"]; to != "" {
		if _, _, err := net.SplitHostPort(to); err == nil {
			t.ConnectTo = to
		} else {
			_, port, _ := net.SplitHostPort(c.urls[0].Dialled())
			t.ConnectTo = net.JoinHostPort(strings.Trim(to, "[]"), port)
		}
	}
}

func (c *converter) http2(t *v1alpha1.Target) {
	h := v1alpha1.HTTP2{
		HeaderTableSize: c.size("--header-table-size"), EncoderTableSize: c.size("--encoder-header-table-size"),
		MaxFrameSize: c.size("--max-frame-size"), StreamWindow: c.window("--window-bits"), ConnectionWindow: c.window("--connection-window-bits"),
	}
	if h.ConnectionWindow != nil && *h.ConnectionWindow < math.MaxUint16 {
		c.WarnAt("spec.targets[0].http2.connectionWindow", "--connection-window-bits", "a connection's window cannot be below 65535 (RFC 9113 6.9.2), which is taken")
		*h.ConnectionWindow = math.MaxUint16
	}
	switch {
	case h == (v1alpha1.HTTP2{}):
	case t.Protocol == v1alpha1.ProtocolHTTP1:
		c.Warn("--window-bits", "and all else that is about HTTP/2 is left out: only HTTP/1.1 is spoken")
	default:
		t.HTTP2 = &h
	}
}

func (c *converter) connecting(t *v1alpha1.Target) {
	var n v1alpha1.Connecting
	if rate := c.small("--rate", 0); rate > 0 {
		n.Ramp = &v1alpha1.ConnectionRamp{Connections: rate}
		if c.Has("--rate-period") {
			n.Ramp.Period = convert.Given(c.span("--rate-period"))
		}
		c.WarnAt("spec.targets[0].connecting.ramp", "--rate", "the load starts when all connections are open, not while they are opened")
	}
	if d := c.span("--connection-active-timeout"); d > 0 {
		n.MaxAge = convert.Given(d)
		c.WarnAt("spec.targets[0].connecting.maxAge", "--connection-active-timeout", "counts from the opening of a connection; another takes its place, and its responses are awaited")
	}
	if d := c.span("--connection-inactivity-timeout"); d > 0 {
		n.InactivityTimeout = convert.Given(d)
		c.WarnAt("spec.targets[0].connecting.inactivityTimeout", "--connection-inactivity-timeout", "another connection takes the place of one that is closed")
	}
	if n.Ramp != nil || n.MaxAge != nil || n.InactivityTimeout != nil {
		t.Connecting = &n
	}
}
