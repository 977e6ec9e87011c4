package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// probeInterval is how often the operator checks whether it can read a namespace that its cache lacks.
const probeInterval = time.Minute

// partialCache is a cache without the namespaces that the operator cannot read, for example because they were deleted
// with their RoleBindings. The operator starts when all namespaces of its cache have synced, so one such namespace
// would stop the tests of all others.
type partialCache struct {
	cache.Cache
	reader    client.Reader
	forbidden []string
}

// newPartialCache returns a cache of the namespaces of opts that the operator can read. If it can read none, it
// returns an error: a cache without namespaces has those of the whole cluster.
func newPartialCache(ctx context.Context, config *rest.Config, opts cache.Options, log logr.Logger) (cache.Cache,
	error) {
	reader, err := client.New(config, client.Options{HTTPClient: opts.HTTPClient, Scheme: opts.Scheme,
		Mapper: opts.Mapper})
	if err != nil {
		return nil, fmt.Errorf("creating the client that checks the namespaces: %w", err)
	}
	namespaces := slices.Sorted(maps.Keys(opts.DefaultNamespaces))
	forbidden := forbiddenOf(ctx, reader, namespaces, log)
	if len(forbidden) == 0 {
		return cache.New(config, opts)
	}
	if len(forbidden) == len(namespaces) {
		return nil, fmt.Errorf("namespaces: the operator has no permission to list LoadTests in %s",
			strings.Join(forbidden, ", "))
	}
	opts.DefaultNamespaces = maps.Clone(opts.DefaultNamespaces)
	for _, ns := range forbidden {
		delete(opts.DefaultNamespaces, ns)
	}
	c, err := cache.New(config, opts)
	return partialCache{c, reader, forbidden}, err
}

// forbiddenOf returns the namespaces that the operator has no permission for. The cache keeps one whose request fails
// for another reason, and repeats its requests.
func forbiddenOf(ctx context.Context, reader client.Reader, namespaces []string, log logr.Logger) (out []string) {
	for _, ns := range namespaces {
		if err := list(ctx, reader, ns); apierrors.IsForbidden(err) {
			log.Error(err, "The operator does not run the LoadTests of a namespace, because it cannot list them: grant it "+
				"the permission, or remove the namespace from its configuration", "namespace", ns)
			out = append(out, ns)
		}
	}
	return out
}

// list returns an error if the operator cannot list the LoadTests of a namespace.
func list(ctx context.Context, reader client.Reader, namespace string) error {
	return reader.List(ctx, &v1alpha1.LoadTestList{}, client.InNamespace(namespace), client.Limit(1))
}

// Start implements cache.Cache. It also returns, with an error, when the operator can read a namespace that the cache
// lacks. The process then ends, and the next one watches the namespace.
func (c partialCache) Start(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- c.Cache.Start(ctx) }()
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-ticker.C:
		}
		for _, ns := range c.forbidden {
			if list(ctx, c.reader, ns) == nil {
				return fmt.Errorf("the operator restarts, because it now has the permission to list LoadTests in %s", ns)
			}
		}
	}
}
