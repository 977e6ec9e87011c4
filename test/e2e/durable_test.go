//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestSidecar: the pods of a finished test end, though a sidecar runs on.
func TestSidecar(t *testing.T) {
	t.Parallel()
	s := newStory(t, "sidecar").withTarget()
	sleeper := fmt.Sprintf(`{"spec": {"containers": [{
		"name": "sleeper", "image": %q, "imagePullPolicy": "IfNotPresent", "args": ["serve"],
		"resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
		"securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}
	}]}}`, probeImage)
	s.apply(s.quickstart("sidecar", 1, hold(200, 3*time.Second), withoutThresholds, smallRunner, func(spec *v1alpha1.LoadTestSpec) {
		spec.Runner.PodTemplate = &runtime.RawExtension{Raw: []byte(sleeper)}
	}))
	lt := s.awaitFinished("sidecar")
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	s.wantAll(lt, 600)
	begun := time.Now()
	s.eventually(2*short, func() string {
		for _, p := range s.runners() {
			for _, c := range p.Status.ContainerStatuses {
				if c.State.Terminated == nil {
					return fmt.Sprintf("container %s of %s has not ended", c.Name, p.Name)
				}
			}
		}
		return ""
	})
	t.Logf("FIGURE end of a test to the end of its sidecar: %v", time.Since(begun).Round(time.Second))
}

// TestDeletedWhileOperatorAway: a LoadTest with a finalizer that is not ours is deleted while the operator is away. The
// next operator stops its load.
func TestDeletedWhileOperatorAway(t *testing.T) {
	s := newStory(t, "finalizer").withTarget()
	lt := s.quickstart("held", 2, hold(200, 5*time.Minute), withoutThresholds, smallRunner)
	lt.Finalizers = []string{"example.com/keep"}
	s.apply(lt)
	s.Cleanup(func() {
		lt := &v1alpha1.LoadTest{ObjectMeta: metav1.ObjectMeta{Name: "held", Namespace: s.ns}}
		_ = objects.Patch(context.Background(), lt, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	})
	s.awaitLoad(200, short)
	back := s.operatorAway()
	s.mustKubectl("", "delete", "loadtest", "held", "--wait=false")
	back()
	begun := time.Now()
	s.eventually(short, func() string { return s.targetSees(0, 0) })
	t.Logf("FIGURE the operator's pod is ready to no load: at most %v", time.Since(begun).Round(100*time.Millisecond))
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("load ended %v after the operator's return", took)
	}
}
