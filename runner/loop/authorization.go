package loop

import (
	"fmt"
	"slices"
	"time"

	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/flow"
)

// authorizations are what the worker knows about the credentials. A target that is followed has none.
type authorizations struct {
	program *chain.Program
	setup   *flow.Sequence
	// missing counts the credentials that have had no value yet.
	missing int
	all     []credential // by chain.Credential
	// since is when the worker began to wait for a value.
	since int64
}

// credential is the state of a chain.Credential.
type credential struct {
	// had is true after the first value, or if the target has no such credential.
	had bool
	// valid is true while requests have the value, or if the target has no such credential. why is the error that it has
	// none.
	valid bool
	why   string
	// after is how many setup chains end before the worker needs the value.
	after int
}

// newAuthorizations returns when each value is needed. A token endpoint may know the client only after a setup chain
// has registered it. So the first setup chain that sends the token of a target needs it, or else the load. The other
// credentials need files only, and are needed at once.
func newAuthorizations(p *chain.Program, setup *flow.Sequence) authorizations {
	out := authorizations{program: p, setup: setup, all: slices.Repeat([]credential{{had: true, valid: true}},
		2*len(p.Targets))}
	need := func(c chain.Credential, after int) {
		out.all[c] = credential{after: after}
		out.missing++
	}
	for i := range p.Targets {
		if auth := p.Targets[i].Auth; auth != nil && auth.OAuth2 != nil {
			need(p.Authorization(i), out.setupWithout(p.Authorization(i)))
		} else if auth != nil {
			need(p.Authorization(i), 0)
		}
		if p.Targets[i].ClientAssertion != nil {
			need(p.Assertion(i), 0)
		}
	}
	return out
}

// setupWithout returns how many setup chains run before one that sends a credential.
func (a *authorizations) setupWithout(wanted chain.Credential) int {
	for n, c := range a.setup.Chains {
		chain := &a.program.Chains[c]
		for i := range chain.Len {
			if slices.Contains(a.program.Steps[chain.First+i].Credentials, wanted) {
				return n
			}
		}
	}
	return len(a.setup.Chains)
}

// Awaited returns the credentials that the worker needs now: before its next setup chain or, after setup, before it is
// Ready.
func (w *Worker) Awaited() []chain.Credential { return w.authorizations.awaited() }

func (a *authorizations) awaited() (out []chain.Credential) {
	for i := range a.all {
		if c := &a.all[i]; !c.had && c.after <= a.setup.Begun() {
			out = append(out, chain.Credential(i))
		}
	}
	return out
}

// suffice returns whether setup can continue or, after setup, whether the worker is ready.
func (a *authorizations) suffice() bool {
	return a.missing == 0 || a.setup.Running() || len(a.awaited()) == 0
}

// set notes that a credential has a value.
func (a *authorizations) set(c chain.Credential) {
	to := &a.all[c]
	if !to.had {
		a.missing--
	}
	to.had, to.valid, to.why = true, true, ""
}

// lost notes why a credential has no value.
func (a *authorizations) lost(c chain.Credential, why string) {
	a.all[c].valid, a.all[c].why = false, why
}

// lapsed returns why the first credential without a value has none. It returns "" if all have one, or none had an
// error.
func (a *authorizations) lapsed() string {
	for i := range a.all {
		if c := &a.all[i]; c.why != "" {
			return c.why
		}
	}
	return ""
}

// slow describes the token that the worker waits for, if it does so for half a second; "": it does not.
func (a *authorizations) slow(now int64) string {
	waited := time.Duration(now - a.since)
	for _, c := range a.awaited() {
		i, assertion := a.program.TargetOf(c)
		if t := &a.program.Targets[i]; !assertion && t.Auth.OAuth2 != nil && waited >= time.Second/2 {
			return fmt.Sprintf("target %s: auth.oauth2.tokenURL %s: no answer for %v", t.Name, t.Auth.OAuth2.TokenURL,
				waited.Round(100*time.Millisecond))
		}
	}
	return ""
}

// lack returns true if a request of a step has no value for one of its credentials.
func (a *authorizations) lack(s *chain.Step) bool {
	for _, c := range s.Credentials {
		if !a.all[c].valid {
			return true
		}
	}
	return false
}
