//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// minutely is a schedule whose LoadTest sends 50 requests a second for two seconds.
const minutely = `
apiVersion: h2surge.io/v1alpha1
kind: LoadTestSchedule
metadata:
  name: minutely
spec:
  schedule: "* * * * *"
  historyLimits: {passed: 1, inconclusive: 0}
  template:
    spec:
      targets:
        - {name: target, url: "http://target:8080"}
      chains:
        - name: get
          target: target
          steps:
            - {name: get, request: {path: /}}
      rates:
        - {name: hold, duration: 2s, requestsPerSecond: 50}
      runner:
        idleStrategy: Sleep
        resources: {requests: {cpu: 20m, memory: 64Mi}}
`

// TestSchedule: a schedule runs a LoadTest each minute, keeps the last one that passed, and stops when it is suspended.
func TestSchedule(t *testing.T) {
	t.Parallel()
	s := newStory(t, "schedule").withTarget()
	s.mustKubectl(minutely, "apply", "-f", "-")
	first := s.awaitPassed("")
	second := s.awaitPassed(first)
	s.eventually(short, func() string {
		if names := s.scheduled(); len(names) > 2 || strings.Contains(strings.Join(names, " "), first) {
			return fmt.Sprintf("LoadTests %q, %s should be deleted", names, first)
		}
		return ""
	})
	s.mustKubectl("", "patch", "loadtestschedule", "minutely", "--type=merge", "-p", `{"spec":{"suspend":true}}`)
	s.mustKubectl("", "wait", "--for=condition=Ready=false", "loadtestschedule/minutely", "--timeout=1m")
	if st := s.schedule().Status; st.MissedRuns != 0 || st.LastPassedTime == nil {
		s.Errorf("after %s: status %+v", second, st)
	}
	s.mustKubectl("", "delete", "loadtestschedule", "minutely", "--timeout=2m")
	s.eventually(short, func() string { // the schedule does not wait for its LoadTests
		if names := s.scheduled(); len(names) > 0 {
			return fmt.Sprintf("LoadTests %q stay", names)
		}
		return ""
	})
}

func (s *story) schedule() *v1alpha1.LoadTestSchedule {
	s.Helper()
	out := &v1alpha1.LoadTestSchedule{}
	s.must(objects.Get(s.ctx, client.ObjectKey{Namespace: s.ns, Name: "minutely"}, out))
	return out
}

// scheduled returns the names of the LoadTests of the schedule.
func (s *story) scheduled() (names []string) {
	s.Helper()
	var list v1alpha1.LoadTestList
	s.must(objects.List(s.ctx, &list, client.InNamespace(s.ns), client.MatchingLabels{v1alpha1.LabelSchedule: "minutely"}))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// awaitPassed waits until a LoadTest other than last passed, and returns its name. An inconclusive one does not count: on a
// busy machine the generator is late.
func (s *story) awaitPassed(last string) (name string) {
	s.Helper()
	s.eventually(6*time.Minute, func() string {
		f := s.schedule().Status.LastFinished
		switch {
		case f == nil || f.Name == last:
			return "the schedule has no further verdict"
		case f.Outcome == "Inconclusive":
			return fmt.Sprintf("LoadTest %s: %s: %s", f.Name, f.Outcome, f.Message)
		case f.Outcome != "Passed":
			s.Fatalf("LoadTest %s: %s: %s", f.Name, f.Outcome, f.Message)
		}
		name = f.Name
		return ""
	})
	return name
}
