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
	test := func(i int, st v1alpha1.LoadTestStatus) *v1alpha1.LoadTest {
		return &v1alpha1.LoadTest{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("test-", i)}, Status: st}
	}
	running := v1alpha1.LoadTestStatus{StartTime: &metav1.Time{Time: start}}
	ended := v1alpha1.LoadTestStatus{StartTime: running.StartTime, CompletionTime: &metav1.Time{Time: start}}
	for _, tc := range []struct {
		tests, ended int
		want         time.Duration
	}{{1, 0, 900 * time.Millisecond}, {10, 0, 900 * time.Millisecond}, {50, 0, 4900 * time.Millisecond}, {50, 30, 1900 * time.Millisecond}} {
		m := newMemory(nil, nil, time.Second)
		for i := range tc.tests {
			m.wroteStatus(test(i, running), start)
		}
		for i := range tc.ended {
			m.wroteStatus(test(tc.tests-1-i, ended), start)
		}
		first := test(0, running)
		if got := m.wait(first, start.Add(100*time.Millisecond)); got != tc.want {
			t.Errorf("%d tests, %d ended: wait %s, want %s", tc.tests, tc.ended, got, tc.want)
		}
		if got := m.wait(first, start.Add(tc.want+100*time.Millisecond)); got != 0 {
			t.Errorf("%d tests, %d ended: wait %s after the interval", tc.tests, tc.ended, got)
		}
		m.forget(types.NamespacedName{Name: first.Name})
		if got := m.wait(first, start); got != 0 {
			t.Errorf("a test that is not known waits %s", got)
		}
	}
}
