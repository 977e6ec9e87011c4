// Package lock gives the locks of namespaces (spec.lock) to LoadTests. A LoadTestLock has its holder, and who waits for
// it.
package lock

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// Holds returns whether a LoadTest has a lock, and may start. lock is nil if it does not exist.
func Holds(lt *v1alpha1.LoadTest, lock *statev1alpha1.LoadTestLock) bool {
	return lock != nil && lock.Holder.UID == lt.UID && !lock.Holder.Released
}

// Why returns why the LoadTest of a name does not have a lock, as the end of "lock NAME is": "held by LoadTest ns/a".
// lock is nil if it does not exist.
func Why(name string, lock *statev1alpha1.LoadTestLock) string {
	if lock == nil {
		return "not given to a LoadTest yet"
	}
	out := fmt.Sprintf("held by LoadTest %s/%s", lock.Namespace, lock.Holder.Name)
	if lock.Holder.Left != "" {
		out += ", whose " + lock.Holder.Left + " has not ended"
	}
	switch before := slices.Index(lock.Waiting, name); {
	case before > 1:
		return fmt.Sprintf("%s; before this test: LoadTest %s/%s and %d more", out, lock.Namespace, lock.Waiting[0], before-1)
	case before == 1:
		return fmt.Sprintf("%s; before this test: LoadTest %s/%s", out, lock.Namespace, lock.Waiting[0])
	}
	return out
}

// Reason returns the reason of RunnersReady of a LoadTest that does not have a lock. It tells a wait for another test,
// which can last, from a lock that is not passed on: something is left of the last test, or the API server refuses the
// lock. lock and its holder are nil if they do not exist.
func Reason(lock *statev1alpha1.LoadTestLock, holder *v1alpha1.LoadTest) string {
	if lock == nil || lock.Holder.Left != "" || lock.Holder.Released || holder == nil || !wants(holder, lock.Name) {
		return v1alpha1.ReasonLockNotGiven
	}
	return v1alpha1.ReasonWaitingForLock
}

// affected returns the LoadTests for which a lock has changed: the old and the new holder, and those that wait for
// another reason than before. Nil: the lock did not exist, or does not exist any more.
func affected(before, after *statev1alpha1.LoadTestLock) []reconcile.Request {
	out := map[reconcile.Request]bool{}
	for _, lock := range []*statev1alpha1.LoadTestLock{before, after} {
		if lock == nil {
			continue
		}
		holder := before == nil || after == nil || before.Holder != after.Holder
		for i, name := range append([]string{lock.Holder.Name}, lock.Waiting...) {
			if i == 0 && holder || Why(name, before) != Why(name, after) {
				out[reconcile.Request{NamespacedName: types.NamespacedName{Namespace: lock.Namespace, Name: name}}] = true
			}
		}
	}
	return slices.Collect(maps.Keys(out))
}
