package cli

import (
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// limits are the thresholds of a run while it lasts.
type limits struct {
	live *verdict.Live
	// aborted is the name of the threshold that ended the run, and observation what it observed then.
	aborted     string
	observation verdict.Observation
}

func newLimits(plan *rv.Plan) *limits { return &limits{live: verdict.NewLive(plan, 1)} }

// add adds a snapshot. This process has encoded it, so it can be read.
func (l *limits) add(s *rv.Snapshot) { _ = l.live.Add(s) }

// aborts returns why the run ends, when a threshold with abortOnFail failed first.
func (l *limits) aborts() string {
	if l.aborted != "" {
		return ""
	}
	failed, o, ok := l.live.Abort()
	if !ok {
		return ""
	}
	l.aborted, l.observation = failed.Name, o
	return verdict.AbortReason(failed.Name, o.After.Round(time.Second))
}

// facts sets what the verdict needs.
func (l *limits) facts(f *verdict.Facts) {
	f.Seen = l.live.Seen()
	if f.Aborted = l.aborted; f.Aborted != "" {
		f.Seen[l.aborted] = l.observation
	}
}
