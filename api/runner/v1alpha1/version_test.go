package v1alpha1

import "testing"

func TestMismatch(t *testing.T) {
	const (
		early    = "The runner (build unknown) has protocol version 1, and the operator (build v2) has version 8. Use a runner image and an operator of the same version"
		rejected = "The runner (build v3) has protocol version 9, and the operator (build v2) has version 8; the runner rejected the plan: unknown field. Use a runner image and an operator of the same version"
	)
	for name, tt := range map[string]struct {
		snapshot Snapshot
		want     string
	}{
		"same build":                 {snapshot: Snapshot{Protocol: ProtocolVersion, Version: "v2"}},
		"no version":                 {want: early},
		"lowest":                     {snapshot: Snapshot{Protocol: LowestProtocol, Version: "v1"}},
		"later build":                {snapshot: Snapshot{Protocol: ProtocolVersion + 1, Version: "v3"}},
		"later build rejects":        {snapshot: Snapshot{Protocol: 9, Version: "v3", Problem: ProblemPlan, Message: "unknown field"}, want: rejected},
		"same build rejects":         {snapshot: Snapshot{Protocol: ProtocolVersion, Problem: ProblemPlan}},
		"another problem of a later": {snapshot: Snapshot{Protocol: 9, Problem: ProblemConnect}},
	} {
		if got := tt.snapshot.Mismatch("v2"); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
