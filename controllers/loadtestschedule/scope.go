package loadtestschedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// scope is what one pass knows.
type scope struct {
	// now and schedule are set by read and do not change.
	now      time.Time
	schedule *v1alpha1.LoadTestSchedule
	// active and finished are the LoadTests of the schedule, by scheduled time, the oldest first.
	active, finished []*v1alpha1.LoadTest

	// times are the scheduled times; nil: the schedule has an error, or is suspended.
	times cron.Schedule
	// handled is the time up to which all scheduled times are handled.
	handled time.Time
	// due are the scheduled times of this pass.
	due due
	// created is the scheduled time of the LoadTest that this pass created; zero: none.
	created time.Time
	// problem is why no LoadTest is created; nil: there is no problem.
	problem *problem
	// requeue is the time until the next pass; zero: an event brings it.
	requeue time.Duration
}

// problem is a reason and a message of Ready=False.
type problem struct {
	reason, message string
	// stalled is true if only an edit of the spec ends the problem.
	stalled bool
}

// at makes the next pass come no later than at a time.
func (s *scope) at(t time.Time) {
	d := max(t.Sub(s.now), time.Millisecond)
	if s.requeue == 0 || d < s.requeue {
		s.requeue = d
	}
}

func (s *scope) deadline() time.Duration {
	return time.Duration(ptr.Deref(s.schedule.Spec.StartingDeadlineSeconds, 300)) * time.Second
}

// handledSchedule is what the scheduled times depend on. If it changes, earlier times do not count.
func (s *scope) handledSchedule() string {
	if s.schedule.Spec.Suspend {
		return ""
	}
	return s.schedule.Spec.TimeZone + " " + s.schedule.Spec.Schedule
}

// loadTestName returns the name of the LoadTest of a scheduled time. It contains the time in minutes, as the name of a
// CronJob's Job does, so a second pass for the same time finds the LoadTest of the first one.
func (s *scope) loadTestName(t time.Time) string {
	return fmt.Sprintf("%s-%d", s.schedule.Name, t.Unix()/60)
}

// loadTest returns the LoadTest of a scheduled time.
func (s *scope) loadTest(t time.Time) *v1alpha1.LoadTest {
	template := s.schedule.Spec.Template.DeepCopy()
	lt := &v1alpha1.LoadTest{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.schedule.Namespace, Name: s.loadTestName(t),
			Labels: template.Metadata.Labels, Annotations: template.Metadata.Annotations,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "LoadTestSchedule",
				Name: s.schedule.Name, UID: s.schedule.UID, Controller: ptr.To(true),
			}},
		},
		Spec: template.Spec,
	}
	metav1.SetMetaDataLabel(&lt.ObjectMeta, v1alpha1.LabelSchedule, s.schedule.Name)
	metav1.SetMetaDataAnnotation(&lt.ObjectMeta, v1alpha1.AnnotationScheduledTime, t.UTC().Format(time.RFC3339))
	return lt
}

// scheduledTime is the scheduled time of a LoadTest. That of a LoadTest whose annotation was removed is its creation.
func scheduledTime(lt *v1alpha1.LoadTest) time.Time {
	if t, err := time.Parse(time.RFC3339, lt.Annotations[v1alpha1.AnnotationScheduledTime]); err == nil {
		return t
	}
	return lt.CreationTimestamp.UTC()
}

// hasFinished returns whether a LoadTest has ended and is not being deleted: the runners of a deleted one may still
// send.
func hasFinished(lt *v1alpha1.LoadTest) bool {
	return lt.DeletionTimestamp == nil && meta.IsStatusConditionTrue(lt.Status.Conditions, v1alpha1.ConditionFinished)
}

// names lists LoadTests in a message.
func names(tests []*v1alpha1.LoadTest) string {
	var out []string
	for _, lt := range tests {
		out = append(out, lt.Name)
	}
	const most = 3
	if len(out) > most {
		out = append(out[:most:most], fmt.Sprintf("%d others", len(out)-most))
	}
	return strings.Join(out, ", ")
}

// sorted orders LoadTests by scheduled time.
func sorted(tests []*v1alpha1.LoadTest) {
	slices.SortFunc(tests, func(a, b *v1alpha1.LoadTest) int {
		if c := scheduledTime(a).Compare(scheduledTime(b)); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
}
