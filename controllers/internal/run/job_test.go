package run

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/controllers/internal/record"
)

func TestListed(t *testing.T) {
	for list, want := range map[string][]int{
		"": nil, "0": {0}, "0,3-5": {0, 3, 4, 5}, "2-3,7": {2, 3, 7}, "x,1-y,4": {4},
	} {
		var got []int
		for i := range 10 {
			if listed(list, i) {
				got = append(got, i)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", list, diff)
		}
	}
}

// TestJobSince: the clock of the operator that decided the Job can have been ahead.
func TestJobSince(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct{ decided, seen, want time.Duration }{
		{-time.Minute, -time.Second, -time.Minute},
		{time.Hour, -time.Second, -time.Second},
	} {
		f := &Facts{Now: now, Job: &batchv1.Job{}, Waits: Waits{Admitted: now.Add(tt.seen)}, Record: &record.Record{
			Changes: []record.Change{{DecidedAt: metav1.NewMicroTime(now.Add(tt.decided))}}}}
		if got := f.JobSince().Sub(now); got != tt.want {
			t.Errorf("decided %v, seen %v: %v, want %v", tt.decided, tt.seen, got, tt.want)
		}
	}
}
