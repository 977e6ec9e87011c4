package lock

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// facts are what decides who has a lock.
type facts struct {
	now time.Time
	// tests are the LoadTests of the namespace that name the lock.
	tests []v1alpha1.LoadTest
	// holder is the present holder; nil: it does not exist any more. left is a Job or a pod of it that has not ended;
	// empty: there is none. It counts only for a holder that does not keep the lock.
	holder *v1alpha1.LoadTest
	left   string
}

// find makes the holder of a lock one of the tests that name the lock.
func (f *facts) find(lock *statev1alpha1.LoadTestLock) {
	f.holder = nil
	if i := slices.IndexFunc(f.tests, func(lt v1alpha1.LoadTest) bool { return lt.UID == lock.Holder.UID }); i >= 0 {
		f.holder = &f.tests[i]
	}
}

// next returns a lock as it must be; nil: it must not exist. again is the time after which the answer can be another
// one; zero: it cannot without an event.
//
// A lock goes from one test to another in at most two writes. A holder that could still start, for example because a
// user can end its suspension, is first released: from then on it does not start. After that, the lock goes to the next
// test as soon as no Job and no pod of the former one runs. The order matters: a test that starts before its release
// has a Job that is found after the release.
func next(lock *statev1alpha1.LoadTestLock, f facts) (_ *statev1alpha1.LoadTestLock, again time.Duration) {
	out := lock.DeepCopy()
	h, others := &out.Holder, f.others(lock)
	keeps, again := f.keeps(lock, len(others) > 0)
	wanted := len(others) > 0 || len(f.tests) == 0
	h.Left = ""
	switch {
	case keeps:
	case h.UID != "" && !over(f.holder) && !h.Released:
		h.Released = wanted
	case f.left != "":
		h.Left = f.left
	case len(others) > 0:
		*h = holder(&others[0], f.now)
		others = others[1:]
	case f.holder != nil && wants(f.holder, lock.Name): // released, and no other test waits
		*h = holder(f.holder, f.now)
	case len(f.tests) == 0:
		return nil, 0
	}
	out.Waiting = nil
	for i := range others[:min(len(others), maxWaiting)] {
		out.Waiting = append(out.Waiting, others[i].Name)
	}
	if f.holder != nil && wants(f.holder, lock.Name) && (h.Released || h.UID != f.holder.UID) &&
		len(out.Waiting) < maxWaiting {
		out.Waiting = append(out.Waiting, f.holder.Name) // it waits for its next turn
	}
	return out, again
}

// maxWaiting bounds LoadTestLock.Waiting.
const maxWaiting = 1000

func holder(lt *v1alpha1.LoadTest, now time.Time) statev1alpha1.LockHolder {
	return statev1alpha1.LockHolder{Name: lt.Name, UID: lt.UID,
		Time: metav1.NewMicroTime(now.UTC().Truncate(time.Microsecond))}
}

// others returns the tests that wait for the lock, without its holder, in the order of their turns: those of the stored
// order first, and then by their creation, and those of the same second by their names. A test that has started and
// does not have the lock, because the lock was deleted, comes before tests that were not in the order.
func (f *facts) others(lock *statev1alpha1.LoadTestLock) []v1alpha1.LoadTest {
	stored := map[string]int{}
	for i, name := range lock.Waiting {
		stored[name] = i
	}
	turn := func(lt *v1alpha1.LoadTest) int {
		i, ok := stored[lt.Name]
		switch {
		case ok:
			return i
		case lt.Status.StartTime != nil:
			return len(lock.Waiting)
		}
		return len(lock.Waiting) + 1
	}
	out := slices.DeleteFunc(slices.Clone(f.tests),
		func(lt v1alpha1.LoadTest) bool { return lt.UID == lock.Holder.UID || !wants(&lt, lock.Name) })
	slices.SortFunc(out, func(a, b v1alpha1.LoadTest) int {
		return cmp.Or(cmp.Compare(turn(&a), turn(&b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name))
	})
	return out
}

// keeps returns whether the holder keeps the lock. If the API server refuses its Job, it keeps the lock only for the
// time of another try, unless no other test waits. again is the rest of this time.
func (f *facts) keeps(lock *statev1alpha1.LoadTestLock, othersWait bool) (_ bool, again time.Duration) {
	if f.holder == nil || lock.Holder.Released || !wants(f.holder, lock.Name) {
		return false, 0
	}
	if !othersWait || !refused(f.holder) {
		return true, 0
	}
	left := lock.Holder.Time.Add(refusedTimeout).Sub(f.now)
	return left > 0, max(left, 0)
}

// refusedTimeout is how long a test that the API server refuses keeps its lock. The operator tries again meanwhile.
const refusedTimeout = 30 * time.Second

// refused returns whether the API server refuses an object that a test needs to start.
func refused(lt *v1alpha1.LoadTest) bool {
	c := meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionRunnersReady)
	return lt.Status.StartTime == nil && c != nil && c.ObservedGeneration == lt.Generation &&
		(c.Reason == v1alpha1.ReasonJobCreationFailed || c.Reason == v1alpha1.ReasonWriteRefused)
}

// over returns whether a test never starts again, whatever a user changes; nil: it does not exist.
func over(lt *v1alpha1.LoadTest) bool {
	return lt == nil || lt.Status.CompletionTime != nil || lt.DeletionTimestamp != nil
}

// wants returns whether a LoadTest needs a lock: it has not finished, no user suspended it before its start, and
// nothing that only a user can change keeps it from starting. Conditions of an earlier generation do not count.
func wants(lt *v1alpha1.LoadTest, name string) bool {
	if lt.Spec.Lock != name || over(lt) {
		return false
	}
	is := func(kind string) bool {
		c := meta.FindStatusCondition(lt.Status.Conditions, kind)
		return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == lt.Generation
	}
	return lt.Status.StartTime != nil || !lt.Spec.Suspend && !is(v1alpha1.ConditionFinished) &&
		!is(v1alpha1.ConditionStalled)
}
