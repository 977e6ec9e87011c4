package compile

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	syntax "github.com/h2surge/h2surge/internal/placeholder"
)

// usims are the variables whose subscribers answer challenges, and the answers that texts read. A chain stores an
// answer as a capture with a name such as ue.resStar.
type usims struct {
	variables map[string]bool
	read      map[string]bool
}

// declare stores that a request has a challenge for the subscribers of a variable.
func (u *usims) declare(in *v1alpha1.Expect) {
	if in != nil && in.USIM != "" {
		u.variables[in.USIM] = true
	}
}

// answer returns the name of the capture if a reference to variable i reads an answer, or "". A column of the variable
// comes before an answer with the same name.
func (c *compiler) answer(i int, ref *syntax.Reference) string {
	if !c.usims.variables[ref.Name] || !slices.Contains(rv.Answers(), rv.Answer(ref.Column)) ||
		c.tables[i] == nil || c.tables[i].index(ref.Column) >= 0 {
		return ""
	}
	return ref.Name + "." + ref.Column
}

// usim checks that a variable has what a USIM needs.
func (c *compiler) usim(at *field.Path, name string) {
	i, known := c.variableIndex[name]
	if !known {
		c.missing(at, "variable", name)
		return
	}
	c.variableRead[name] = true
	v, table := &c.plan.Variables[i], c.tables[i]
	if table == nil {
		c.fail(at, "variable %q has no columns; allowed: subscribers with aka, csv", name)
		return
	}
	if v.Scope != rv.ScopeInstance || v.Order == rv.OrderRandom {
		c.fail(at, "variable %q must have scope Instance, and order Sequential or Shuffled, so that one worker has all challenges of a subscriber", name)
	}
	for _, column := range rv.UsimColumns() {
		ref := &syntax.Reference{Name: name, Column: string(column)}
		if c.column(at, i, ref) && column != rv.ColumnServingNetwork {
			c.knownKey(at, "expect.usim", ref)
		}
	}
}

// addAnswers adds the answers that texts read to the captures of the requests that have a challenge.
func (c *compiler) addAnswers() {
	for _, r := range c.requests {
		if r.expect.usim == "" {
			continue
		}
		for _, answer := range rv.Answers() {
			name := r.expect.usim + "." + string(answer)
			if c.usims.read[name] || c.hidden {
				r.captures = append(slices.Clip(r.captures), &capture{path: r.path.Child("expect", "usim"), name: name,
					answer: answer, read: true})
			}
		}
	}
}

// oneUSIMEach reports variables whose subscribers would have several USIMs: chains of one phase do not know the
// sequence numbers that chains of another phase accept, and shards cannot split fewer subscribers than they are.
func (c *compiler) oneUSIMEach(flat [][]flatStep) {
	first := map[string]*v1alpha1.Chain{}
	for i := range flat {
		chain := &c.spec.Chains[i]
		for j := range flat[i] {
			r := flat[i][j].request
			name := r.expect.usim
			if _, known := c.variableIndex[name]; !known {
				continue
			}
			at := r.path.Child("expect", "usim")
			switch other := first[name]; {
			case other == nil:
				first[name] = chain
				c.enoughSubscribers(at, chain, name)
			case other.Phase != chain.Phase:
				c.fail(at, "chains %q and %q of other phases challenge the subscribers of variable %q, whose USIMs would have two sequence numbers; use another variable",
					other.Name, chain.Name, name)
			}
		}
	}
}

// enoughSubscribers reports a variable with fewer subscribers than shards. The engine counts those
// of a file.
func (c *compiler) enoughSubscribers(at *field.Path, chain *v1alpha1.Chain, name string) {
	i := c.variableIndex[name]
	n := int64(0)
	if s := c.plan.Variables[i].Subscribers; s != nil {
		n = s.Count
	} else if t := c.tables[i]; t != nil {
		n = int64(len(t.rows))
	}
	if chain.Phase == v1alpha1.PhaseLoad && n > 0 && n < int64(c.plan.Shards) {
		c.fail(at, "variable %q has %d subscriber%s for %d shards, so that two USIMs would have the sequence numbers of one subscriber; allowed: at least one for each shard",
			name, n, map[bool]string{false: "s"}[n == 1], c.plan.Shards)
	}
}
