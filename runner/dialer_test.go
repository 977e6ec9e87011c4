package runner

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/netio"
)

// TestHangingAuthorityDelaysNoOther: connects to an authority that hangs delay neither those to the target that it was
// followed from nor those to other authorities. More than maxDialing to one authority wait.
func TestHangingAuthorityDelaysNoOther(t *testing.T) {
	to := func(address string) *rv.Target {
		return &rv.Target{
			Name: "t", Protocol: rv.ProtocolH2C, ConnectTimeout: time.Second,
			Endpoints: []rv.Endpoint{{Scheme: "http", Authority: address, Address: address}},
		}
	}
	for _, tt := range []struct {
		name, address string
		want          time.Duration
	}{
		{"the origin", "10.0.0.1:80", 0},
		{"another authority", "10.0.0.3:80", 0},
		{"the authority that hangs", hangs, 2 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDialer(t.Context(), [][]*tls.Config{{nil}}, make([][]string, 1), nil, partlyHanging{}, nil)
				for range maxDialing {
					d.Dial(netio.Attempt{Awaiter: make(outcome, 1), Target: to(hangs)})
				}
				synctest.Wait() // they have their slots
				done, began := make(outcome, 1), time.Now()
				d.Dial(netio.Attempt{Awaiter: done, Target: to(tt.address)})
				<-done
				if got := time.Since(began); got != tt.want {
					t.Errorf("has an outcome after %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// outcome is an Awaiter that gets whether a connection is open.
type outcome chan bool

func (outcome) Progress(dial.Step) {}

func (o outcome) Connected(c *dial.Connection, err error) bool {
	if err == nil {
		c.Close()
	}
	o <- err == nil
	return true
}

// hangs is the address of which partlyHanging gives no answer.
const hangs = "10.0.0.2:80"

// partlyHanging is a Network.
type partlyHanging struct{ dial.Network }

func (partlyHanging) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	if address == hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	c, _ := net.Pipe()
	return c, nil
}

func (partlyHanging) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	panic("all addresses are IP addresses")
}
