package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
)

// Blocker is why a run does not go on.
type Blocker struct {
	// Condition is the condition that reports it, with Reason and Message. PlanReady: the run needs a user. RunnersReady:
	// the run waits, for example for its lock. Finished: the run ends before its start.
	Condition, Reason, Message string
	// Retry is the time until the next try; zero: an event brings the next pass.
	Retry time.Duration
}

// Invalid returns the blocker of an invalid spec.
func Invalid(reason, message string) *Blocker {
	return &Blocker{Condition: v1alpha1.ConditionPlanReady, Reason: reason, Message: shorten.To(message, MaxMessage)}
}

// Rejected returns the blocker of a test that has finished because its spec is invalid; nil: it has not. The spec stays
// invalid until a user edits it: a test that has finished must not start because another version or configuration of
// the operator allows what it did not.
func (f *Facts) Rejected() *Blocker {
	st := &f.LoadTest.Status
	plan := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionPlanReady)
	if plan == nil || plan.Status != metav1.ConditionFalse || plan.ObservedGeneration != f.LoadTest.Generation ||
		!meta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionFinished) {
		return nil
	}
	return Invalid(plan.Reason, plan.Message)
}

// NotReady returns the blocker of a test whose runners are not ready.
func NotReady(reason, message string) *Blocker {
	return &Blocker{Condition: v1alpha1.ConditionRunnersReady, Reason: reason, Message: message}
}

// HeldMessage is that of RunnersReady while spec.suspend keeps the test from starting.
const HeldMessage = "No runner is created while spec.suspend is true"

// Never returns the blocker that ends a run that has not started.
func Never(reason, message string) *Blocker {
	return &Blocker{Condition: v1alpha1.ConditionFinished, Reason: reason, Message: message}
}

// Block notes what blocks the run.
func (f *Facts) Block(b *Blocker) {
	f.Blocked = b
	if b.Retry > 0 {
		f.Again(b.Retry)
	}
}

// BlockedAt returns the blocker that a condition reports; nil: it reports none.
func (f *Facts) BlockedAt(condition string) *Blocker {
	if f.Blocked == nil || f.Blocked.Condition != condition {
		return nil
	}
	return f.Blocked
}

// PlanError returns why there is no plan, or no runners for it; nil: there is no error. It stays until a user changes
// something.
func (f *Facts) PlanError() *Blocker { return f.BlockedAt(v1alpha1.ConditionPlanReady) }

// MaxMessage bounds what goes into a condition or a verdict, in bytes; the schema's bound is in
// characters and the same.
const MaxMessage = 32768

// Refusal is a write that the API server refused, such as the report that exceeds a quota.
type Refusal struct {
	// What names the object: "ConfigMap pcf-report".
	What string
	// Text is the API server's message.
	Text string
	// Since is the time of the first refusal, Next that of the next try.
	Since, Next time.Time
}

// Refuse records a refused write for the status.
func (f *Facts) Refuse(w Refusal) {
	f.Refused = append(f.Refused, w)
	f.Again(w.Next.Sub(f.Now))
}

// RefusedMessage lists the refused writes; empty: there are none. It does not change with each try.
func (f *Facts) RefusedMessage() string {
	var out []string
	for _, w := range f.Refused {
		if text := fmt.Sprintf("the API server refuses %s: %s", w.What, w.Text); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return shorten.To(strings.Join(out, "; "), MaxMessage-1024)
}

// WriteRefused returns the blocker of refused writes; nil: there are none.
func (f *Facts) WriteRefused() *Blocker {
	if len(f.Refused) == 0 {
		return nil
	}
	return NotReady(f.RefusedReason(), f.RefusedMessage())
}

// RefusedReason is the reason of RunnersReady for a refused write before the start.
func (f *Facts) RefusedReason() string {
	if slices.ContainsFunc(f.Refused, func(w Refusal) bool { return strings.HasPrefix(w.What, "Job ") }) {
		return v1alpha1.ReasonJobCreationFailed
	}
	return v1alpha1.ReasonWriteRefused
}
