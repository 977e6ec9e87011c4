//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestEditedAtStart: the spec is edited within milliseconds of the decision to start. In each of ten tries the edit takes
// effect, is refused, or is reported, and so is one after the end.
func TestEditedAtStart(t *testing.T) {
	t.Parallel()
	s := newStory(t, "edited").withTarget()
	var tries sync.WaitGroup
	for i := range 10 {
		name := fmt.Sprintf("try-%d", i)
		tries.Go(func() { s.editAtStart(name, i%2 == 0) })
		s.apply(s.quickstart(name, 1, hold(50, 5*time.Second), withoutThresholds, smallRunner))
	}
	tries.Wait()
	for i := range 10 {
		s.wantEdited(fmt.Sprintf("try-%d", i))
	}
	const after = "try-0"
	s.mustKubectl("", "patch", "loadtest", after, "--type=json", "-p", `[{"op": "replace", "path": "/spec/chains/0/steps/0/request/path", "value": "/after"}]`)
	s.awaitReason(after, v1alpha1.ReasonChangeNotApplied, 10*time.Second)
}

// editAtStart patches the LoadTest as soon as the record of its run has a start: the rate, which can change during a run, or
// a path, which cannot.
func (s *story) editAtStart(name string, rate bool) {
	patch := `[{"op": "replace", "path": "/spec/chains/0/steps/0/request/path", "value": "/edited"}]`
	if rate {
		patch = `[{"op": "replace", "path": "/spec/rates/0/requestsPerSecond", "value": 100}]`
	}
	ctx, cancel := context.WithTimeout(s.ctx, 2*short)
	defer cancel()
	records, err := objects.Watch(ctx, &statev1alpha1.LoadTestRunList{}, client.InNamespace(s.ns))
	if err != nil {
		s.Error(err)
		return
	}
	defer records.Stop()
	for event := range records.ResultChan() {
		run, ok := event.Object.(*statev1alpha1.LoadTestRun)
		if !ok || len(run.OwnerReferences) == 0 || run.OwnerReferences[0].Name != name || !strings.Contains(string(run.Record.Raw), `"start":`) {
			continue
		}
		lt := &v1alpha1.LoadTest{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.ns}}
		err := objects.Patch(s.ctx, lt, client.RawPatch(types.JSONPatchType, []byte(patch)))
		s.Logf("%s: edited (rate %v), start time in status %v: %v", name, rate, lt.Status.StartTime, err)
		return
	}
	s.Errorf("%s did not start", name)
}

// wantEdited: the edit of a finished test had an effect or was reported.
func (s *story) wantEdited(name string) {
	s.Helper()
	lt := s.awaitCondition(name, v1alpha1.ConditionFinished, metav1.ConditionTrue, 2*short)
	sent, changes := lt.Status.Results.Requests.Sent, lt.Status.Changes
	switch {
	case lt.Generation == 1:
		s.Logf("%s: the edit was refused", name)
	case sent > 260 && len(changes) == 1 && changes[0].Generation == 2 && changes[0].AppliedAt != nil:
		s.Logf("%s: the rate took effect: sent %d", name, sent)
	case lt.Status.StartedGeneration == lt.Generation:
		s.Logf("%s: the test started with the edit", name)
	case contains(s.reasons(name), []string{v1alpha1.ReasonChangeNotApplied}):
		s.Logf("%s: the edit was reported", name)
	default:
		s.Errorf("%s: the edit had no effect and was not reported; sent %d, changes %+v, conditions\n%s", name, sent, changes, conditions(lt))
	}
}
