package loadtest_test

import (
	"context"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// mirror has the Jobs of all stories, and says when an object changed that stories wait for. So they need not poll the API server.
type mirror struct {
	cache.Cache

	mu sync.Mutex
	// news has a channel for each namespace in which a story waits; it is closed with the next change. Guarded by mu.
	news map[string]chan struct{}
}

// newMirror returns a mirror that ends with ctx.
func newMirror(ctx context.Context, config *rest.Config, options client.Options) (*mirror, error) {
	m := &mirror{news: map[string]chan struct{}{}}
	var err error
	m.Cache, err = cache.New(config, cache.Options{Scheme: options.Scheme, Mapper: options.Mapper, HTTPClient: options.HTTPClient})
	if err != nil {
		return nil, err
	}
	for _, kind := range []client.Object{&batchv1.Job{}, &v1alpha1.LoadTest{}, &v1alpha1.LoadTestRun{}} {
		informer, err := m.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, err
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: m.changed, UpdateFunc: func(_, o any) { m.changed(o) }, DeleteFunc: m.changed,
		}); err != nil {
			return nil, err
		}
	}
	go func() { _ = m.Start(ctx) }()
	m.WaitForCacheSync(ctx)
	return m, nil
}

func (m *mirror) changed(o any) {
	if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	namespace := o.(client.Object).GetNamespace()
	m.mu.Lock()
	defer m.mu.Unlock()
	if next := m.news[namespace]; next != nil {
		close(next)
		delete(m.news, namespace)
	}
}

// next returns a channel that is closed when a Job, a LoadTest or a record of a namespace changes.
func (m *mirror) next(namespace string) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.news[namespace] == nil {
		m.news[namespace] = make(chan struct{})
	}
	return m.news[namespace]
}
