package h2loadrunner

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/convert"
)

// target makes the main target of the global fields.
func (c *converter) target() {
	top := c.top
	t := v1alpha1.Target{Name: c.Unique("target", mainTarget)}
	c.scheme = strings.ToLower(top.Text("schema"))
	switch c.scheme {
	case "http", "https":
	case "":
		c.scheme = "http"
		c.Warn("schema", "is not there; http is assumed")
	default:
		c.Fail("schema", "must be http or https")
		c.scheme = "http"
	}
	c.host = strings.Trim(top.Text("host"), "[]")
	if c.host == "" {
		c.Fail("host", "is needed")
		c.host = "localhost"
	}
	if c.scheme == "https" && !top.Has("port") {
		c.WarnAt("spec.targets[0].url", "port", "is not there; h2loadrunner takes 80 then, also for https")
	}
	c.port = c.portOf(top, "port", 80)
	t.URL = c.scheme + "://" + convert.Authority(c.scheme, c.host, c.port)
	c.clients = top.Whole("clients", 1)
	t.Connections = new(clamp(c.clients))
	t.MaxConcurrentStreams = clamp(top.Whole("max-concurrent-streams", 1))
	if !top.Has("max-concurrent-streams") {
		c.WarnAt("spec.targets[0].maxConcurrentStreams", "max-concurrent-streams",
			"is not there; h2loadrunner takes 1 then, though its schema says 32")
	}
	c.followed = top.Flag("open-new-connection-based-on-authority-header")
	c.Origin("spec.targets[0]", "host")
	c.Origin("spec.targets[0].connections", "clients")
	c.Origin("spec.targets[0].maxConcurrentStreams", "max-concurrent-streams")
	c.Spec().Targets = []v1alpha1.Target{t}
	c.share()
	c.protocol()
	c.http2()
	c.connecting()
	if c.scheme == "https" {
		c.tls()
	} else {
		c.noTLS()
	}
}

// clamp leaves what is too large for compile to complain about.
func clamp(n int64) int32 { return int32(min(n, math.MaxInt32)) }

func (c *converter) portOf(o *convert.Object, name string, absent int64) string {
	n := o.Whole(name, absent)
	switch {
	case n > math.MaxUint16:
		c.Fail(o.At(name), "must be at most 65535")
		return ""
	case n == 0:
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// share makes the load-share group.
func (c *converter) share() {
	retry := c.top.Flag("connection-retry")
	back := c.top.Flag("switch-back-after-connection-retry")
	hosts := c.top.List("load-share-hosts")
	if !retry && c.top.Has("connection-retry") {
		c.Warn("connection-retry", "false leaves lost connections closed; here each is opened again, so that the load continues")
	}
	if back && (!retry || len(hosts) == 0) {
		c.Warn("switch-back-after-connection-retry",
			"has no meaning without connection-retry and load-share-hosts and is left out")
	}
	if len(hosts) == 0 {
		return
	}
	t := c.main()
	t.URLs, t.URL = []string{t.URL}, ""
	for _, h := range hosts {
		host := h.Text("host")
		if host == "" {
			c.Fail(h.At("host"), "is needed")
		}
		t.URLs = append(t.URLs, c.scheme+"://"+convert.Authority(c.scheme, host, c.portOf(h, "port", 0)))
		h.End()
	}
	n := &v1alpha1.Connecting{}
	t.Connecting = n
	switch {
	case !retry:
		n.Failover = new(false)
	case back:
		n.FailbackInterval = convert.Given(time.Second)
	default:
		n.FailbackInterval = convert.Given(time.Hour)
		c.WarnAt("spec.targets[0].connecting.failbackInterval", "switch-back-after-connection-retry",
			"without it a connection stays where it went; here it tries its own URL again after an hour")
	}
}

func (c *converter) protocol() {
	t := c.main()
	clear := c.top.Text("no-tls-proto")
	list := c.top.Text("npn-list")
	if c.scheme == "http" {
		if clear != "" && clear != "h2c" {
			t.Protocol = v1alpha1.ProtocolHTTP1
		} else {
			t.Protocol = v1alpha1.ProtocolH2C
		}
		return
	}
	offered := c.alpn(list)
	switch {
	case list == "":
	case len(offered) == 1 && offered[0] == "http/1.1":
		t.Protocol = v1alpha1.ProtocolHTTP1
	case len(offered) == 1:
		t.Protocol = v1alpha1.ProtocolH2
	case len(offered) > 1:
		t.TLS = &v1alpha1.TLS{ALPN: offered}
	}
}

// alpn keeps what may be offered here.
func (c *converter) alpn(list string) (out []string) {
	seen := map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		switch {
		case name == "" || seen[name]:
		case name == "h2" || name == "http/1.1":
			out = append(out, name)
		case name == "h2-16" || name == "h2-14": // drafts of HTTP/2, in theirs by default
		default:
			c.WarnAt("spec.targets[0]", "npn-list", "%s cannot be offered and is left out", name)
		}
		seen[name] = true
	}
	if list != "" && len(out) == 0 {
		c.Fail("npn-list", "has nothing that can be offered; h2 and http/1.1 are possible")
	}
	return out
}

func (c *converter) http2() {
	var h v1alpha1.HTTP2
	for _, f := range []struct {
		name string
		to   **int32
	}{{"header-table-size", &h.HeaderTableSize}, {"encoder-header-table-size", &h.EncoderTableSize}} {
		if c.top.Has(f.name) {
			*f.to = new(clamp(c.top.Whole(f.name, 0)))
		}
	}
	h.StreamWindow = c.window("window-bits")
	h.ConnectionWindow = c.window("connection-window-bits")
	if h.ConnectionWindow != nil && *h.ConnectionWindow < 65535 {
		c.WarnAt("spec.targets[0].http2.connectionWindow", "connection-window-bits",
			"a connection's window cannot be below 65535 (RFC 9113 6.9.2), which is taken")
		*h.ConnectionWindow = 65535
	}
	if s := c.top.Number("interval-between-ping-frames", 0); s > 0 {
		h.PingInterval = c.seconds("interval-between-ping-frames", s)
		c.WarnAt("spec.targets[0].http2.pingInterval", "interval-between-ping-frames",
			"a connection that does not answer the PING is closed here")
	}
	switch {
	case h == (v1alpha1.HTTP2{}):
	case c.main().Protocol == v1alpha1.ProtocolHTTP1:
		c.Warn("window-bits", "and all else that is about HTTP/2 is left out: only HTTP/1.1 is spoken")
	default:
		c.main().HTTP2 = &h
	}
}

// window is 2^bits-1 octets, a flow control window as h2load has it.
func (c *converter) window(name string) *int32 {
	if !c.top.Has(name) {
		return nil
	}
	bits := c.top.Whole(name, 30)
	if bits < 1 || bits > 31 {
		c.Fail(name, "must be 1 to 31")
		return nil
	}
	return new(int32(int64(1)<<bits - 1))
}

func (c *converter) seconds(name string, s float64) *v1alpha1.Duration {
	d, ok := convert.Seconds(s)
	if !ok {
		c.Fail(name, "is too long")
		return nil
	}
	return convert.Given(d)
}

func (c *converter) connecting() {
	t := c.main()
	n := v1alpha1.Connecting{}
	if t.Connecting != nil {
		n = *t.Connecting
	}
	if rate := c.top.Whole("rate", 0); rate > 0 {
		n.Ramp = &v1alpha1.ConnectionRamp{Connections: clamp(rate)}
		if s := c.top.Number("rate-period", 1); s != 1 {
			n.Ramp.Period = c.seconds("rate-period", s)
		}
		c.WarnAt("spec.targets[0].connecting.ramp", "rate",
			"the load starts when all connections are open, not while they are opened")
	} else {
		c.top.Number("rate-period", 1)
	}
	if s := c.top.Number("connection-active-timeout", 0); s > 0 {
		n.MaxAge = c.seconds("connection-active-timeout", s)
		c.WarnAt("spec.targets[0].connecting.maxAge", "connection-active-timeout",
			"connections that are so old are replaced, and their responses awaited; the number is taken for seconds, as h2loadrunner's code does")
	}
	for _, name := range []string{"connection-inactivity-timeout", "connection-inactive-timeout"} {
		if s := c.top.Number(name, 0); s > 0 {
			n.InactivityTimeout = c.seconds(name, s)
			c.WarnAt("spec.targets[0].connecting.inactivityTimeout", name,
				"counts while requests are in flight only, and another connection takes the place of one that is closed")
		}
	}
	if n.Ramp != nil || n.MaxAge != nil || n.InactivityTimeout != nil || t.Connecting != nil {
		t.Connecting = &n
	}
}
