package decide

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/run/runtest"
)

// whats are the names of operations.
func whats(all []Operation) (out []string) {
	for _, op := range all {
		out = append(out, op.What)
	}
	return out
}

// TestDeleteJobs: a deletion in the background would end one that waits for the pods.
func TestDeleteJobs(t *testing.T) {
	goes := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "goes", DeletionTimestamp: &metav1.Time{Time: runtest.Now}}}
	stays := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "stays"}}
	if diff := cmp.Diff([]string{"the deletion of Job stays"}, whats(DeleteJobs(goes, stays))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFinished: the operator waits podGrace for the runners, and a Job whose pods have ended stays for ttlAfterFinished.
func TestFinished(t *testing.T) {
	const counts, secret, job = "the deletion of the counts", "the deletion of Secret pcf-tls-0a1b2c3d", "the deletion of Job pcf-1"
	grace, ttl := 30*time.Second, time.Hour
	started := func(f *run.Facts) { f.Record.End.Started = true }
	noRecord := func(f *run.Facts) { f.Record.End.Reason = v1alpha1.ReasonRunRecordMissing }
	podsEnd := func(f *run.Facts) {
		f.Job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	}
	noJob := func(f *run.Facts) { f.Job = nil }
	goes := func(f *run.Facts) { f.Job.DeletionTimestamp = &metav1.Time{Time: f.Now} }
	former := func(f *run.Facts) {
		f.FormerJobs = []*batchv1.Job{{ObjectMeta: metav1.ObjectMeta{Name: "pcf-0"}}}
	}
	for _, tt := range []struct {
		name     string
		after    time.Duration
		changes  []func(*run.Facts)
		released bool
		want     []string
		again    time.Duration
	}{
		{"runners end", 10 * time.Second, []func(*run.Facts){started}, false, []string{counts, secret}, 20 * time.Second},
		{"runners do not end", grace, []func(*run.Facts){started}, true, []string{counts, secret, job}, 0},
		{"it never started", 0, nil, true, []string{secret, job}, grace},
		{"pods ended", time.Minute, []func(*run.Facts){started, podsEnd}, true, []string{counts, secret}, ttl - time.Minute},
		{"pods ended long ago", ttl, []func(*run.Facts){started, podsEnd}, true, []string{counts, secret, job}, 0},
		{"no Job", ttl, []func(*run.Facts){started, noJob}, true, []string{counts, secret}, 0},
		{"the Job goes", grace, []func(*run.Facts){started, goes}, true, []string{counts, secret}, 0},
		{"a Job of an earlier attempt", grace, []func(*run.Facts){started, noJob, former}, true, []string{counts, secret, "the deletion of Job pcf-0"}, 0},
		{"it has no record", 0, []func(*run.Facts){noRecord, noJob, former}, true, []string{counts, secret, "the deletion of Job pcf-0", "PodDisruptionBudget pcf-runners-0a1b2c3d"}, grace},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := runtest.New(runtest.WithJob)
			f.Config = &configv1alpha1.OperatorConfig{}
			f.Config.Report.PodGrace.Duration, f.Config.Runner.TTLAfterFinished = grace, &metav1.Duration{Duration: ttl}
			f.LoadTest.UID, f.Job.Spec.Completions = "0a1b2c3d-0000", ptr.To[int32](2)
			f.Record.End = &record.End{Time: metav1.NewTime(f.Now.Add(-tt.after))}
			for _, change := range tt.changes {
				change(f)
			}
			if diff := cmp.Diff(tt.want, whats(Finished(f))); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
			if got := Released(f); got != tt.released {
				t.Errorf("released: %t, want %t", got, tt.released)
			}
			if f.Requeue != tt.again {
				t.Errorf("the next pass comes after %s, want %s", f.Requeue, tt.again)
			}
		})
	}
}

// TestDeletedTwice: what a former operator creates can arrive after the end: counts, and a Secret if no operator knows that it was created.
func TestDeletedTwice(t *testing.T) {
	const grace = 30 * time.Second
	for _, tt := range []struct {
		secret types.UID
		after  time.Duration
		last   bool
		again  time.Duration
	}{
		{"", 0, false, grace},
		{"", grace - time.Second, false, time.Second},
		{"", grace, true, 0},
		{"known", 0, true, 0},
	} {
		f := runtest.New()
		f.Config = &configv1alpha1.OperatorConfig{}
		f.Config.Report.PodGrace.Duration = grace
		f.LoadTest.UID, f.Record.Secret = "0a1b2c3d-0000", tt.secret
		if op := deleteSecret(f, f.Now.Add(-tt.after)); (op.Once == gone) != tt.last || f.Requeue != tt.again {
			t.Errorf("%s after the end, UID %q: once %s, next pass after %s; want %+v", tt.after, tt.secret, op.Once, f.Requeue, tt)
		}
		f.Record.End = &record.End{Started: true, Time: metav1.NewTime(f.Now.Add(-tt.after))}
		if counts := Finished(f)[0]; !counts.DropCounts || (counts.Once == gone) != (tt.after >= grace) {
			t.Errorf("%s after the end: %+v", tt.after, counts)
		}
	}
}
