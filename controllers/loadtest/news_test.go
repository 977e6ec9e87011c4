package loadtest_test

import (
	"context"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// news says when an object changed that stories wait for, so that they can poll the API server less often. It can be late.
type news struct {
	mu sync.Mutex
	// waiting has a channel for each namespace in which a story waits; it is closed with the next change. Guarded by mu.
	waiting map[string]chan struct{}
}

// newNews returns news that end with ctx.
func newNews(ctx context.Context, config *rest.Config, options client.Options) (*news, error) {
	n := &news{waiting: map[string]chan struct{}{}}
	informers, err := cache.New(config, cache.Options{Scheme: options.Scheme, Mapper: options.Mapper, HTTPClient: options.HTTPClient})
	if err != nil {
		return nil, err
	}
	for _, kind := range []client.Object{&batchv1.Job{}, &v1alpha1.LoadTest{}, &statev1alpha1.LoadTestRun{}} {
		informer, err := informers.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, err
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: n.changed, UpdateFunc: func(_, o any) { n.changed(o) }, DeleteFunc: n.changed,
		}); err != nil {
			return nil, err
		}
	}
	go func() { _ = informers.Start(ctx) }()
	informers.WaitForCacheSync(ctx)
	return n, nil
}

func (n *news) changed(o any) {
	if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	namespace := o.(client.Object).GetNamespace()
	n.mu.Lock()
	defer n.mu.Unlock()
	if next := n.waiting[namespace]; next != nil {
		close(next)
		delete(n.waiting, namespace)
	}
}

// next returns a channel that is closed when a Job, a LoadTest or a record of a namespace changes.
func (n *news) next(namespace string) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waiting[namespace] == nil {
		n.waiting[namespace] = make(chan struct{})
	}
	return n.waiting[namespace]
}
