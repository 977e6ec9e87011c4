package runner

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"sync"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/policy"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/netio"
	"github.com/h2surge/h2surge/runner/quicnet"
)

// dialer opens connections for all workers.
type dialer struct {
	ctx      context.Context
	resolver *dial.Resolver
	// discovery has the protocols of the targets without TLS that leave them to the server.
	discovery dial.Discovery
	// alternatives has where targets offer HTTP/3, by target of the plan.
	alternatives []dial.Alternatives
	// negotiated has the protocols that servers chose by ALPN, by destination.
	negotiated sync.Map
	// tls are by target of the plan, and then by client; nil: cleartext.
	tls [][]*tls.Config
	// from are the addresses to connect from, by target of the plan.
	from [][]string
	// slots limit the connects under way, by the destination of a target's first endpoint, so that a target that hangs
	// delays no other target. Targets that were followed have their own.
	slots   sync.Map
	policy  *policy.Policy
	network dial.Network
	// denied is called if the policy denies a connection.
	denied func(err error)
}

// destination is the address of an endpoint of a target of the plan, or of one that was followed from it.
type destination struct {
	target  int
	address string
}

// maxDialing bounds the connects under way to a target: enough to hide round trips, few enough not to
// overflow a listener's backlog (128 on many systems).
const maxDialing = 64

func newDialer(ctx context.Context, configs [][]*tls.Config, from [][]string, p *policy.Policy, n dial.Network,
	denied func(error)) *dialer {
	return &dialer{ctx: ctx, resolver: dial.NewResolver(n), alternatives: make([]dial.Alternatives, len(configs)),
		tls: configs, from: from, policy: p, network: n, denied: denied}
}

// Dial implements netio.Dialer.
func (d *dialer) Dial(a netio.Attempt) {
	t, secure := a.Target, d.tls[a.Origin]
	req := &dial.Request{
		Endpoint: &t.Endpoints[a.Endpoint], Protocol: t.Protocol, Discovery: &d.discovery, Timeout: t.ConnectTimeout,
		TLS: secure[a.Number%len(secure)], Address: a.Address, Number: a.Number, LocalAddresses: d.from[a.Origin],
		Resolver: d.resolver, Network: d.network, Policy: d.policy, Progress: a.Progress,
	}
	if d.network == nil {
		req.QUIC = quicTo(t)
	}
	if t.AltSvc {
		req.Alternatives = &d.alternatives[a.Origin]
	}
	slots := d.slotsOf(a)
	go func() {
		select {
		case <-d.ctx.Done():
			return
		case slots <- struct{}{}:
		}
		defer func() { <-slots }()
		c, err := dial.Open(d.ctx, req)
		if err != nil {
			err = fmt.Errorf("target %s: %w", t.Name, err)
			if failure.Of(err, "").Kind == rv.CauseDenied {
				d.denied(err)
			}
		}
		if err == nil && t.Protocol == rv.ProtocolALPN {
			d.note(destination{a.Origin, req.Endpoint.Address}, c.Protocol)
		}
		if !a.Connected(c, err) && err == nil {
			c.Close()
		}
	}()
}

// slotsOf returns the slots that an attempt needs one of. All workers share them.
func (d *dialer) slotsOf(a netio.Attempt) chan struct{} {
	first := destination{a.Origin, a.Target.Endpoints[0].Address}
	slots, _ := d.slots.LoadOrStore(first, make(chan struct{}, maxDialing))
	return slots.(chan struct{}) //nolint:errcheck,forcetypeassert // see above
}

// quicTo returns what opens connections of QUIC to a target.
func quicTo(t *rv.Target) dial.QUIC {
	return func(ctx context.Context, from net.Addr, to string, secure *tls.Config) (dial.Streams, error) {
		return quicnet.Dial(ctx, to, &quicnet.Config{
			TLS: secure, Dialer: net.Dialer{LocalAddr: from}, Streams: t.MaxConcurrentStreams,
			KeepAlive: t.HTTP2.PingInterval, Early: t.TLS.EarlyData != "",
		})
	}
}

// note keeps what a server chose. HTTP/2 stays if the servers of an address differ, so that HTTP/1.1 means that all
// chose it.
func (d *dialer) note(at destination, chosen rv.Protocol) {
	if before, known := d.negotiated.LoadOrStore(at, chosen); known && before != chosen {
		d.negotiated.Store(at, rv.ProtocolH2)
	}
}

// found returns the protocol at an endpoint of a target that leaves it to the server; empty: it is not known yet.
func (d *dialer) found(target int, of rv.Protocol, address string) rv.Protocol {
	if of == rv.ProtocolDiscovered {
		return d.discovery.Found(address)
	}
	p, _ := d.negotiated.Load(destination{target, address})
	chosen, _ := p.(rv.Protocol)
	return chosen
}

// protocols returns what was found at each endpoint of each target, or nil if no target leaves its protocol to the
// server.
func (ws *workers) protocols(p *rv.Plan) [][]rv.EndpointProtocol {
	asks := func(t rv.Target) bool {
		return t.Protocol == rv.ProtocolDiscovered || t.Protocol == rv.ProtocolALPN
	}
	if !slices.ContainsFunc(p.Targets, asks) {
		return nil
	}
	out := make([][]rv.EndpointProtocol, len(p.Targets))
	for i := range p.Targets {
		if !asks(p.Targets[i]) {
			continue
		}
		for k := range p.Targets[i].Endpoints {
			e := &ws.program.Targets[i].Endpoints[k]
			found := rv.EndpointProtocol{Protocol: ws.dialer.found(i, p.Targets[i].Protocol, e.Address)}
			if found.Protocol != "" && len(p.Targets[i].Endpoints[k].URL) > 0 {
				url := e.Scheme + "://" + e.Authority // without the path, which may have a secret
				found.URL = url[:min(len(url), rv.MaxFoundURL)]
			}
			out[i] = append(out[i], found)
		}
	}
	return out
}
