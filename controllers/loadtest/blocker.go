package loadtest

import (
	"time"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// blocker is why a run does not go on.
type blocker struct {
	// Condition is the condition that reports it, with Reason and Message. PlanReady: the run needs a user. RunnersReady: the run waits, for
	// example for its lock. Finished: the run ends before its start.
	Condition, Reason, Message string
	// Final is true if the spec is invalid, so that the test has finished until a user edits it, or if the run ends.
	Final bool
	// Retry is the time until the next try; zero: an event brings the next pass.
	Retry time.Duration
}

// invalid returns the blocker of an invalid spec.
func invalid(reason, message string) *blocker {
	return &blocker{Condition: v1alpha1.ConditionPlanReady, Reason: reason, Message: clip(message, maxMessage), Final: true}
}

// notReady returns the blocker of a test whose runners are not ready.
func notReady(reason, message string) *blocker {
	return &blocker{Condition: v1alpha1.ConditionRunnersReady, Reason: reason, Message: message}
}

// never returns the blocker that ends a run that has not started.
func never(reason, message string) *blocker {
	return &blocker{Condition: v1alpha1.ConditionFinished, Reason: reason, Message: message, Final: true}
}

// block notes what blocks the run.
func (s *scope) block(b *blocker) {
	s.blocked = b
	if b.Retry > 0 {
		s.again(b.Retry)
	}
}

// blockedAt returns the blocker that a condition reports; nil: it reports none.
func (s *scope) blockedAt(condition string) *blocker {
	if s.blocked == nil || s.blocked.Condition != condition {
		return nil
	}
	return s.blocked
}

// planError returns why there is no plan, or no runners for it; nil: there is no error. It stays until a user changes something.
func (s *scope) planError() *blocker { return s.blockedAt(v1alpha1.ConditionPlanReady) }

// invalid returns whether the spec itself prevents the run.
func (s *scope) invalid() bool { return s.planError() != nil && s.blocked.Final }
