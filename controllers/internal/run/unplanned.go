package run

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// Unplanned returns a digest of what a plan lacks of its spec and what cannot change while the test runs, such as the
// pod template. Fields of the runner that the plan has, too, are in it.
func Unplanned(spec *v1alpha1.LoadTestSpec) string {
	runner := spec.Runner
	runner.Shards, runner.PodDisruptionBudget = 0, ""
	raw, err := json.Marshal([]any{spec.Lock, runner})
	if err != nil {
		return "" // no spec of the API server: its pod template is JSON
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
