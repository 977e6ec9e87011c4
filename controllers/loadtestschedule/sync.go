package loadtestschedule

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/refusal"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/internal/compile"
)

// loadtestschedules get, list and watch: the cache of the controller.
//
// +kubebuilder:rbac:groups=h2surge.io,resources=loadtestschedules,verbs=get;list;watch

// loadtests create: the run of a scheduled time. delete: historyLimits, and concurrencyPolicy Replace. get, list and
// watch: the verdicts of the runs.
//
// +kubebuilder:rbac:groups=h2surge.io,resources=loadtests,verbs=create;delete;get;list;watch

// retryInterval is the time after which the operator creates a LoadTest again that the API server refused.
const retryInterval = 10 * time.Second

// syncTimes computes the scheduled times that are due. After an edit of schedule or timeZone, and after a suspension,
// earlier times do not count.
func (s *scope) syncTimes() {
	st := &s.schedule.Status
	s.handled = s.now
	switch {
	case st.HandledTime == nil:
		s.handled = s.schedule.CreationTimestamp.Time
	case st.HandledSchedule == s.handledSchedule():
		s.handled = st.HandledTime.Time
	}
	if s.schedule.Spec.Suspend {
		s.handled = s.now
		s.problem = &problem{reason: v1alpha1.ReasonSuspended,
			message: "spec.suspend is true: the operator creates no LoadTests"}
		return
	}
	times, err := parse(&s.schedule.Spec, s.now)
	if err != nil {
		s.handled = s.now
		s.problem = &problem{v1alpha1.ReasonInvalidSchedule, err.Error(), true}
		return
	}
	s.times = times
	s.due = dueAt(times, s.handled, s.now, s.deadline())
	s.handled = s.due.handled
	s.at(s.due.next)
}

// syncTemplate checks the template, so that its errors show before the scheduled time.
func (r *reconciler) syncTemplate(s *scope) error {
	if s.problem != nil {
		return nil
	}
	errs, err := r.templateErrors(s.schedule)
	if len(errs) == 0 || err != nil {
		return err
	}
	for _, err := range errs {
		err.Field = "spec.template." + err.Field
	}
	s.problem = &problem{v1alpha1.ReasonInvalidTemplate, strings.Join(compile.ErrorLines(errs), "\n"), true}
	return nil
}

// templateErrors returns why the API server or the operator would deny the LoadTests of a schedule, as far as it does
// not depend on the cluster.
func (r *reconciler) templateErrors(of *v1alpha1.LoadTestSchedule) (field.ErrorList, error) {
	template, at := &of.Spec.Template, field.NewPath("metadata")
	errs := slices.Concat(metav1validation.ValidateLabels(template.Metadata.Labels, at.Child("labels")),
		apivalidation.ValidateAnnotations(template.Metadata.Annotations, at.Child("annotations")))
	plan, _, invalid := compile.Compile(of.Namespace+"/"+of.Name, &template.Spec)
	invalid = append(invalid, compile.InCluster(&template.Spec)...)
	if len(invalid) > 0 {
		return append(errs, invalid...), nil
	}
	denied, err := run.Denied(r.cfg, run.ConfiguredAddresses(&r.cfg.Targets), &template.Spec, plan)
	return append(errs, denied...), err
}

// syncRun creates the LoadTest that is due, or notes what it waits for.
func (r *reconciler) syncRun(ctx context.Context, s *scope) error {
	if s.due.at.IsZero() {
		return nil
	}
	if s.problem == nil {
		if err := r.start(ctx, s); err != nil {
			return err
		}
	}
	if s.created.IsZero() {
		s.at(s.due.at.Add(s.deadline() + time.Second))
	}
	return nil
}

func (r *reconciler) start(ctx context.Context, s *scope) error {
	want := s.loadTest(s.due.at)
	for _, lt := range slices.Concat(s.active, s.finished) {
		if lt.Name == want.Name { // an earlier pass created it, and could not write the status
			s.started()
			return nil
		}
	}
	if wait, err := r.makeWay(ctx, s); err != nil || wait {
		return err
	}
	err := r.client.Create(ctx, want)
	if apierrors.IsAlreadyExists(err) {
		return r.exists(ctx, s, want)
	}
	if text := refusal.Of(err); text != "" {
		s.problem = &problem{reason: v1alpha1.ReasonCreationFailed,
			message: fmt.Sprintf("The API server refuses LoadTest %s: %s", want.Name, text)}
		s.at(s.now.Add(retryInterval))
		return nil
	}
	if err != nil {
		return fmt.Errorf("creating LoadTest %s: %w", want.Name, err)
	}
	s.active = append(s.active, want)
	s.started()
	return nil
}

// started notes that the LoadTest of the scheduled time exists.
func (s *scope) started() { s.created, s.handled = s.due.at, s.due.at }

// exists handles a LoadTest of the name that the schedule needs. The cache may not have it yet.
func (r *reconciler) exists(ctx context.Context, s *scope, want *v1alpha1.LoadTest) error {
	lt := &v1alpha1.LoadTest{}
	if err := r.reader.Get(ctx, client.ObjectKeyFromObject(want), lt); err != nil {
		return fmt.Errorf("reading LoadTest %s: %w", want.Name, err)
	}
	if !metav1.IsControlledBy(lt, s.schedule) {
		s.problem = &problem{reason: v1alpha1.ReasonNameConflict,
			message: fmt.Sprintf("LoadTest %s exists and is not of this schedule", want.Name)}
		s.at(s.now.Add(retryInterval))
		return nil
	}
	s.started()
	return nil
}

// makeWay applies concurrencyPolicy. It returns true if the run has to wait for the LoadTests that are active.
func (r *reconciler) makeWay(ctx context.Context, s *scope) (wait bool, err error) {
	if len(s.active) == 0 || s.schedule.Spec.ConcurrencyPolicy == v1alpha1.ConcurrencyAllow {
		return false, nil
	}
	doing := "to finish"
	if s.schedule.Spec.ConcurrencyPolicy == v1alpha1.ConcurrencyReplace {
		doing = "to be deleted"
		for _, lt := range s.active {
			if err := r.delete(ctx, s, lt, metav1.DeletePropagationForeground); err != nil {
				return true, err
			}
		}
	}
	s.problem = &problem{reason: v1alpha1.ReasonWaiting, message: fmt.Sprintf("The run of %s waits for %s %s",
		shown(s.due.at), names(s.active), doing)}
	return true, nil
}

// deleteHistory deletes the oldest finished LoadTests of each outcome above its limit, when their reports are uploaded.
// The status must have been written: no later pass can know their verdicts, or that their scheduled times are handled.
func (r *reconciler) deleteHistory(ctx context.Context, s *scope) error {
	left := limits(&s.schedule.Spec.HistoryLimits)
	for i := len(s.finished) - 1; i >= 0; i-- {
		lt := s.finished[i]
		outcome := runnerv1alpha1.Outcome(outcomeOf(lt))
		if left[outcome]--; left[outcome] >= 0 || r.pending(lt) {
			continue
		}
		if err := r.delete(ctx, s, lt, metav1.DeletePropagationBackground); err != nil {
			return err
		}
	}
	return nil
}

// limits returns historyLimits by outcome.
func limits(h *v1alpha1.HistoryLimits) map[runnerv1alpha1.Outcome]int32 {
	return map[runnerv1alpha1.Outcome]int32{
		runnerv1alpha1.OutcomePassed: ptr.Deref(h.Passed, 3), runnerv1alpha1.OutcomeFailed: ptr.Deref(h.Failed, 3),
		runnerv1alpha1.OutcomeInconclusive: ptr.Deref(h.Inconclusive, 1), runnerv1alpha1.OutcomeError: ptr.Deref(h.Error, 1),
		runnerv1alpha1.OutcomeStopped: ptr.Deref(h.Stopped, 1),
	}
}

// outcomeOf returns the outcome of a LoadTest that has finished. That of an invalid spec is Error.
func outcomeOf(lt *v1alpha1.LoadTest) string {
	if v := lt.Status.Verdict; v != nil {
		return v.Outcome
	}
	return string(runnerv1alpha1.OutcomeError)
}

// delete deletes a LoadTest. If it has changed since the cache read it, the next pass decides: it may have finished,
// and the status must have its verdict first.
func (r *reconciler) delete(ctx context.Context, s *scope, lt *v1alpha1.LoadTest,
	how metav1.DeletionPropagation) error {
	if lt.DeletionTimestamp != nil {
		return nil
	}
	err := r.client.Delete(ctx, lt, client.PropagationPolicy(how),
		client.Preconditions{UID: &lt.UID, ResourceVersion: &lt.ResourceVersion})
	switch {
	case apierrors.IsConflict(err):
		s.at(s.now.Add(staleInterval))
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("deleting LoadTest %s: %w", lt.Name, err)
	}
	return nil
}

// shown is a time in messages.
func shown(t time.Time) string { return t.UTC().Format(time.RFC3339) }
