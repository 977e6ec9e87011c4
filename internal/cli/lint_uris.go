package cli

import (
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
)

// uris warns of a path that begins with a captured value if the value may be an absolute URI and the target does not
// have followAuthority. Path and query of the URI then go to the target, and its authority is ignored. A captured
// Location is left out: the user wants its path to go to the target.
func (l *linter) uris(plan *rv.Plan, places compile.Places) {
	for i := range plan.Chains {
		for j := range plan.Chains[i].Steps {
			s := &plan.Chains[i].Steps[j]
			if s.Await != nil {
				continue
			}
			t := &plan.Targets[s.Target]
			if name := absoluteIn(plan, i, s.Path); name != "" && !t.FollowAuthority {
				at := places.Of(rv.Place{List: rv.PlaceChains, Index: i, Step: j + 1, Field: "path"})
				l.warnf(at, "${%s} may be an absolute URI; its path and query then go to target %q, whatever authority it names, unless the target has followAuthority: WithoutCredentials or WithCredentials", name, t.Name)
			}
		}
	}
}

// absoluteIn returns the name of the capture or global that a path begins with, if its value may be an absolute URI;
// "": the path begins with something else.
func absoluteIn(plan *rv.Plan, chain int, path rv.Text) string {
	switch first := path[0]; {
	case len(first.Functions) > 0:
	case first.Capture > 0 && mayBeAbsolute(&plan.Chains[chain], first.Capture-1):
		return plan.Chains[chain].Captures[first.Capture-1]
	case first.Global > 0:
		for i := range plan.Chains {
			slot := slices.Index(plan.Chains[i].Publish, first.Global)
			if slot >= 0 && mayBeAbsolute(&plan.Chains[i], slot) {
				return plan.Globals[first.Global-1]
			}
		}
	}
	return ""
}

// mayBeAbsolute returns whether a step of a chain captures into a slot a value that may be an absolute URI.
func mayBeAbsolute(chain *rv.Chain, slot int) bool {
	for _, s := range chain.Steps {
		if slices.ContainsFunc(s.Capture,
			func(c rv.Capture) bool { return c.Slot == slot && !c.Location && mayBeURI(&c.Source) }) {
			return true
		}
	}
	return false
}

// mayBeURI returns whether the value of a source may be a whole URI. A source with a regex is assumed to have a part of
// it.
func mayBeURI(s *rv.Source) bool {
	whole := []rv.SourceKind{rv.SourceHeader, rv.SourceBody, rv.SourceJSONPointer, rv.SourceJSONPath, rv.SourceXPath}
	return s.Regex == "" && slices.Contains(whole, s.Kind)
}
