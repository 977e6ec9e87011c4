package cli

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// uris warns of paths that begin with a captured value which may be an absolute URI, where the target
// does not follow the authority of such a one. A Location field may be absolute too; that its path goes
// to the target is what it is captured for.
func (p *programLint) uris() {
	for i := range p.plan.Chains {
		requests := stepRequests(p.spec, i)
		for j := range p.plan.Chains[i].Steps {
			s := &p.plan.Chains[i].Steps[j]
			if s.Await != nil {
				continue
			}
			t := &p.plan.Targets[s.Target]
			name := p.absolute(i, s.Path)
			if name == "" || t.FollowAuthority {
				continue
			}
			p.warnings(field.ErrorList{{
				Type: field.ErrorTypeInvalid, Field: fieldOf(p.spec, requests[j], "path", s), BadValue: field.OmitValueType{},
				Detail: fmt.Sprintf("${%s} may be an absolute URI; its path and query then go to target %q, whatever authority it names, unless the target has followAuthority: true", name, t.Name),
			}})
		}
	}
}

// absolute is the capture that a path begins with, if a response may have an absolute URI there.
func (p *programLint) absolute(chain int, path rv.Text) string {
	switch first := path[0]; {
	case len(first.Functions) > 0:
	case first.Capture > 0 && p.mayBeAbsolute(chain, first.Capture-1):
		return p.plan.Chains[chain].Captures[first.Capture-1]
	case first.Global > 0:
		for i := range p.plan.Chains {
			slot := slices.Index(p.plan.Chains[i].Publish, first.Global)
			if slot >= 0 && p.mayBeAbsolute(i, slot) {
				return p.plan.Globals[first.Global-1]
			}
		}
	}
	return ""
}

func (p *programLint) mayBeAbsolute(chain, slot int) bool {
	for _, s := range p.plan.Chains[chain].Steps {
		if slices.ContainsFunc(s.Capture, func(c rv.Capture) bool { return c.Slot == slot && !c.Location && mayBeURI(&c.Source) }) {
			return true
		}
	}
	return false
}

// mayBeURI says that a source may be a whole URI. A regex is taken to cut it.
func mayBeURI(s *rv.Source) bool {
	whole := []rv.SourceKind{rv.SourceHeader, rv.SourceBody, rv.SourceJSONPointer, rv.SourceXPath}
	return s.Regex == "" && slices.Contains(whole, s.Kind)
}
