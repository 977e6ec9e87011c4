package compile

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/endpoint"
	syntax "github.com/h2surge/h2surge/internal/placeholder"
)

// variedEndpoint checks a URL with placeholders. The scheme must be literal, because it decides on TLS. The rest is
// parsed with the known values of the placeholders.
func (c *compiler) variedEndpoint(path *field.Path, pieces []syntax.Piece) (e rv.Endpoint, ok bool) {
	scheme, _, literal := strings.Cut(pieces[0].Literal, "://")
	scheme = strings.ToLower(scheme)
	if !literal || scheme != "http" && scheme != "https" {
		c.fail(path, "must begin with http:// or https://, without ${} before the host")
		return e, false
	}
	t := text{path: path, pieces: pieces}
	before := len(c.errs)
	for _, p := range pieces {
		if p.Ref == nil {
			continue
		}
		c.urlPlaceholder(t, p.Ref)
		for _, f := range p.Ref.Functions {
			for _, argument := range f.Arguments {
				c.urlPlaceholder(t, argument)
			}
			if f.Key != nil {
				c.urlPlaceholder(t, f.Key)
			}
		}
	}
	if len(c.errs) > before {
		return e, false
	}
	for s := range int(c.spec.Runner.Shards) {
		if problem := c.triedURL(pieces, s); problem != "" {
			c.fail(path, "%s, with the values of shard %d", problem, s)
			return e, false
		}
	}
	return rv.Endpoint{Scheme: scheme, URL: c.constantText(pieces)}, true
}

// urlPlaceholder checks that a variable has one value on a runner.
func (c *compiler) urlPlaceholder(t text, ref *syntax.Reference) {
	i, isVariable := c.variableIndex[ref.Name]
	if ref.Listener != "" {
		c.fail(t.path, "the URL of a listener is different for each worker, and a url is the same for the whole run")
		return
	}
	if ref.Traceparent != nil {
		c.fail(t.path, "%s has a new value for each request, and a url is the same for the whole run", ref.Name)
		return
	}
	if !isVariable {
		c.undefined(t.path, ref.Name)
		return
	}
	if v := &c.plan.Variables[i]; v.Env == nil && v.PerShard == nil && v.Constant == nil && v.Scope != rv.ScopeGlobal {
		c.fail(t.path, "variable %q has many values, and a url is the same for the whole run; env, perShard, constant and those of scope global are possible", ref.Name)
		return
	}
	c.variableRead[ref.Name] = true
	c.column(t.path, i, ref)
}

// standIns replace values that only runners know. If a URL can be valid, it is valid with one of them.
var standIns = []string{"1", "/1", ":1", "::1"}

// triedURL returns what is wrong with the URL of a shard; "": nothing.
func (c *compiler) triedURL(pieces []syntax.Piece, shard int) (problem string) {
	for i, standIn := range standIns {
		var url strings.Builder
		for _, p := range pieces {
			if p.Ref == nil {
				url.WriteString(p.Literal)
			} else {
				url.WriteString(c.valueOn(shard, p.Ref, standIn))
			}
		}
		_, err := endpoint.Parse(url.String())
		if err == nil {
			return ""
		}
		if i == 0 {
			problem = err.Error()
		}
	}
	return problem
}

// valueOn returns the value of a placeholder on a shard, or the stand-in if the value is not known.
func (c *compiler) valueOn(shard int, ref *syntax.Reference, standIn string) string {
	v := &c.plan.Variables[c.variableIndex[ref.Name]]
	var value string
	switch {
	case len(v.PerShard) > 0:
		value = v.PerShard[shard%len(v.PerShard)]
	case v.Constant != nil && v.Constant.File == "" && v.Constant.Env == "":
		value = v.Constant.Text
	default:
		return standIn
	}
	changed := func(f syntax.Function) bool { return f.Name != rv.FunctionUpper && f.Name != rv.FunctionLower }
	if slices.ContainsFunc(ref.Functions, changed) {
		return standIn
	}
	return value
}

// constantText compiles a text that reads variables only.
func (c *compiler) constantText(pieces []syntax.Piece) (out rv.Text) {
	named := func(ref *syntax.Reference) (rv.Part, bool) {
		return rv.Part{Variable: c.variableIndex[ref.Name] + 1, Column: ref.Column}, true
	}
	for _, p := range pieces {
		part := rv.Part{Literal: p.Literal}
		if p.Ref != nil {
			part, _ = p.Ref.Part(named)
		}
		out = append(out, part)
	}
	return out
}
