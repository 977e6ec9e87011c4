package runner

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/policy"
	"github.com/h2surge/h2surge/runner/auth"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/loop"
)

const (
	// authorizeAgain is the pause after a token endpoint has refused or was not reached for some time.
	authorizeAgain = 5 * time.Second
	// authorizeSoon is this pause if another shard runs setup chains, which may register the client.
	authorizeSoon = time.Second
)

// authorizer gets the credentials of the targets of a plan.
type authorizer struct {
	plan    *rv.Plan
	program *chain.Program
	policy  *policy.Policy
	log     *slog.Logger
	mu      sync.Mutex         // guards counts
	counts  []rv.Authorization // by target; those of targets without a credential stay zero
}

// authorize gets the credentials that the workers need now, and keeps them up to date. It is called before the workers
// run, and by the first worker when it is Authorizing. Only the first worker can have setup chains.
func (a *authorizer) authorize(ctx context.Context, ws *workers) {
	for _, c := range ws.all[0].loop.Awaited() {
		if !ws.authorizing[c] {
			ws.authorizing[c] = true
			go a.keepCredential(ctx, ws, c)
		}
	}
}

// open gets a value of a credential, and keeps it up to date until the context ends; see auth.Open.
type open func(ctx context.Context, attempted func(error), update func([]byte, error)) (value []byte,
	done <-chan struct{}, err error)

// credential returns the target of a credential, the field that it is from, and what opens it.
func (a *authorizer) credential(c chain.Credential) (*rv.Target, string, open) {
	target, assertion := a.program.TargetOf(c)
	t := &a.plan.Targets[target]
	if assertion {
		return t, "clientAssertion.", func(ctx context.Context, attempted func(error), update func([]byte, error)) ([]byte,
			<-chan struct{}, error) {
			return auth.OpenAssertion(ctx, t.ClientAssertion, attempted, update)
		}
	}
	return t, "auth.", func(ctx context.Context, attempted func(error), update func([]byte, error)) ([]byte,
		<-chan struct{}, error) {
		return auth.Open(ctx, t.Auth, a.policy, attempted, update)
	}
}

// keepCredential gets a credential, and keeps it up to date. It tries again until it has the first value.
func (a *authorizer) keepCredential(ctx context.Context, ws *workers, c chain.Credential) {
	t, field, open := a.credential(c)
	why := func(err error) string { return fmt.Sprintf("target %s: %s%v", t.Name, field, err) }
	apply := func(value []byte, err error) {
		if err != nil {
			a.log.Warn("no authorization for a target", "target", t.Name, "err", err)
		}
		if failure.Of(err, "").Kind == rv.CauseDenied {
			ws.deny(fmt.Errorf("target %s: %s%w", t.Name, field, err))
		}
		ws.do(func(w *loop.Worker) {
			if err != nil {
				w.Unauthorized(c, why(err))
				return
			}
			w.SetCredential(c, value)
		})
	}
	first := true // the goroutine of Open sees it after it was set
	attempted := func(err error) {
		a.count(c, field, err)
		if err != nil && first {
			ws.do(func(w *loop.Worker) { w.Unauthorized(c, why(err)) })
		}
		first = first && err != nil
	}
	for {
		value, _, err := open(ctx, attempted, apply)
		apply(value, err)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(a.pause(ws)):
		}
	}
}

// count counts an attempt to get a credential, which is from a field of its target.
func (a *authorizer) count(c chain.Credential, field string, err error) {
	target, assertion := a.program.TargetOf(c)
	a.mu.Lock()
	defer a.mu.Unlock()
	n := &a.counts[target]
	switch {
	case err != nil:
		n.Failures++
		n.LastFailure = field + err.Error()
	case !assertion && a.plan.Targets[target].Auth.OAuth2 != nil:
		n.Tokens++
	}
}

// ofTargets returns the counts of the targets with a credential.
func (a *authorizer) ofTargets() (out []rv.Authorization) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.plan.Targets {
		if t := &a.plan.Targets[i]; t.HasCredential() {
			n := a.counts[i]
			n.Target = t.Name
			out = append(out, n)
		}
	}
	return out
}

// pause returns how long to wait after an attempt that failed.
func (a *authorizer) pause(ws *workers) time.Duration {
	setup := slices.ContainsFunc(a.program.Chains, func(c chain.Chain) bool { return c.Phase == rv.PhaseSetup })
	if setup && !ws.once {
		return authorizeSoon
	}
	return authorizeAgain
}
