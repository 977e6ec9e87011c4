package cli

import (
	"cmp"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// maxPipeline is the bound of targets[].http1.pipeline.
const maxPipeline = 64

// connectionFlags say how the one target of the URL form is connected to and spoken with. Most flags are fields of the
// LoadTest.
type connectionFlags struct {
	tls                          v1alpha1.TLS
	ca                           v1alpha1.ContentSource
	files                        v1alpha1.CertificateFiles
	http2                        v1alpha1.HTTP2
	connecting                   v1alpha1.Connecting
	ramp                         v1alpha1.ConnectionRamp
	choice                       v1alpha1.ConnectionChoice
	connectTo, socket            string
	http1, noKeepAlive, insecure bool
	http3                        bool
}

func (c *connectionFlags) rows() []*formFlag {
	return []*formFlag{
		{"h1", "", "target.protocol", into(&c.http1, strconv.ParseBool),
			"use HTTP/1.1; it pipelines -m requests, as h2load does, and one request with -d"},
		{"h3", "", "target.protocol", into(&c.http3, strconv.ParseBool), "use HTTP/3, over QUIC; with https:// only"},
		{"no-keepalive", "", "target.http1.keepAlive", into(&c.noKeepAlive, strconv.ParseBool),
			"open a connection for each request, as ab does; with --h1"},
		{"connection-choice", "", "target.connectionChoice", into(&c.choice, text),
			"connections of requests that are sent at the same time: `Spread or Batch` (default Spread); Batch fills one connection first"},
		{"insecure", "k", "target.tls.insecureSkipVerify", into(&c.insecure, strconv.ParseBool),
			"do not verify the server's certificate (h2load never verifies it)"},
		{"alpn", "", "target.tls.alpn", into(&c.tls.ALPN, list),
			"`list` of protocols to offer with https, the preferred one first (default \"h2,http/1.1\")"},
		{"alpn-list", "", "target.tls.alpn", into(&c.tls.ALPN, list), "`list` of --alpn, as h2load names it"},
		{"sni", "", "target.tls.serverName", into(&c.tls.ServerName, text),
			"host `name` for SNI and for the certificate, instead of the URL's"},
		{"cacert", "", "target.tls.caFrom.file", into(&c.ca.File, text),
			"PEM `file` with the certificate authorities to trust, instead of the system's"},
		{"cert", "", "target.tls.certificate.files.certificate", into(&c.files.Certificate, text),
			"PEM `file` with the client's certificate and its chain"},
		{"key", "", "", into(&c.files.Key, text), "PEM `file` with the client's key (default: the file of --cert)"},
		{"ciphers", "", "target.tls.cipherSuites", into(&c.tls.CipherSuites, suites),
			"`list` of cipher suites for TLS 1.2, separated by colons; with IANA or OpenSSL names"},
		{"groups", "", "target.tls.curves", into(&c.tls.Curves, list),
			"`list` of key exchange groups, separated by colons, such as X25519:P-256"},
		{"connect-to", "", "target.connectTo", into(&c.connectTo, text),
			"`HOST[:PORT]` to connect to; requests keep the URL's host"},
		{"unix", "", "target.connectTo", into(&c.socket, text), "`path` of a Unix socket to connect to"},
		{"local-address", "", "target.connecting.localAddresses", c.addLocal,
			"IP `address` to connect from; may be repeated: connections use the addresses in turn"},
		{"window-bits", "w", "target.http2.streamWindow", into(&c.http2.StreamWindow, window),
			"receive window of a stream: 2^`N`-1 octets (default 4 MiB)"},
		{"connection-window-bits", "W", "target.http2.connectionWindow", into(&c.http2.ConnectionWindow, window),
			"receive window of a connection: 2^`N`-1 octets, N at least 16 (default 16 MiB)"},
		{"max-frame-size", "", "target.http2.maxFrameSize", into(&c.http2.MaxFrameSize, octets),
			"largest frame to accept, in `octets` (default 16K); h2load has -f for it"},
		{"header-table-size", "", "target.http2.headerTableSize", into(&c.http2.HeaderTableSize, octets),
			"header table of the decoder, in `octets` (default 4K)"},
		{"encoder-header-table-size", "", "target.http2.encoderTableSize", into(&c.http2.EncoderTableSize, octets),
			"largest header table of the encoder, in `octets` (default 4K)"},
		{"connection-rate", "r", "target.connecting.ramp.connections", into(&c.ramp.Connections, whole),
			"`number` of connections to open per period; 0: all at once"},
		{"connection-rate-period", "", "target.connecting.ramp.period", into(&c.ramp.Period, duration),
			"`time` of the period of -r (default 1s)"},
		{"connection-active-timeout", "T", "target.connecting.maxAge", into(&c.connecting.MaxAge, limit),
			"`time` after which a new connection replaces a connection; the old one still receives its responses (not in h2load)"},
		{"connection-inactivity-timeout", "N", "target.connecting.inactivityTimeout", into(&c.connecting.InactivityTimeout,
			limit), "`time` after which a connection is closed on which the server owes responses and sends nothing"},
	}
}

func (c *connectionFlags) addLocal(address string) error {
	c.connecting.LocalAddresses = append(c.connecting.LocalAddresses, address)
	return nil
}

// check finds what would mean something else, or nothing, in the LoadTest.
func (c *connectionFlags) check(streams int32) (wrong mistakes) {
	wrong.add(c.http1 && c.tls.ALPN != nil, "--alpn: not allowed with --h1, which offers http/1.1 only")
	wrong.add(c.http3 && c.http1, "--h3: not allowed with --h1")
	wrong.add(c.http3 && c.tls.ALPN != nil, "--alpn: not allowed with --h3, which offers h3 only")
	wrong.add(c.http3 && c.socket != "", "--unix: not allowed with --h3, which uses UDP")
	wrong.add(c.noKeepAlive && !c.http1, "--no-keepalive: allowed only with --h1")
	wrong.add(c.noKeepAlive && streams > 1, "-m: must be 1 with --no-keepalive, because a connection carries one request")
	wrong.add(c.http1 && streams > maxPipeline, "-m: must be at most %d with HTTP/1.1", maxPipeline)
	wrong.add(c.connectTo != "" && c.socket != "", "--unix: not allowed with --connect-to")
	wrong.add(c.files.Key != "" && c.files.Certificate == "", "--key: allowed only with --cert")
	wrong.add(c.ramp.Connections < 0, "-r: must not be negative")
	wrong.add(c.ramp.Connections == 0 && c.ramp.Period != nil, "--connection-rate-period: allowed only with -r")
	return wrong
}

// local returns warnings about files that only this machine has.
func (c *connectionFlags) local() (out mistakes) {
	const path = "is a path on the machine of the runner: in a cluster, use "
	out.add(c.ca.File != "", "--cacert: "+path+"configMapKeyRef")
	out.add(c.files.Certificate != "", "--cert: "+path+"secretRef")
	return out
}

// apply writes the flags into the target, whose URL and streams are set. pipelined says that
// requests may be sent before the responses to earlier ones.
func (c *connectionFlags) apply(t *v1alpha1.Target, pipelined bool) {
	if c.http1 {
		t.Protocol = v1alpha1.ProtocolHTTP1
	}
	if c.http3 {
		t.Protocol = v1alpha1.ProtocolH3
	}
	c.tls.InsecureSkipVerify = c.insecure && strings.HasPrefix(strings.ToLower(t.URL), "https:")
	c.tls.CAFrom = unlessZero(c.ca)
	if c.files.Certificate != "" {
		c.files.Key = cmp.Or(c.files.Key, c.files.Certificate)
		c.tls.Certificate = &v1alpha1.ClientCertificate{Files: &c.files}
	}
	if c.ramp.Connections > 0 {
		c.ramp.Period = cmp.Or(c.ramp.Period, &v1alpha1.Duration{Duration: time.Second})
		c.connecting.Ramp = &c.ramp
	}
	t.TLS, t.HTTP2, t.Connecting = unlessZero(c.tls), unlessZero(c.http2), unlessZero(c.connecting)
	t.HTTP1, t.ConnectTo, t.ConnectionChoice = c.http1Of(t.MaxConcurrentStreams, pipelined), c.address(t.URL), c.choice
}

// address is what connectTo says; without a port it is the URL's.
func (c *connectionFlags) address(rawURL string) string {
	if c.socket != "" {
		return "unix:" + c.socket
	}
	if _, _, err := net.SplitHostPort(c.connectTo); c.connectTo == "" || err == nil {
		return c.connectTo
	}
	host := strings.TrimSuffix(strings.TrimPrefix(c.connectTo, "["), "]")
	u, err := url.Parse(rawURL)
	if err != nil {
		return c.connectTo // compile says what is wrong with the URL
	}
	port := u.Port()
	if port == "" {
		port = map[bool]string{true: "443", false: "80"}[strings.EqualFold(u.Scheme, "https")]
	}
	return net.JoinHostPort(host, port)
}

// http1Of: a server that chooses HTTP/1.1 gets as many requests at once as --h1 would send.
func (c *connectionFlags) http1Of(streams int32, pipelined bool) *v1alpha1.HTTP1 {
	if c.http3 || !c.http1 && len(c.tls.ALPN) > 0 && !slices.Contains(c.tls.ALPN, "http/1.1") {
		return nil
	}
	h := v1alpha1.HTTP1{}
	if pipelined && streams > 1 {
		h.Pipeline = min(streams, maxPipeline)
	}
	if c.noKeepAlive {
		h.KeepAlive = new(false)
	}
	return unlessZero(h)
}
