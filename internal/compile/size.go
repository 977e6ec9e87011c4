package compile

import (
	"encoding/json"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/plan"
)

// partSize is what a part of a text counts for besides its JSON: about the size of an rv.Part in memory.
const partSize = 100

// sizer sums up the sizes of steps. Each step has a copy of what its template has, so a small LoadTest can have a large
// plan, which the operator keeps in memory and encodes.
type sizer struct {
	octets int
	large  bool
}

// Write counts the octets of an encoded step.
func (s *sizer) Write(p []byte) (int, error) {
	s.octets += len(p)
	return len(p), nil
}

// fits adds a step, and returns whether the steps so far fit into a plan. It reports the first one that does not.
func (c *compiler) fits(step *rv.Step) bool {
	if c.size.large {
		return false
	}
	enc := json.NewEncoder(&c.size)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(step); err != nil {
		c.fail(specPath.Child("chains"), "cannot be encoded as JSON")
	}
	if c.size.large = c.size.octets > plan.MaxCanonical; c.size.large {
		c.fail(specPath.Child("chains"), "the steps together have more than %d octets, with %d more for each "+
			"placeholder and each text between them; use fewer steps, shorten texts, or put them into files",
			plan.MaxCanonical, partSize)
	}
	return !c.size.large
}
