package compile

import (
	"slices"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	syntax "github.com/h2surge/h2surge/internal/placeholder"
)

// beginsLikeAPath accepts "/...", a capture, and a variable all of whose values begin with a
// slash. An unknown name, and one that is both, is reported elsewhere.
func (c *compiler) beginsLikeAPath(pieces []syntax.Piece) bool {
	first := pieces[0].Ref
	if first == nil {
		_, absolute := cutScheme(pieces[0].Literal)
		return absolute || strings.HasPrefix(pieces[0].Literal, "/")
	}
	if first.Listener != "" {
		return false // the runner would send the request to the target with a URL of its own
	}
	i, isVariable := c.variableIndex[first.Name]
	if !isVariable || c.captured[first.Name] {
		return keepsSlash(first.Functions)
	}
	if table := c.tables[i]; table != nil && table.columns != nil && table.index(first.Column) < 0 {
		return true
	}
	values := c.known(i, first.Column)
	for _, v := range values {
		if !strings.HasPrefix(applied(first.Functions, v.value), "/") {
			return false
		}
	}
	return len(values) > 0
}

// keepsSlash is false for functions whose results never begin with a slash.
func keepsSlash(functions []syntax.Function) bool {
	return !slices.ContainsFunc(functions, func(f syntax.Function) bool {
		switch f.Name {
		case rv.FunctionURLEncode, rv.FunctionBase64, rv.FunctionBase64URL, rv.FunctionSHA256, rv.FunctionHMACSHA256,
			rv.FunctionRESStar, rv.FunctionHXRESStar:
			return true
		}
		return false
	})
}

// cutScheme returns what follows the scheme of an absolute URI. found is false if s does not begin with http:// or
// https://.
func cutScheme(s string) (rest string, found bool) {
	if rest, found = strings.CutPrefix(s, "http://"); found {
		return rest, true
	}
	return strings.CutPrefix(s, "https://")
}

// namedAuthority divides a path that is an absolute URI into authority and path. The first slash of a literal ends the
// authority.
func (c *planner) namedAuthority(r *request, out *rv.Step) {
	if len(out.Path) == 0 {
		return
	}
	rest, absolute := cutScheme(out.Path[0].Literal)
	if !absolute {
		return
	}
	if out.Target < len(c.plan.Targets) {
		c.followed(r, &c.plan.Targets[out.Target], strings.TrimSuffix(out.Path[0].Literal, "://"+rest))
	}
	all := slices.Clone(out.Path)
	all[0] = rv.Part{Literal: rest}
	out.Path = literal("/")
	for i, p := range all {
		host, path, slash := strings.Cut(p.Literal, "/")
		if host != "" || p.Literal == "" && i > 0 {
			p.Literal = host
			out.Authority = append(out.Authority, p)
		}
		if slash {
			out.Path = append(literal("/"+path), all[i+1:]...)
			break
		}
	}
	if len(out.Authority) == 0 {
		c.fail(r.target.path, "has no host after the scheme")
	}
}

// followed checks that a target can send a request to the authority of an absolute URI.
func (c *checker) followed(r *request, t *rv.Target, scheme string) {
	switch {
	case !t.FollowAuthority:
		c.fail(r.target.path, "is an absolute URI, which needs followAuthority: WithoutCredentials or WithCredentials of target %q", t.Name)
	case len(t.Endpoints) > 0 && t.Endpoints[0].Scheme != "" && t.Endpoints[0].Scheme != scheme:
		c.fail(r.target.path, "has the scheme %s, but the url of target %q has %s", scheme, t.Name, t.Endpoints[0].Scheme)
	}
}
