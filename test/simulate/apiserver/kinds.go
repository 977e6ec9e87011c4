package apiserver

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// served are the kinds of the API. All but Node have namespaces. Those with a field named Status have the subresource.
var served = []client.Object{
	&corev1.Pod{}, &corev1.ConfigMap{}, &corev1.Secret{}, &corev1.Service{}, &corev1.Event{}, &corev1.Node{},
	&batchv1.Job{}, &policyv1.PodDisruptionBudget{}, &discoveryv1.EndpointSlice{}, &coordinationv1.Lease{},
	&eventsv1.Event{}, &v1alpha1.LoadTest{}, &v1alpha1.LoadTestSchedule{}, &statev1alpha1.LoadTestRun{},
	&statev1alpha1.LoadTestCheckpoint{}, &statev1alpha1.LoadTestLock{},
}

// kind is a kind with its objects. Its maps and what follows are guarded by Server.mu.
type kind struct {
	schema.GroupVersionKind
	of       reflect.Type
	resource schema.GroupResource
	objects  map[types.NamespacedName]*stored
	// log has the last writes; forgotten is how many came before them, and floor the version of the last of those.
	log       []write
	forgotten int
	floor     int64
	// changed is closed at the next write.
	changed chan struct{}
}

// New returns a Server without objects.
func New(scheme *runtime.Scheme) *Server {
	s := &Server{}
	for _, o := range served {
		gvk, err := apiutil.GVKForObject(o, scheme)
		if err != nil {
			panic(err)
		}
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		s.kinds = append(s.kinds, &kind{GroupVersionKind: gvk, of: reflect.TypeOf(o), resource: plural.GroupResource(),
			objects: map[types.NamespacedName]*stored{}, changed: make(chan struct{})})
	}
	return s
}

// Mapper returns what clients find out by discovery, which the server does not have.
func (s *Server) Mapper() meta.RESTMapper {
	out := meta.NewDefaultRESTMapper(nil)
	for _, k := range s.kinds {
		scope := meta.RESTScopeNamespace
		if k.Kind == "Node" {
			scope = meta.RESTScopeRoot
		}
		out.Add(k.GroupVersionKind, scope)
	}
	return out
}

// of returns the kind of a type.
func (s *Server) of(t reflect.Type) *kind {
	for _, k := range s.kinds {
		if k.of == t {
			return k
		}
	}
	panic(fmt.Sprintf("%s is not served", t))
}

// sorted returns the objects by namespace and name.
func (k *kind) sorted() []*stored {
	return slices.SortedFunc(maps.Values(k.objects), func(a, b *stored) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
}

// Objects returns the objects of a type by namespace and name; of client.Object, it returns those of all types. The
// caller must not change them.
func Objects[T client.Object](s *Server) (out []T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.kinds {
		if !k.of.AssignableTo(reflect.TypeFor[T]()) {
			continue
		}
		for _, o := range k.sorted() {
			out = append(out, o.Object.(T))
		}
	}
	return out
}

// Find returns an object, or nil. The caller must not change it.
func Find[T client.Object](s *Server, namespace, name string) (out T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.of(reflect.TypeFor[T]()).objects[types.NamespacedName{Namespace: namespace, Name: name}]; o != nil {
		out = o.Object.(T)
	}
	return out
}

// Change lets f change an object, with its status: as users, the kubelet and other controllers do. It returns an error
// if the object is missing, or the change is refused.
func Change[T client.Object](s *Server, namespace, name string, f func(T)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.of(reflect.TypeFor[T]())
	before, err := k.find(types.NamespacedName{Namespace: namespace, Name: name}, "", "")
	if err != nil {
		return err
	}
	next := before.DeepCopyObject().(T)
	f(next)
	_, err = s.replace(k, before, next)
	return err
}

// Create stores a new object, and returns it as it is stored.
func Create[T client.Object](s *Server, o T) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, err := s.create(s.of(reflect.TypeFor[T]()), o.DeepCopyObject().(client.Object))
	if err != nil {
		return o, err
	}
	return out.Object.(T), nil
}

// Delete begins the deletion of an object, if one of its name has its UID.
func (s *Server) Delete(o client.Object, opts metav1.DeleteOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	uid := o.GetUID()
	opts.Preconditions = &metav1.Preconditions{UID: &uid}
	return s.remove(s.of(reflect.TypeOf(o)), client.ObjectKeyFromObject(o), &opts)
}

// RemoveFinalizer removes a finalizer of an object, if one of its name has its UID.
func (s *Server) RemoveFinalizer(o client.Object, finalizer string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.of(reflect.TypeOf(o))
	before, err := k.find(client.ObjectKeyFromObject(o), o.GetUID(), "")
	if err != nil {
		return err
	}
	next := before.DeepCopyObject().(client.Object)
	controllerutil.RemoveFinalizer(next, finalizer)
	_, err = s.replace(k, before, next)
	return err
}
