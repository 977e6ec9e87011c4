package compile

import (
	"net/netip"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// Bounds of what a peer is told, in octets.
const (
	// maxTable is ours: a table is memory that the peer fills, once for each connection.
	maxTable = 16 << 20
	// maxWindow and minConnectionWindow are those of RFC 9113 6.9.1 and 6.9.2.
	maxWindow           = 1<<31 - 1
	minConnectionWindow = 65535
	// minFrame and maxFrame are those of RFC 9113 6.5.2.
	minFrame = 16384
	maxFrame = 1<<24 - 1
)

// http2 fills out.HTTP2; what is not given is left to the engine, whose default may then get
// better without the plan.
func (c *compiler) http2(at *field.Path, h *v1alpha1.HTTP2, out *runnerv1alpha1.Target) {
	if h == nil {
		return
	}
	if out.Protocol == runnerv1alpha1.ProtocolHTTP1 {
		c.fail(at, "http2 is not allowed when the target uses only HTTP/1.1")
	}
	out.HTTP2 = runnerv1alpha1.HTTP2{
		HeaderTableSize:  c.octets(at.Child("headerTableSize"), h.HeaderTableSize, 0, maxTable),
		EncoderTableSize: c.octets(at.Child("encoderTableSize"), h.EncoderTableSize, 0, maxTable),
		StreamWindow:     c.octets(at.Child("streamWindow"), h.StreamWindow, 1, maxWindow),
		ConnectionWindow: c.octets(at.Child("connectionWindow"), h.ConnectionWindow, minConnectionWindow, maxWindow),
		MaxFrameSize:     c.octets(at.Child("maxFrameSize"), h.MaxFrameSize, minFrame, maxFrame),
		PingInterval:     c.optional(at.Child("pingInterval"), h.PingInterval, pingSpan),
	}
}

func (c *compiler) octets(path *field.Path, given *int32, low, high int32) *uint32 {
	if given == nil || !between(c, path, *given, low, high) {
		return nil
	}
	n := uint32(*given)
	return &n
}

// optional is a duration that has no default: zero when it is not given.
func (c *compiler) optional(path *field.Path, d *metav1.Duration, within span) time.Duration {
	if d == nil {
		return 0
	}
	return c.duration(path, d, within)
}

func (c *compiler) http1(at *field.Path, h *v1alpha1.HTTP1, out *runnerv1alpha1.Target) {
	if h == nil {
		return
	}
	if p := out.Protocol; p == runnerv1alpha1.ProtocolH2 || p == runnerv1alpha1.ProtocolH2C {
		c.fail(at, "http1 is not allowed when the target uses only HTTP/2")
	}
	between(c, at.Child("pipeline"), h.Pipeline, 1, 64)
	if h.Pipeline > 1 {
		out.HTTP1.Pipeline = int(h.Pipeline)
	}
	out.HTTP1.NoKeepAlive = !*h.KeepAlive
	if out.HTTP1.NoKeepAlive && out.HTTP1.Pipeline > 1 {
		c.fail(at, "pipeline needs keepAlive: without keepAlive a connection carries one request")
	}
}

// defaultFailback is also the engine's.
const defaultFailback = 5 * time.Second

func (c *compiler) connecting(at *field.Path, t *v1alpha1.Target, out *runnerv1alpha1.Target) {
	if len(out.Endpoints) > 1 {
		out.Connecting.FailbackInterval = defaultFailback
	}
	g := t.Connecting
	if g == nil {
		return
	}
	to := &out.Connecting
	to.OnDemand = c.OnDemand(at, g)
	if g.Ramp != nil {
		if ramp := at.Child("ramp"); between(c, ramp.Child("connections"), g.Ramp.Connections, 1, 1_000_000) {
			to.RampCount, to.RampPeriod = int(g.Ramp.Connections), c.duration(ramp.Child("period"), g.Ramp.Period, timeoutSpan)
		}
	}
	to.MaxAge = c.optional(at.Child("maxAge"), g.MaxAge, stageSpan)
	to.InactivityTimeout = c.optional(at.Child("inactivityTimeout"), g.InactivityTimeout, timeoutSpan)
	if g.MaxRequests != nil && between(c, at.Child("maxRequests"), *g.MaxRequests, 1, 1_000_000_000_000) {
		to.MaxRequests = *g.MaxRequests
		if out.HTTP1.NoKeepAlive && out.Protocol == runnerv1alpha1.ProtocolHTTP1 && to.MaxRequests > 1 {
			c.fail(at.Child("maxRequests"), "must be 1 or unset with http1.keepAlive false: a connection carries one request")
		}
	}
	to.LocalAddresses = c.localAddresses(at.Child("localAddresses"), g.LocalAddresses, t.ConnectTo)
	c.failover(at, g, to)
}

func (c *compiler) OnDemand(at *field.Path, g *v1alpha1.Connecting) bool {
	switch g.Open {
	case "", v1alpha1.OpenAtStart:
		return false
	case v1alpha1.OpenOnDemand:
	default:
		c.fail(at.Child("open"), "must be AtStart or OnDemand")
	}
	if g.Ramp != nil {
		c.fail(at, "ramp is not allowed with open OnDemand: requests determine when the runner opens connections")
	}
	return true
}

func (c *compiler) failover(at *field.Path, g *v1alpha1.Connecting, to *runnerv1alpha1.Connecting) {
	if to.NoFailover = !*g.Failover; to.NoFailover {
		to.FailbackInterval = 0
	}
	if g.FailbackInterval == nil {
		return
	}
	to.FailbackInterval = c.duration(at.Child("failbackInterval"), g.FailbackInterval, timeoutSpan)
	if to.NoFailover {
		c.fail(at, "failbackInterval needs failover: without failover a connection stays on its own url")
	}
}

// localAddresses accepts what isIP of the API's rule does: no zones, and no IPv4 in the clothes of
// IPv6.
func (c *compiler) localAddresses(path *field.Path, addresses []string, connectTo string) []string {
	c.items(path, len(addresses), 0, 256)
	if len(addresses) > 0 && strings.HasPrefix(connectTo, "unix:") {
		c.fail(path, "is not allowed with a unix socket in connectTo")
	}
	for i, s := range addresses {
		if a, err := netip.ParseAddr(s); err != nil || a.Zone() != "" || a.Is4In6() {
			c.fail(path.Index(i), "must be IP addresses, without a zone")
		}
	}
	return addresses
}
