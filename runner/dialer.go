package runner

import (
	"context"
	"crypto/tls"
	"fmt"

	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/loop"
)

// dialer opens connections for all workers.
type dialer struct {
	ctx      context.Context
	resolver *dial.Resolver
	tls      []*tls.Config // by target of the plan; nil: cleartext
	// slots limit the connects under way, by target of the plan, so that a target that hangs delays no other target.
	slots []chan struct{}
}

// maxDialing bounds the connects under way to a target: enough to hide round trips, few enough not to
// overflow a listener's backlog (128 on many systems).
const maxDialing = 64

func newDialer(ctx context.Context, configs []*tls.Config) *dialer {
	d := &dialer{ctx: ctx, resolver: dial.NewResolver(), tls: configs}
	for range configs {
		d.slots = append(d.slots, make(chan struct{}, maxDialing))
	}
	return d
}

// Dial implements loop.Dialer.
func (d *dialer) Dial(w *loop.Worker, r loop.DialRequest) {
	t := r.Target
	req := &dial.Request{
		Endpoint: &t.Endpoints[r.Endpoint], Protocol: t.Protocol, Timeout: t.ConnectTimeout,
		TLS: d.tls[r.Origin], Address: r.Address, Number: r.Number, LocalAddresses: t.Connecting.LocalAddresses,
		Resolver: d.resolver, Progress: func(s dial.Step) { w.Progress(r, s) },
	}
	slots := d.slots[r.Origin]
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
		}
		if !w.Connected(r, c, err) && err == nil {
			c.Close()
		}
	}()
}
