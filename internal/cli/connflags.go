package cli

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// maxPipeline is the bound of targets[].http1.pipeline.
const maxPipeline = 64

// connectionFlags say how the one target of the URL form is connected to and spoken with.
type connectionFlags struct {
	http1        bool
	noKeepAlive  bool
	insecure     bool
	choice       string
	alpn         string
	serverName   string
	ca           string
	certificate  string
	key          string
	ciphers      string
	groups       string
	connectTo    string
	socket       string
	local        []string
	streamBits   bits
	connBits     bits
	maxFrame     octets
	decoderTable octets
	encoderTable octets
	rate         int32
	ratePeriod   seconds
	activeLimit  seconds
	silentLimit  seconds
	flags        *pflag.FlagSet
}

func (c *connectionFlags) register(own *pflag.FlagSet) {
	own.BoolVar(&c.http1, "h1", false, "use HTTP/1.1; it pipelines -m requests, as h2load does, and one request with -d")
	own.BoolVar(&c.noKeepAlive, "no-keepalive", false, "open a connection for each request, as ab does; with --h1")
	own.StringVar(&c.choice, "connection-choice", "", "connections of requests that are sent at the same time: `Spread or Batch` (default Spread); Batch fills one connection first")
	own.BoolVarP(&c.insecure, "insecure", "k", false, "do not verify the server's certificate (h2load never verifies it)")
	own.StringVar(&c.alpn, "alpn", "", "`list` of protocols to offer with https, the preferred one first (default \"h2,http/1.1\")")
	own.StringVar(&c.alpn, "alpn-list", "", "")
	_ = own.MarkHidden("alpn-list") // h2load's name of it; it is defined in the line above
	own.StringVar(&c.serverName, "sni", "", "host `name` for SNI and for the certificate, instead of the URL's")
	own.StringVar(&c.ca, "cacert", "", "PEM `file` with the certificate authorities to trust, instead of the system's")
	own.StringVar(&c.certificate, "cert", "", "PEM `file` with the client's certificate and its chain")
	own.StringVar(&c.key, "key", "", "PEM `file` with the client's key (default: the file of --cert)")
	own.StringVar(&c.ciphers, "ciphers", "", "`list` of cipher suites for TLS 1.2, separated by colons; with IANA or OpenSSL names")
	own.StringVar(&c.groups, "groups", "", "`list` of key exchange groups, separated by colons, such as X25519:P-256")
	own.StringVar(&c.connectTo, "connect-to", "", "`HOST[:PORT]` to connect to; requests keep the URL's host")
	own.StringVar(&c.socket, "unix", "", "`path` of a Unix socket to connect to")
	own.StringArrayVar(&c.local, "local-address", nil, "IP `address` to connect from; may be repeated: connections use the addresses in turn")
	own.VarP(&c.streamBits, "window-bits", "w", "receive window of a stream: 2^`N`-1 octets (default 4 MiB)")
	own.VarP(&c.connBits, "connection-window-bits", "W", "receive window of a connection: 2^`N`-1 octets, N at least 16 (default 16 MiB)")
	own.Var(&c.maxFrame, "max-frame-size", "largest frame to accept, in `octets` (default 16K); h2load has -f for it")
	own.Var(&c.decoderTable, "header-table-size", "header table of the decoder, in `octets` (default 4K)")
	own.Var(&c.encoderTable, "encoder-header-table-size", "largest header table of the encoder, in `octets` (default 4K)")
	own.Int32VarP(&c.rate, "connection-rate", "r", 0, "`number` of connections to open per period; 0: all at once")
	c.ratePeriod = seconds(time.Second)
	own.Var(&c.ratePeriod, "connection-rate-period", "`time` of the period of -r")
	own.VarP(&c.activeLimit, "connection-active-timeout", "T", "`time` after which a new connection replaces a connection; the old one still receives its responses (not in h2load)")
	own.VarP(&c.silentLimit, "connection-inactivity-timeout", "N", "`time` after which a connection is closed on which the server owes responses and sends nothing")
	c.flags = own
}

// octets is a number with an optional unit K, M or G, as h2load has it.
type octets struct{ n *int32 }

func (o *octets) Type() string { return "octets" }

func (o *octets) String() string {
	if o.n == nil {
		return ""
	}
	return strconv.Itoa(int(*o.n))
}

func (o *octets) Set(text string) error {
	number, shift := text, 0
	if n := len(text); n > 0 {
		if i := strings.IndexByte("KMG", text[n-1]&^0x20); i >= 0 {
			number, shift = text[:n-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil || n < 0 || n > math.MaxInt32>>shift {
		return fmt.Errorf("%q is not a number of octets; allowed: numbers such as 16384 or 16K", text)
	}
	v := int32(n) << shift
	o.n = &v
	return nil
}

// bits is the N of a window of 2^N-1 octets.
type bits struct{ window *int32 }

func (b *bits) Type() string { return "bits" }

func (b *bits) String() string {
	if b.window == nil {
		return ""
	}
	return strconv.Itoa(int(*b.window))
}

func (b *bits) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil || n < 1 || n > 31 {
		return fmt.Errorf("%q is not allowed; allowed: 1 to 31", text)
	}
	v := int32(1<<n - 1)
	b.window = &v
	return nil
}

// check finds what would mean something else, or nothing, in the LoadTest.
func (c *connectionFlags) check(streams int32) []string {
	var wrong []string
	add := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	add(c.http1 && c.alpn != "", "--alpn: not allowed with --h1, which offers http/1.1 only")
	add(c.noKeepAlive && !c.http1, "--no-keepalive: allowed only with --h1")
	add(c.noKeepAlive && streams > 1, "-m: must be 1 with --no-keepalive, because a connection carries one request")
	add(c.http1 && streams > maxPipeline, "-m: must be at most %d with HTTP/1.1", maxPipeline)
	add(c.connectTo != "" && c.socket != "", "--unix: not allowed with --connect-to")
	add(c.key != "" && c.certificate == "", "--key: allowed only with --cert")
	add(c.rate < 0, "-r: must not be negative")
	add(c.rate == 0 && c.flags.Changed("connection-rate-period"), "--connection-rate-period: allowed only with -r")
	return wrong
}

// apply writes the flags into the target, whose URL and streams are set. pipelined says that
// requests may be sent before the responses to earlier ones.
func (c *connectionFlags) apply(t *v1alpha1.Target, pipelined bool) {
	secure := strings.HasPrefix(strings.ToLower(t.URL), "https:")
	if c.http1 {
		t.Protocol = v1alpha1.ProtocolHTTP1
	}
	t.ConnectionChoice = v1alpha1.ConnectionChoice(c.choice)
	t.TLS = c.tls(secure)
	t.ConnectTo = c.address(t.URL)
	t.HTTP2 = c.http2()
	t.HTTP1 = c.http1Of(t.MaxConcurrentStreams, pipelined)
	t.Connecting = c.connecting()
}

// tls is nil when there is nothing to say.
func (c *connectionFlags) tls(secure bool) *v1alpha1.TLS {
	t := v1alpha1.TLS{
		ServerName: c.serverName, InsecureSkipVerify: c.insecure && secure,
		CipherSuites: suites(c.ciphers), Curves: list(c.groups), ALPN: list(c.alpn),
	}
	if c.ca != "" {
		t.CA = &v1alpha1.CertificateAuthority{File: c.ca}
	}
	if c.certificate != "" {
		key := c.key
		if key == "" {
			key = c.certificate
		}
		t.Certificate = &v1alpha1.ClientCertificate{Files: &v1alpha1.CertificateFiles{Certificate: c.certificate, Key: key}}
	}
	if t.ServerName == "" && !t.InsecureSkipVerify && t.CA == nil && t.Certificate == nil && len(t.CipherSuites)+len(t.Curves)+len(t.ALPN) == 0 {
		return nil
	}
	return &t
}

// list splits at colons and commas: h2load has the former for groups and suites, the latter for
// protocols, and no name contains either.
func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.FieldsFunc(s, func(r rune) bool { return r == ':' || r == ',' })
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

func (c *connectionFlags) http2() *v1alpha1.HTTP2 {
	h := v1alpha1.HTTP2{
		HeaderTableSize: c.decoderTable.n, EncoderTableSize: c.encoderTable.n, MaxFrameSize: c.maxFrame.n,
		StreamWindow: c.streamBits.window, ConnectionWindow: c.connBits.window,
	}
	if h == (v1alpha1.HTTP2{}) {
		return nil
	}
	return &h
}

// http1Of: a server that chooses HTTP/1.1 gets as many requests at once as --h1 would send.
func (c *connectionFlags) http1Of(streams int32, pipelined bool) *v1alpha1.HTTP1 {
	offered := list(c.alpn)
	if !c.http1 && len(offered) > 0 && !slices.Contains(offered, "http/1.1") {
		return nil
	}
	h := v1alpha1.HTTP1{}
	if pipelined && streams > 1 {
		h.Pipeline = min(streams, maxPipeline)
	}
	if c.noKeepAlive {
		keep := false
		h.KeepAlive = &keep
	}
	if h == (v1alpha1.HTTP1{}) {
		return nil
	}
	return &h
}

func (c *connectionFlags) connecting() *v1alpha1.Connecting {
	n := v1alpha1.Connecting{LocalAddresses: c.local}
	if c.rate > 0 {
		n.Ramp = &v1alpha1.ConnectionRamp{Connections: c.rate, Period: c.ratePeriod.given()}
	}
	if c.activeLimit > 0 {
		n.MaxAge = c.activeLimit.given()
	}
	if c.silentLimit > 0 {
		n.InactivityTimeout = c.silentLimit.given()
	}
	if n.Ramp == nil && n.MaxAge == nil && n.InactivityTimeout == nil && n.LocalAddresses == nil {
		return nil
	}
	return &n
}

func (s *seconds) given() *v1alpha1.Duration {
	return &v1alpha1.Duration{Duration: time.Duration(*s)}
}

// connectionFields are the fields below spec.targets[0] that the flags are made into, the more
// special before the more general.
var connectionFields = []struct{ field, flags string }{
	{"tls.serverName", "sni"},
	{"tls.ca", "cacert"},
	{"tls.certificate.files.key", "key"},
	{"tls.certificate", "cert"},
	{"tls.cipherSuites", "ciphers"},
	{"tls.curves", "groups"},
	{"tls.alpn", "alpn"},
	{"tls", "sni cacert cert ciphers groups alpn alpn-list insecure"},
	{"http2.streamWindow", "window-bits"},
	{"http2.connectionWindow", "connection-window-bits"},
	{"http2.maxFrameSize", "max-frame-size"},
	{"http2.headerTableSize", "header-table-size"},
	{"http2.encoderTableSize", "encoder-header-table-size"},
	{"http2", "window-bits connection-window-bits max-frame-size header-table-size encoder-header-table-size"},
	{"connecting.ramp.period", "connection-rate-period"},
	{"connecting.ramp", "connection-rate"},
	{"connecting.maxAge", "connection-active-timeout"},
	{"connecting.inactivityTimeout", "connection-inactivity-timeout"},
	{"connecting.localAddresses", "local-address"},
	{"connectTo", "connect-to unix resolve"},
	{"connectTimeout", "connect-timeout"},
	{"tls.minVersion", "tlsv1.2 tlsv1.3"},
	{"connectionChoice", "connection-choice"},
}

// flagOf returns the flags that set a field below spec.targets[0], as the user wrote them. It is empty for a field that these flags do
// not set. If several flags set the field, it returns those on the command line.
func (c *connectionFlags) flagOf(field string) string {
	for _, f := range connectionFields {
		if field != f.field && !strings.HasPrefix(field, f.field+".") && !strings.HasPrefix(field, f.field+"[") {
			continue
		}
		var given []string
		for name := range strings.FieldsSeq(f.flags) {
			if flag := c.flags.Lookup(name); flag.Changed {
				given = append(given, typed(flag))
			}
		}
		if len(given) > 0 {
			return strings.Join(given, ", ")
		}
	}
	return ""
}
