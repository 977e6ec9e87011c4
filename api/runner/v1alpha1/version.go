package v1alpha1

import "fmt"

// LowestProtocol is the lowest ProtocolVersion of runners that an operator of this build works with. A runner refuses a
// plan with a field or a value that it does not know, so a plan needs no version of its own. Raise it with a change
// that an earlier runner would accept and execute in another way.
const LowestProtocol = 6

// Mismatch returns why a runner and an operator of different builds cannot run a plan together. It is empty if they
// can. Operator is the build of the operator. If a runner of another version rejects the plan, that is a mismatch, too.
func (s *Snapshot) Mismatch(operator string) string {
	speaks := max(1, s.Protocol)
	rejected := s.Problem == ProblemPlan && speaks != ProtocolVersion
	if speaks >= LowestProtocol && !rejected {
		return ""
	}
	build := s.Version
	if build == "" {
		build = "unknown"
	}
	out := fmt.Sprintf("The runner (build %s) has protocol version %d, and the operator (build %s) has version %d", build,
		speaks, operator, ProtocolVersion)
	if rejected {
		out += "; the runner rejected the plan: " + s.Message
	}
	return out + ". Use a runner image and an operator of the same version"
}
