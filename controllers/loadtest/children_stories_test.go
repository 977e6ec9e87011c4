package loadtest_test

import (
	"testing"
	"time"

	"github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// awaitGone waits until an object does not exist.
func (w *world) awaitGone(o client.Object, name string) {
	w.Helper()
	key := client.ObjectKey{Namespace: w.ns, Name: name}
	w.Eventually(func() bool { return apierrors.IsNotFound(w.client.Get(w.ctx, key, o)) }).Should(gomega.BeTrue(), "%T %s", o, name)
}

func (w *world) exists(o client.Object, name string) bool {
	w.Helper()
	err := w.client.Get(w.ctx, client.ObjectKey{Namespace: w.ns, Name: name}, o)
	if client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	return err == nil
}

// runnerEnded returns whether the runner's container in a pod has ended.
func (w *world) runnerEnded(name string) bool {
	pod := &corev1.Pod{}
	return w.exists(pod, name) && pod.Status.ContainerStatuses[0].State.Terminated != nil
}

func TestTTLOfAnInvalidSpec(t *testing.T) {
	w := newWorld(t)
	w.apply(twoShards("invalid", time.Second).TTL(600).Edit(func(s *v1alpha1.LoadTestSpec) {
		s.Chains[0].Steps[0].Template = "absent"
	}).Build())
	lt := w.awaitPhase("invalid", v1alpha1.PhaseInvalid)
	w.later(599 * time.Second)
	w.edit("invalid", func(s *v1alpha1.LoadTestSpec) { s.Chains[0].Steps[0].Template = "gone" }) // an event, which brings a pass
	w.await("invalid", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == 2 })
	w.later(time.Second)
	w.awaitGone(lt, "invalid")
}

// The operator was away while a LoadTest with a finalizer was deleted: no collector knows its runners.
func TestDeletedWhileTheOperatorWasAway(t *testing.T) {
	w := newWorld(t)
	lt := twoShards("kept", load).Build()
	lt.Finalizers = []string{"example.com/keep"}
	lt = w.apply(lt)
	w.awaitLoad("kept", 100)
	w.endOperator()
	w.must(w.client.Delete(w.ctx, lt))
	w.operator()
	w.awaitGone(&batchv1.Job{}, "kept-1")
	if !w.exists(&v1alpha1.LoadTest{}, "kept") {
		t.Error("the LoadTest is gone, so its finalizer was not needed")
	}
	w.must(w.client.Patch(w.ctx, lt, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
}

// A container that does not end keeps a pod running after its runner has ended.
func TestSidecarThatDoesNotEnd(t *testing.T) {
	w := newWorld(t)
	sidecar := rawTemplate(`{"spec":{"containers":[{"name":"sleeper","image":"sleeper:test"}]}}`)
	w.apply(twoShards("sidecar", time.Second).Edit(func(s *v1alpha1.LoadTestSpec) { s.Runner.PodTemplate = sidecar }).Build())
	w.apply(twoShards("alone", time.Second).Build())
	for _, name := range []string{"sidecar", "alone"} {
		w.awaitPhase(name, v1alpha1.PhaseCompleted)
		for _, pod := range []string{name + "-1-0", name + "-1-1"} {
			w.Eventually(func() bool { return w.runnerEnded(pod) }).Should(gomega.BeTrue())
		}
	}
	w.later(2 * time.Minute)
	for _, name := range []string{"sidecar", "alone"} {
		w.edit(name, func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](3600) }) // brings a pass
	}
	w.awaitGone(&batchv1.Job{}, "sidecar-1")
	w.await("alone", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == 2 })
	if !w.exists(&batchv1.Job{}, "alone-1") {
		t.Error("the Job was deleted, although its pods had ended by themselves; their logs are lost")
	}
}

// An edit before the start makes the spec invalid: the runners would wait for nothing.
func TestEditToAnInvalidSpecBeforeStart(t *testing.T) {
	w := newWorld(t)
	w.holding(func(*batchv1.Job, int) bool { return true })
	w.apply(twoShards("edited", time.Second).Build())
	w.awaitPhase("edited", v1alpha1.PhaseStarting)
	w.edit("edited", func(s *v1alpha1.LoadTestSpec) { s.Chains[0].Steps[0].Template = "absent" })
	w.awaitPhase("edited", v1alpha1.PhaseInvalid)
	w.awaitGone(&batchv1.Job{}, "edited-1")
	w.holding(nil)
	w.edit("edited", func(s *v1alpha1.LoadTestSpec) { s.Chains[0].Steps[0].Template = s.Templates[0].Name })
	lt := w.awaitPhase("edited", v1alpha1.PhaseCompleted)
	w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionTrue, v1alpha1.ReasonPassed)
}
