package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
)

// Resolver resolves host names. It keeps an answer for a second, and attempts for the same name share one question:
// without keep-alive, every request connects.
type Resolver struct {
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
	now    func() time.Time

	mu    sync.Mutex // guards hosts
	hosts map[string]*answer
}

// keepAnswer is how long an answer of a name server is used.
const keepAnswer = time.Second

// answer is the answer of the name server for a host, or the question until done is closed.
type answer struct {
	done chan struct{} // closed when the fields below are valid
	ips  []netip.Addr
	err  error
	at   time.Time
}

// NewResolver returns a resolver that asks a network; nil: as the system is configured.
func NewResolver(n Network) *Resolver {
	r := &Resolver{lookup: net.DefaultResolver.LookupNetIP, now: time.Now, hosts: map[string]*answer{}}
	if n != nil {
		r.lookup = n.LookupNetIP
	}
	return r
}

// addresses resolves the host of "host:port" to all its addresses.
func (r *Resolver) addresses(ctx context.Context, address string) ([]string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return []string{address}, nil
	}
	ips, err := r.resolve(ctx, host)
	if errors.Is(err, context.DeadlineExceeded) {
		err = failure.New(rv.CauseNotResolved, host+": no answer in time")
	}
	if err != nil {
		return nil, fmt.Errorf("resolve: %w", err)
	}
	all := make([]string, len(ips))
	for i, ip := range ips {
		all[i] = net.JoinHostPort(ip.String(), port)
	}
	return all, nil
}

// resolve returns the answer that is known, or waits for a new one. A separate goroutine asks, so that one caller may
// give up while others wait.
func (r *Resolver) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	r.mu.Lock()
	a := r.hosts[host]
	if a == nil || a.isOld(r.now()) {
		a = &answer{done: make(chan struct{})}
		r.hosts[host] = a
		go r.ask(context.WithoutCancel(ctx), host, a)
	}
	r.mu.Unlock()
	select {
	case <-a.done:
		return a.ips, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// askTimeout limits a question to a name server. The retries of the system end before.
const askTimeout = time.Minute

func (r *Resolver) ask(ctx context.Context, host string, a *answer) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	ips, err := r.lookup(ctx, "ip", host)
	if err == nil && len(ips) == 0 {
		err = &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	a.ips, a.err, a.at = order(ips), err, r.now()
	close(a.done)
}

// isOld returns true if an answer must not be used any more. Errors are not kept.
func (a *answer) isOld(now time.Time) bool {
	select {
	case <-a.done:
		return a.err != nil || now.Sub(a.at) >= keepAnswer
	default:
		return false
	}
}

// order sorts addresses and drops repetitions: name servers rotate their answers, which would upset an exact spread.
// The family that the resolver puts first comes first (RFC 6724).
func order(ips []netip.Addr) []netip.Addr {
	if len(ips) == 0 {
		return nil
	}
	four := ips[0].Unmap().Is4()
	all := make([]netip.Addr, len(ips))
	for i, ip := range ips {
		all[i] = ip.Unmap()
	}
	slices.SortFunc(all, func(a, b netip.Addr) int {
		if a.Is4() != b.Is4() {
			if a.Is4() == four {
				return -1
			}
			return 1
		}
		return a.Compare(b)
	})
	return slices.Compact(all)
}
