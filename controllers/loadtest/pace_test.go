package loadtest

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

func TestPace(t *testing.T) {
	start := time.Unix(1000, 0)
	running := &v1alpha1.LoadTestStatus{StartTime: &metav1.Time{Time: start}}
	ended := &v1alpha1.LoadTestStatus{StartTime: running.StartTime, CompletionTime: &metav1.Time{Time: start}}
	key := func(i int) types.NamespacedName { return types.NamespacedName{Name: fmt.Sprint("test-", i)} }
	for _, tc := range []struct {
		tests, ended int
		want         time.Duration
	}{{1, 0, 900 * time.Millisecond}, {10, 0, 900 * time.Millisecond}, {50, 0, 4900 * time.Millisecond}, {50, 30, 1900 * time.Millisecond}} {
		p := &pace{least: time.Second, written: map[types.NamespacedName]time.Time{}}
		for i := range tc.tests {
			p.wrote(key(i), running, start)
		}
		for i := range tc.ended {
			p.wrote(key(tc.tests-1-i), ended, start)
		}
		if got := p.wait(key(0), start.Add(100*time.Millisecond)); got != tc.want {
			t.Errorf("%d tests, %d ended: wait %s, want %s", tc.tests, tc.ended, got, tc.want)
		}
		if got := p.wait(key(0), start.Add(tc.want+100*time.Millisecond)); got != 0 {
			t.Errorf("%d tests, %d ended: wait %s after the interval", tc.tests, tc.ended, got)
		}
		p.forget(key(0))
		if got := p.wait(key(0), start); got != 0 {
			t.Errorf("a test that is not known waits %s", got)
		}
	}
}
