package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
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

// authorize gets the credentials that the workers need now, and keeps them up to date. It is called before the workers
// run, and by the first worker when it is Authorizing. Only the first worker can have setup chains.
func (r *Runner) authorize(ctx context.Context, ws *workers) {
	for _, c := range ws.all[0].loop.Awaited() {
		if !ws.authorizing[c] {
			ws.authorizing[c] = true
			go r.keepCredential(ctx, ws, c)
		}
	}
}

// open gets a value of a credential, and keeps it up to date until the context ends; see auth.Open.
type open func(ctx context.Context, attempted func(error), update func([]byte, error)) (value []byte, done <-chan struct{}, err error)

// credential returns the target of a credential, the field that it is from, and what opens it.
func (r *Runner) credential(c chain.Credential) (*rv.Target, string, open) {
	target, assertion := r.program.TargetOf(c)
	t := &r.plan.Targets[target]
	if assertion {
		return t, "clientAssertion.", func(ctx context.Context, attempted func(error), update func([]byte, error)) ([]byte, <-chan struct{}, error) {
			return auth.OpenAssertion(ctx, t.ClientAssertion, attempted, update)
		}
	}
	return t, "auth.", func(ctx context.Context, attempted func(error), update func([]byte, error)) ([]byte, <-chan struct{}, error) {
		return auth.Open(ctx, t.Auth, nil, r.policy, attempted, update)
	}
}

func (r *Runner) keepCredential(ctx context.Context, ws *workers, c chain.Credential) {
	t, field, open := r.credential(c)
	why := func(err error) string { return fmt.Sprintf("target %s: %s%v", t.Name, field, err) }
	apply := func(value []byte, err error) {
		if err != nil {
			r.opts.Logger.Warn("no authorization for a target", "target", t.Name, "err", err)
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
		r.countAttempt(c, err)
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
		case <-time.After(r.authorizePause(ws)):
		}
	}
}

// countAttempt counts an attempt to get a credential.
func (r *Runner) countAttempt(c chain.Credential, err error) {
	target, assertion := r.program.TargetOf(c)
	t, field, _ := r.credential(c)
	r.mu.Lock()
	defer r.mu.Unlock()
	a := &r.authorizations[target]
	switch {
	case err != nil:
		a.Failures++
		a.LastFailure = field + err.Error()
	case !assertion && t.Auth.OAuth2 != nil:
		a.Tokens++
	}
}

// authorizationsOfTargets returns the counts of the targets with a credential. The caller holds mu.
func (r *Runner) authorizationsOfTargets() (out []rv.Authorization) {
	for i := range r.plan.Targets {
		if t := &r.plan.Targets[i]; t.HasCredential() {
			a := r.authorizations[i]
			a.Target = t.Name
			out = append(out, a)
		}
	}
	return out
}

func (r *Runner) authorizePause(ws *workers) time.Duration {
	setup := slices.ContainsFunc(r.program.Chains, func(c chain.Chain) bool { return c.Phase == rv.PhaseSetup })
	if setup && !ws.once {
		return authorizeSoon
	}
	return authorizeAgain
}
