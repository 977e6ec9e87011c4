package loadtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// memoryAPI is an API server for one namespace in memory. It has optimistic locking, generations, owner references and faults. Objects in it
// never change: a write stores another object.
type memoryAPI struct {
	mu      sync.Mutex
	objects map[objectID]client.Object // guarded by mu
	version int                        // guarded by mu
	// down: no request gets an answer. refuseNext is the error of the next write, loseNext the error that the next write returns after it was
	// made. full is the kind of which a quota lets no further object exist; empty: there is no quota. Of a
	// LoadTestCheckpoint, updates are refused, too, as an admission webhook can do; DeleteAllOf, which has no name, is not.
	down                 bool
	full                 string
	downSince            time.Time
	refuseNext, loseNext error
	// wrote is called with mu held, after each write. before or after is nil if the object was created or deleted.
	wrote func(before, after client.Object)
}

type objectID struct{ kind, name string }

func idOf(o client.Object) objectID { return objectID{kindOf(o), o.GetName()} }

func kindOf(o any) string { return reflect.TypeOf(o).Elem().Name() }

var errNoAnswer = apierrors.NewServiceUnavailable("the API server does not answer")

func notFound(id objectID) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: id.kind}, id.name)
}

// set changes or reads the fields under the lock.
func (a *memoryAPI) set(f func(*memoryAPI)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f(a)
}

// fault returns the error of a write that is not made. The caller holds mu.
func (c *memoryClient) fault(o client.Object, create bool) error {
	a := c.api
	if c.cut.Load() {
		return errNoAnswer
	}
	err := a.refuseNext
	a.refuseNext = nil
	switch kind := kindOf(o); {
	case a.down:
		return errNoAnswer
	case err != nil:
		return err
	case kind == a.full && (create || kind == "LoadTestCheckpoint" && o.GetName() != ""):
		return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, o.GetName(), errors.New("exceeded quota: q"))
	}
	return nil
}

// put stores an object. The caller holds mu.
func (a *memoryAPI) put(o client.Object) error {
	id := idOf(o)
	before := a.objects[id]
	a.version++
	o.SetResourceVersion(fmt.Sprint(a.version))
	if before == nil && o.GetUID() == "" {
		o.SetUID(types.UID(fmt.Sprintf("%08d-uid", a.version)))
	}
	if before == nil {
		o.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
	}
	stored := o.DeepCopyObject().(client.Object)
	a.objects[id] = stored
	a.wrote(before, stored)
	err := a.loseNext
	a.loseNext = nil
	return err
}

func (a *memoryAPI) remove(id objectID) {
	if before := a.objects[id]; before != nil {
		delete(a.objects, id)
		a.version++
		a.wrote(before, nil)
	}
}

// change edits a stored object, as users and controllers other than the operator do.
func change[T client.Object](a *memoryAPI, name string, f func(T)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var of T
	stored := a.objects[objectID{reflect.TypeOf(of).Elem().Name(), name}]
	if stored == nil {
		return
	}
	next := stored.DeepCopyObject().(T)
	f(next)
	lose := a.loseNext
	a.loseNext = nil
	_ = a.put(next)
	a.loseNext = lose
}

// all returns the objects of a type, by name.
func all[T client.Object](a *memoryAPI) (out []T) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, o := range a.objects {
		if o, ok := o.(T); ok {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(x, y T) int { return strings.Compare(x.GetName(), y.GetName()) })
	return out
}

// cachedNames are those that the operator reads from its cache.
var cachedNames = []string{"LoadTest", "LoadTestLock", "ConfigMap", "Job", "Pod"}

// memoryClient is the client of an operator: it reads from its cache, and writes to the API server. Without a cache it reads from the API server.
type memoryClient struct {
	client.Client
	api *memoryAPI
	// cut: this client does not reach the API server; nil: it does.
	cut *atomic.Bool
	// cache is what a watch brought last; guarded by api.mu. nil: no cache.
	cache map[objectID]client.Object
}

// sync brings a kind up to date. It returns whether something changed.
func (c *memoryClient) sync(kind string) bool {
	c.api.mu.Lock()
	defer c.api.mu.Unlock()
	if c.api.down || c.cut.Load() {
		return false
	}
	news := false
	maps.DeleteFunc(c.cache, func(id objectID, _ client.Object) bool {
		gone := id.kind == kind && c.api.objects[id] == nil
		news = news || gone
		return gone
	})
	for id, o := range c.api.objects {
		if id.kind == kind && c.cache[id] != o {
			c.cache[id], news = o, true
		}
	}
	return news
}

// source returns what a read of a kind sees. The caller holds api.mu.
func (c *memoryClient) source() (map[objectID]client.Object, error) {
	switch {
	case c.cache != nil:
		return c.cache, nil
	case c.api.down || c.cut.Load():
		return nil, errNoAnswer
	}
	return c.api.objects, nil
}

func assign(into, from client.Object) {
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(from.DeepCopyObject()).Elem())
}

func (c *memoryClient) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	c.api.mu.Lock()
	defer c.api.mu.Unlock()
	from, err := c.source()
	if err != nil {
		return err
	}
	id := objectID{kindOf(into), key.Name}
	o := from[id]
	if o == nil {
		return notFound(id)
	}
	assign(into, o)
	return nil
}

func (c *memoryClient) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	c.api.mu.Lock()
	defer c.api.mu.Unlock()
	from, err := c.source()
	if err != nil {
		return err
	}
	var options client.ListOptions
	options.ApplyOptions(opts)
	owner := ""
	if options.FieldSelector != nil {
		owner, _ = options.FieldSelector.RequiresExactMatch(ownerIndex)
	}
	owned := func(o client.Object) bool {
		if options.FieldSelector == nil {
			return options.LabelSelector == nil || options.LabelSelector.Matches(labels.Set(o.GetLabels()))
		}
		ref := metav1.GetControllerOf(o)
		return ref != nil && string(ref.UID) == owner
	}
	for _, o := range from {
		switch list := list.(type) {
		case *corev1.NodeList, *discoveryv1.EndpointSliceList: // the cluster has none
		case *metav1.PartialObjectMetadataList:
			if o, ok := o.(*corev1.ConfigMap); ok && owned(o) {
				list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: *o.ObjectMeta.DeepCopy()})
			}
		case *batchv1.JobList:
			if o, ok := o.(*batchv1.Job); ok && owned(o) {
				list.Items = append(list.Items, *o.DeepCopy())
			}
		case *corev1.PodList:
			if o, ok := o.(*corev1.Pod); ok && owned(o) {
				list.Items = append(list.Items, *o.DeepCopy())
			}
		case *v1alpha1.LoadTestList:
			if o, ok := o.(*v1alpha1.LoadTest); ok { // all have the same lock
				list.Items = append(list.Items, *o.DeepCopy())
			}
		case *corev1.EventList:
		default:
			return fmt.Errorf("no list of %T", list)
		}
	}
	return nil
}

func (c *memoryClient) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	c.api.mu.Lock()
	defer c.api.mu.Unlock()
	if err := c.fault(o, true); err != nil {
		return err
	}
	if id := idOf(o); c.api.objects[id] != nil {
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: id.kind}, id.name)
	}
	return c.api.put(o)
}

func (c *memoryClient) Update(_ context.Context, o client.Object, _ ...client.UpdateOption) error {
	c.api.mu.Lock()
	defer c.api.mu.Unlock()
	if err := c.fault(o, false); err != nil {
		return err
	}
	return c.api.replace(o)
}

// replace is an update with the optimistic lock. An update without a version is one of any version. The caller holds mu.
func (a *memoryAPI) replace(o client.Object) error {
	id := idOf(o)
	stored := a.objects[id]
	switch {
	case stored == nil:
		return notFound(id)
	case o.GetResourceVersion() != "" && o.GetResourceVersion() != stored.GetResourceVersion():
		return apierrors.NewConflict(schema.GroupResource{Resource: id.kind}, id.name, errors.New("the object has been modified"))
	}
	o.SetUID(stored.GetUID())
	return a.put(o)
}

func (c *memoryClient) Delete(_ context.Context, o client.Object, opts ...client.DeleteOption) error {
	c.api.mu.Lock()
	defer c.api.mu.Unlock()
	if err := c.fault(o, false); err != nil {
		return err
	}
	var d client.DeleteOptions
	d.ApplyOptions(opts)
	id := idOf(o)
	stored := c.api.objects[id]
	switch {
	case stored == nil:
		return notFound(id)
	case d.Preconditions != nil && (*d.Preconditions.UID != stored.GetUID() || ptr.Deref(d.Preconditions.ResourceVersion, stored.GetResourceVersion()) != stored.GetResourceVersion()):
		return apierrors.NewConflict(schema.GroupResource{Resource: id.kind}, id.name, errors.New("another UID or version"))
	}
	if pod, ok := stored.(*corev1.Pod); ok {
		terminate(pod, d.GracePeriodSeconds, c.api)
		return nil
	}
	c.api.remove(id)
	return nil
}

// terminate gives a pod a deletion timestamp: when the kubelet ends it. The caller holds mu.
func terminate(pod *corev1.Pod, grace *int64, a *memoryAPI) {
	next := pod.DeepCopy()
	end := metav1.NewTime(time.Now().Add(time.Duration(ptr.Deref(grace, 30)) * time.Second))
	if next.DeletionTimestamp == nil || end.Before(next.DeletionTimestamp) {
		next.DeletionTimestamp = &end
		lose := a.loseNext
		a.loseNext = nil
		_ = a.put(next)
		a.loseNext = lose
	}
}

func (c *memoryClient) DeleteAllOf(_ context.Context, of client.Object, _ ...client.DeleteAllOfOption) error {
	c.api.mu.Lock()
	defer c.api.mu.Unlock()
	if err := c.fault(of, false); err != nil {
		return err
	}
	for id := range c.api.objects {
		if id.kind == kindOf(of) {
			c.api.remove(id)
		}
	}
	return nil
}

// Apply makes an object, or changes the number of a Job's indices. Other fields of an object that exists stay.
func (c *memoryClient) Apply(_ context.Context, ac runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	c.api.mu.Lock()
	defer c.api.mu.Unlock()
	raw, err := json.Marshal(ac)
	if err != nil {
		return err
	}
	kind := strings.TrimSuffix(kindOf(ac), "ApplyConfiguration")
	o := map[string]func() client.Object{
		"Job":                 func() client.Object { return &batchv1.Job{} },
		"PodDisruptionBudget": func() client.Object { return &policyv1.PodDisruptionBudget{} },
	}[kind]()
	if err := json.Unmarshal(raw, o); err != nil {
		return err
	}
	if err := c.fault(o, false); err != nil {
		return err
	}
	if have, ok := c.api.objects[idOf(o)].(*batchv1.Job); ok {
		job := have.DeepCopy()
		wanted := o.(*batchv1.Job)
		if wanted.UID != "" && wanted.UID != job.UID {
			return apierrors.NewConflict(schema.GroupResource{Resource: kind}, job.Name, errors.New("another UID"))
		}
		job.Spec.Completions, job.Spec.Parallelism = wanted.Spec.Completions, wanted.Spec.Parallelism
		o = job
	} else if o.GetUID() != "" {
		return notFound(idOf(o))
	}
	if err := c.api.put(o); err != nil {
		return err
	}
	raw, err = json.Marshal(o)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, ac)
}

func (c *memoryClient) Status() client.SubResourceWriter { return statusClient{of: c} }

type statusClient struct {
	client.SubResourceWriter
	of *memoryClient
}

// Patch replaces the status, with the optimistic lock that all status patches of the operator have.
func (s statusClient) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	c := s.of
	c.api.mu.Lock()
	defer c.api.mu.Unlock()
	if err := c.fault(o, false); err != nil {
		return err
	}
	stored, ok := c.api.objects[idOf(o)].(*v1alpha1.LoadTest)
	if !ok {
		return notFound(idOf(o))
	}
	next := stored.DeepCopy()
	next.ResourceVersion = o.GetResourceVersion()
	o.(*v1alpha1.LoadTest).Status.DeepCopyInto(&next.Status)
	for _, t := range []*metav1.Time{next.Status.StartTime, next.Status.CompletionTime} {
		if t != nil {
			*t = t.Rfc3339Copy()
		}
	}
	if err := c.api.replace(next); err != nil {
		return err
	}
	next.DeepCopyInto(o.(*v1alpha1.LoadTest))
	return nil
}
