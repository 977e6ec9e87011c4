package compile

import (
	"net/netip"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// http2 fills out.HTTP2. The engine has defaults for the fields that are not set.
func (c *checker) http2(at *field.Path, h *v1alpha1.HTTP2, out *runnerv1alpha1.Target) {
	if h == nil {
		return
	}
	if out.Protocol == runnerv1alpha1.ProtocolHTTP1 {
		c.fail(at, "http2 is not allowed when the target uses only HTTP/1.1")
	}
	out.HTTP2 = runnerv1alpha1.HTTP2{
		HeaderTableSize:  octets(h.HeaderTableSize),
		EncoderTableSize: octets(h.EncoderTableSize),
		StreamWindow:     octets(h.StreamWindow),
		ConnectionWindow: octets(h.ConnectionWindow),
		MaxFrameSize:     octets(h.MaxFrameSize),
		PingInterval:     optional(h.PingInterval),
	}
}

func octets(given *int32) *uint32 {
	if given == nil {
		return nil
	}
	n := uint32(*given)
	return &n
}

// optional returns a duration that has no default; 0: it is not set.
func optional(d *v1alpha1.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return d.Duration
}

func offset(d *v1alpha1.SignedDuration) time.Duration {
	if d == nil {
		return 0
	}
	return d.Duration.Duration
}

func (c *checker) http1(at *field.Path, h *v1alpha1.HTTP1, out *runnerv1alpha1.Target) {
	if h == nil {
		return
	}
	if p := out.Protocol; p == runnerv1alpha1.ProtocolH2 || p == runnerv1alpha1.ProtocolH2C {
		c.fail(at, "http1 is not allowed when the target uses only HTTP/2")
	}
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

func (c *checker) connecting(at *field.Path, t *v1alpha1.Target, out *runnerv1alpha1.Target) {
	if len(out.Endpoints) > 1 {
		out.Connecting.FailbackInterval = defaultFailback
	}
	g := t.Connecting
	if g == nil {
		return
	}
	to := &out.Connecting
	to.OnDemand = c.onDemand(at, g)
	if to.PerInstance = g.Open == v1alpha1.OpenPerInstance; to.PerInstance {
		c.perInstance(at.Child("open"), out)
	}
	if g.Ramp != nil {
		to.RampCount, to.RampPeriod = int(g.Ramp.Connections), g.Ramp.Period.Duration
	}
	to.MaxAge = optional(g.MaxAge)
	to.InactivityTimeout = optional(g.InactivityTimeout)
	if g.MaxRequests != nil {
		to.MaxRequests = *g.MaxRequests
		if out.HTTP1.NoKeepAlive && out.Protocol == runnerv1alpha1.ProtocolHTTP1 && to.MaxRequests > 1 {
			c.fail(at.Child("maxRequests"), "must be 1 or unset with http1.keepAlive false: a connection carries one request")
		}
	}
	to.LocalAddresses = c.localAddresses(at.Child("localAddresses"), g.LocalAddresses, t.ConnectTo)
	if to.Interface = g.Interface; g.Interface != "" && len(g.LocalAddresses) > 0 {
		c.fail(at.Child("interface"), "cannot be used with localAddresses")
	}
	if g.Interface != "" && strings.HasPrefix(t.ConnectTo, "unix:") {
		c.fail(at.Child("interface"), "is not allowed with a unix socket in connectTo")
	}
	c.failover(at, g, to)
	if to.PerInstance {
		to.FailbackInterval = 0 // the next instance begins with its own url again
	}
}

// onDemand reports whether requests determine when connections are opened.
func (c *checker) onDemand(at *field.Path, g *v1alpha1.Connecting) bool {
	if g.Open == v1alpha1.OpenAtStart {
		return false
	}
	if g.Ramp != nil {
		c.fail(at, "ramp needs open AtStart: else requests determine when the runner opens connections")
	}
	return true
}

// perInstance reports what connections of chain instances cannot have.
func (c *checker) perInstance(at *field.Path, t *runnerv1alpha1.Target) {
	if t.Batch {
		c.fail(at, "PerInstance cannot be used with connectionChoice Batch: an instance does not use the connections of others")
	}
	if t.HTTP1.NoKeepAlive {
		c.fail(at, "PerInstance needs http1.keepAlive: without keepAlive a connection carries one request")
	}
}

func (c *checker) failover(at *field.Path, g *v1alpha1.Connecting, to *runnerv1alpha1.Connecting) {
	if to.NoFailover = !*g.Failover; to.NoFailover {
		to.FailbackInterval = 0
	}
	if g.FailbackInterval == nil {
		return
	}
	to.FailbackInterval = g.FailbackInterval.Duration
	if to.NoFailover {
		c.fail(at, "failbackInterval needs failover: without failover a connection stays on its own url")
	}
}

// localAddresses accepts the addresses that the API's rule accepts: isIP accepts neither zones nor IPv4-mapped
// IPv6 addresses.
func (c *checker) localAddresses(path *field.Path, addresses []string, connectTo string) []string {
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
