package loadtestschedule

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// Noted returns whether the status of the schedule of a LoadTest that has finished has its end: no later pass can know
// it once the LoadTest is deleted. It is true if no schedule would note it.
func Noted(ctx context.Context, from client.Reader, lt *v1alpha1.LoadTest) (bool, error) {
	name, s := lt.Labels[v1alpha1.LabelSchedule], &v1alpha1.LoadTestSchedule{}
	if name == "" {
		return true, nil
	}
	err := from.Get(ctx, client.ObjectKey{Namespace: lt.Namespace, Name: name}, s)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading LoadTestSchedule %s: %w", name, err)
	}
	if err != nil || s.DeletionTimestamp != nil || !metav1.IsControlledBy(lt, s) {
		return true, nil
	}
	t := stored(scheduledTime(lt))
	reached := func(at *metav1.Time) bool { return at != nil && !at.Before(&t) }
	passed := outcomeOf(lt) == string(runnerv1alpha1.OutcomePassed)
	last := s.Status.LastFinished
	return last != nil && reached(&last.ScheduledTime) && (!passed || reached(s.Status.LastPassedTime)), nil
}
