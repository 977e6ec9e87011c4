package runner

import (
	"context"
	"fmt"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/auth"
	"github.com/h2surge/h2surge/runner/loop"
)

// authorizeAgain is the pause after a token endpoint has refused or was not reached for some time.
const authorizeAgain = 5 * time.Second

// authorize keeps every worker's Authorization fields up to date. Workers are not ready before they
// have them.
func (r *Runner) authorize(ctx context.Context, ws *workers) {
	for i := range r.plan.Targets {
		if t := &r.plan.Targets[i]; t.Auth != nil {
			go r.authorizeTarget(ctx, ws, i, t)
		}
	}
}

func (r *Runner) authorizeTarget(ctx context.Context, ws *workers, i int, t *rv.Target) {
	apply := func(value []byte, err error) {
		if err != nil {
			r.opts.Logger.Warn("no authorization for a target", "target", t.Name, "err", err)
		}
		if failure.Of(err, "").Kind == rv.CauseDenied {
			ws.deny(fmt.Errorf("target %s: auth.%w", t.Name, err))
		}
		ws.do(func(w *loop.Worker) {
			if err != nil {
				w.Unauthorized(i, fmt.Sprintf("target %s: auth.%v", t.Name, err))
				return
			}
			w.SetAuthorization(i, value)
		})
	}
	for {
		value, _, err := auth.Open(ctx, t.Auth, nil, r.policy, apply)
		apply(value, err)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(authorizeAgain):
		}
	}
}
