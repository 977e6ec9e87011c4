// Package apiserver is an API server in memory: its clients are the http.RoundTripper of a rest.Config. It has
// optimistic locking, generations, subresources, finalizers, graceful deletion of pods and watches as the real one has,
// and faults. It has no goroutine, so it works in a bubble of testing/synctest.
package apiserver

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kept is how many writes of a kind are kept for watches that begin at an older version.
const kept = 1000

// Server is an API server. Objects in it never change: a write stores another object. Set its fields before the first
// request.
type Server struct {
	// Fault returns what goes wrong with a request, or with an event of a watch; nil: nothing does.
	Fault func(Request) Fault
	// Admit is called with the server's lock held before a write. It may change after, and its error refuses the write.
	// before is nil if the object is created. nil: all writes are admitted.
	Admit func(before, after client.Object) error

	mu      sync.Mutex
	kinds   []*kind
	version int64
	watches []func(before, after client.Object)
}

// write is a change of an object; before or after is nil if it was created or deleted.
type write struct {
	version       int64
	before, after *stored
}

// stored is an object with its encodings, which are made when they are needed.
type stored struct {
	client.Object
	whole, metadata []byte
}

// Watch calls f after each write, with the lock of the server held. before or after is nil if the object was created or
// deleted. f must not change them, and must not call the server.
func (s *Server) Watch(f func(before, after client.Object)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches = append(s.watches, f)
}

// Forget ends the history of objects. A watch that continues at an older version fails (410 Gone), and its client lists
// the objects again.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.kinds {
		k.forget(len(k.log))
	}
}

func (k *kind) forget(n int) {
	if n > 0 {
		k.floor, k.forgotten, k.log = k.log[n-1].version, k.forgotten+n, slices.Clone(k.log[n:])
	}
}

// put stores an object in the place of before, which is nil if it is new; after nil deletes it. The caller holds mu.
func (s *Server) put(k *kind, before *stored, after client.Object) *stored {
	s.version++
	w := write{version: s.version, before: before}
	if after == nil {
		gone := before.DeepCopyObject().(client.Object)
		gone.SetResourceVersion(strconv.FormatInt(s.version, 10))
		w.before = &stored{Object: gone}
		delete(k.objects, client.ObjectKeyFromObject(before))
	} else {
		after.SetResourceVersion(strconv.FormatInt(s.version, 10))
		after.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
		w.after = &stored{Object: after}
		k.objects[client.ObjectKeyFromObject(after)] = w.after
	}
	if k.log = append(k.log, w); len(k.log) > 2*kept {
		k.forget(kept)
	}
	close(k.changed)
	k.changed = make(chan struct{})
	var was client.Object
	if before != nil {
		was = before.Object
	}
	for _, f := range s.watches {
		f(was, after)
	}
	return w.after
}

// create stores a new object. As the real one, it asks the admission before it looks whether the object exists. The
// caller holds mu.
func (s *Server) create(k *kind, o client.Object) (*stored, error) {
	exists := k.objects[client.ObjectKeyFromObject(o)] != nil
	switch {
	case o.GetName() == "":
		return nil, apierrors.NewBadRequest("metadata.name: required")
	case o.GetUID() != "" && !exists:
		return nil, k.conflict(o.GetName(), "the UID in the precondition is that of an object that does not exist")
	}
	if s.Admit != nil {
		if err := s.Admit(nil, o); err != nil {
			return nil, err
		}
	}
	if exists {
		return nil, apierrors.NewAlreadyExists(k.resource, o.GetName())
	}
	o.SetUID(types.UID(fmt.Sprintf("%08x-0000-4000-8000-000000000000", s.version+1)))
	o.SetCreationTimestamp(metav1.Now().Rfc3339Copy())
	o.SetDeletionTimestamp(nil)
	o.SetGeneration(1)
	return s.put(k, nil, o), nil
}

// update stores o in the place of the object of its name: only its status, or all but its status. The caller holds mu.
func (s *Server) update(k *kind, o client.Object, status bool) (*stored, error) {
	before, err := k.find(client.ObjectKeyFromObject(o), o.GetUID(), o.GetResourceVersion())
	switch {
	case err != nil:
		return nil, err
	case status:
		next := before.DeepCopyObject().(client.Object)
		field(next, "Status").Set(field(o, "Status"))
		return s.replace(k, before, next)
	case field(o, "Status").IsValid():
		field(o, "Status").Set(field(before.DeepCopyObject().(client.Object), "Status"))
	}
	return s.replace(k, before, o)
}

// replace stores after in the place of before. It keeps the metadata that only the server writes. The caller holds mu.
func (s *Server) replace(k *kind, before *stored, after client.Object) (*stored, error) {
	after.SetUID(before.GetUID())
	after.SetResourceVersion(before.GetResourceVersion())
	after.SetCreationTimestamp(before.GetCreationTimestamp())
	after.SetDeletionTimestamp(before.GetDeletionTimestamp())
	after.SetDeletionGracePeriodSeconds(before.GetDeletionGracePeriodSeconds())
	after.SetGeneration(before.GetGeneration())
	after.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	if equality.Semantic.DeepEqual(before.Object, after) {
		return before, nil
	}
	same := func(name string) bool {
		a, b := field(before.Object, name), field(after, name)
		return !a.IsValid() || equality.Semantic.DeepEqual(a.Interface(), b.Interface())
	}
	if frozen := field(before.Object, "Immutable"); frozen.IsValid() && ptr.Deref(frozen.Interface().(*bool), false) &&
		(!same("Data") || !same("BinaryData") || !same("Immutable")) {
		return nil, apierrors.NewInvalid(k.GroupKind(), before.GetName(), nil)
	}
	if s.Admit != nil {
		if err := s.Admit(before.Object, after); err != nil {
			return nil, err
		}
	}
	if !same("Spec") {
		after.SetGeneration(before.GetGeneration() + 1)
	}
	next := s.put(k, before, after)
	if isGone(after) {
		s.put(k, next, nil)
	}
	return next, nil
}

// isGone returns whether nothing keeps an object whose deletion has begun: no finalizer, and no grace of a pod.
func isGone(o client.Object) bool {
	return o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 && ptr.Deref(o.GetDeletionGracePeriodSeconds(),
		0) == 0
}

// remove begins the deletion of an object. The caller holds mu.
func (s *Server) remove(k *kind, key types.NamespacedName, opts *metav1.DeleteOptions) error {
	only := ptr.Deref(opts.Preconditions, metav1.Preconditions{})
	before, err := k.find(key, ptr.Deref(only.UID, ""), ptr.Deref(only.ResourceVersion, ""))
	if err != nil {
		return err
	}
	grace := graceOf(before.Object, opts.GracePeriodSeconds)
	if before.GetDeletionTimestamp() != nil && grace >= ptr.Deref(before.GetDeletionGracePeriodSeconds(), 0) {
		return nil
	}
	next := before.DeepCopyObject().(client.Object)
	if ptr.Deref(opts.PropagationPolicy, "") == metav1.DeletePropagationForeground {
		next.SetFinalizers(append(next.GetFinalizers(), metav1.FinalizerDeleteDependents))
	}
	end := metav1.NewTime(time.Now().Add(time.Duration(grace) * time.Second)).Rfc3339Copy()
	next.SetDeletionTimestamp(&end)
	next.SetDeletionGracePeriodSeconds(&grace)
	if isGone(next) {
		next = nil
	}
	s.put(k, before, next)
	return nil
}

// graceOf returns how many seconds a pod has to end; zero for one that does not run, and for other objects.
func graceOf(o client.Object, wanted *int64) int64 {
	pod, ok := o.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return 0
	}
	return ptr.Deref(wanted, ptr.Deref(pod.Spec.TerminationGracePeriodSeconds,
		corev1.DefaultTerminationGracePeriodSeconds))
}

// find returns an object. It must have the UID and the version, unless they are empty.
func (k *kind) find(key types.NamespacedName, uid types.UID, version string) (*stored, error) {
	have := k.objects[key]
	switch {
	case have == nil:
		return nil, apierrors.NewNotFound(k.resource, key.Name)
	case uid != "" && uid != have.GetUID():
		return nil, k.conflict(key.Name, "UID in precondition: "+string(uid)+", UID in object meta: "+string(have.GetUID()))
	case version != "" && version != have.GetResourceVersion():
		return nil, k.conflict(key.Name, "the object has been modified")
	}
	return have, nil
}

func (k *kind) conflict(name, why string) error {
	return apierrors.NewConflict(k.resource, name, errors.New(why))
}

func field(o client.Object, name string) reflect.Value {
	return reflect.ValueOf(o).Elem().FieldByName(name)
}
