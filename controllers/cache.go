package controllers

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// endingCache is a cache whose wait ends with the process. Without it, a process that is to end before its caches have
// synced does not end, and uses a whole CPU: the manager of controller-runtime 0.24 waits for a cache that says so.
type endingCache struct {
	cache.Cache
	process context.Context
}

// newCache is ctrl.Options.NewCache.
func newCache(process context.Context, log logr.Logger) cache.NewCacheFunc {
	return func(config *rest.Config, opts cache.Options) (cache.Cache, error) {
		c, err := newPartialCache(process, config, opts, log)
		return endingCache{c, process}, err
	}
}

// WaitForCacheSync returns true when the cache has synced, or the process is to end.
func (c endingCache) WaitForCacheSync(ctx context.Context) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.process, cancel)()
	return c.Cache.WaitForCacheSync(ctx) || c.process.Err() != nil
}
