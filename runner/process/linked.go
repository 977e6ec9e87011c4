package process

import (
	"log/slog"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner"
	"github.com/h2surge/h2surge/runner/metrics"
)

// Linked returns the real parts. Listeners listen on the address ip, and have the name in https URLs unless it is
// empty.
func Linked(log *slog.Logger, ip, name string) Parts {
	return Parts{
		newEngine: func(plan *rv.Plan, log *slog.Logger) (engine, error) {
			return runner.New(plan, runner.Options{Exclusive: plan.CPUsPerShard > 0, Logger: log, ListenAddress: ip,
				ListenName: name})
		},
		conflict: runner.ErrConflict,
		metrics:  metrics.Handler,
		log:      log,
	}
}
