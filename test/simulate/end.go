package simulate

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/simulate/apiserver"
)

const (
	// longest is how long a fault lasts at most.
	longest = 121 * time.Second
	// margin is what a test may take beyond what its spec says: pods that do not start, a lost runner, another operator.
	margin = 5 * time.Minute
)

// End implements trial.World.
func (w *World) End() {
	w.waiting.mu.Lock()
	w.waiting.events, w.waiting.over = nil, true
	w.waiting.mu.Unlock()
	w.faults.locked(func() { w.faults.refuse, w.faults.conflict, w.faults.lose, w.faults.slow = 0, 0, 0, 0 })
	for _, s := range apiserver.Objects[*v1alpha1.LoadTestSchedule](w.api) {
		_ = w.api.Delete(s, metav1.DeleteOptions{})
	}
	for _, o := range apiserver.Objects[client.Object](w.api) {
		if o.GetLabels()[forged] != "" {
			_ = w.api.Delete(o, metav1.DeleteOptions{})
		}
	}
	time.Sleep(longest)
	w.finish()
	w.forget()
	time.Sleep(w.ahead() + time.Minute) // pods have a grace of 30 s
	w.left()
	before := w.holds()
	finished := apiserver.Objects[*v1alpha1.LoadTest](w.api)
	w.restart() // what status shows follows from the record: a new process shows the same
	time.Sleep(ttl + time.Minute)
	w.expired(finished)
	w.grown(before)
	w.stop()
}

// finish waits for the end of all tests.
func (w *World) finish() {
	var bound time.Duration
	for _, lt := range apiserver.Objects[*v1alpha1.LoadTest](w.api) {
		_ = apiserver.Change(w.api, lt.Namespace, lt.Name, func(o *v1alpha1.LoadTest) { o.Spec.Suspend = false })
		bound += margin + stages(lt) // tests with a lock run one after another
	}
	for begin := time.Now(); ; time.Sleep(time.Second) {
		running := w.running()
		if running == nil {
			return
		}
		if time.Since(begin) > bound {
			w.Broken("every test ends", "%s runs %v after the last fault\n%s", running.Name, bound, w.describe(running))
		}
	}
}

// running returns a LoadTest that has not ended; nil: there is none.
func (w *World) running() *v1alpha1.LoadTest {
	for _, lt := range apiserver.Objects[*v1alpha1.LoadTest](w.api) {
		if lt.Status.CompletionTime == nil {
			return lt
		}
	}
	return nil
}

// ahead is how far in the future a test has ended: a clock was wrong. What follows the end waits for that time.
func (w *World) ahead() (most time.Duration) {
	for _, lt := range apiserver.Objects[*v1alpha1.LoadTest](w.api) {
		most = max(most, time.Until(lt.Status.CompletionTime.Time))
	}
	return most
}

// forget deletes records of tests that have ended. What is left of these tests is a matter of operators that never knew
// them.
func (w *World) forget() {
	for _, name := range w.forgotten {
		if r := apiserver.Find[*statev1alpha1.LoadTestRun](w.api, namespace, name); r != nil {
			_ = w.api.Delete(r, metav1.DeleteOptions{})
		}
	}
	if len(w.forgotten) > 0 {
		w.restart()
	}
}

// left: nothing of ended tests is left that costs something.
func (w *World) left() {
	const rule = "nothing of an ended test is left"
	if n := len(w.runners.alive()); n > 0 {
		w.Broken(rule, "%d runners, such as %s", n, w.runners.any(0).pod)
	}
	if all := apiserver.Objects[*policyv1.PodDisruptionBudget](w.api); len(all) > 0 {
		w.Broken(rule, "PodDisruptionBudget %s", all[0].Name)
	}
	if all := apiserver.Objects[*statev1alpha1.LoadTestCheckpoint](w.api); len(all) > 0 {
		w.Broken(rule, "LoadTestCheckpoint %s", all[0].Name)
	}
	for _, lt := range apiserver.Objects[*v1alpha1.LoadTest](w.api) {
		if s := apiserver.Find[*corev1.Secret](w.api, namespace, lt.Name+"-tls-"+string(lt.UID)[:8]); s != nil {
			w.Broken(rule, "Secret %s", s.Name)
		}
	}
}

// restart kills all operators.
func (w *World) restart() {
	for _, r := range w.replicas {
		w.net.Host(r.ip).Close()
		go r.process.Load().Kill()
	}
}

// expired: after the TTL no pod and no Job is left, and no LoadTest has changed since its end.
func (w *World) expired(before []*v1alpha1.LoadTest) {
	if n := len(apiserver.Objects[*corev1.Pod](w.api)) + len(apiserver.Objects[*batchv1.Job](w.api)); n > 0 {
		w.Broken("nothing of an ended test is left", "%d pods and Jobs after the TTL", n)
	}
	for _, lt := range before {
		now := apiserver.Find[*v1alpha1.LoadTest](w.api, lt.Namespace, lt.Name)
		switch expires := ttlOf(lt) != nil; {
		case (now == nil) != expires:
			w.Broken("a test is deleted after its TTL", "%s expires: %v; deleted: %v", lt.Name, expires, now == nil)
		case now != nil && now.ResourceVersion != lt.ResourceVersion:
			w.Broken("an ended test does not change", "%s: %+v became %+v", lt.Name, lt.Status, now.Status)
		}
	}
}

// stop ends all goroutines.
func (w *World) stop() {
	close(w.over)
	w.end()
	for _, p := range w.runners.alive() {
		p.Kill()
	}
	for _, ip := range targetAddresses {
		w.net.Host(ip).Close()
	}
	w.notifier.close()
	w.ended.Wait()
	time.Sleep(time.Minute) // timers of the network and of client-go
}

// describe is what there is of a test.
func (w *World) describe(lt *v1alpha1.LoadTest) (out string) {
	for _, c := range lt.Status.Conditions {
		out += fmt.Sprintf("%s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	for _, o := range apiserver.Objects[client.Object](w.api) {
		switch o := o.(type) {
		case *statev1alpha1.LoadTestRun:
			out += fmt.Sprintf("record %s\n", o.Record.Raw)
		case *corev1.Pod:
			out += fmt.Sprintf("pod %s %s %s, deleted %v\n", o.Name, o.Status.Phase, o.Spec.NodeName, o.DeletionTimestamp)
		}
	}
	w.rules.mu.Lock()
	defer w.rules.mu.Unlock()
	return out + fmt.Sprintf("%d requests arrived\n", w.rules.tests[lt.UID].total)
}
