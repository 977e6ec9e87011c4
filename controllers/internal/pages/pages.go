// Package pages lists objects past the cache. Users can create many objects of more than 1 MiB, and a list of them at
// once could end the operator.
package pages

import (
	"context"
	"iter"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// size is the number of objects of a page. An object of etcd has 1.5 MiB at most.
const size = 10

// Of yields a list in pages of T, such as corev1.PodList, or an error as the last element. A caller that keeps only
// what it needs of each object holds one page in memory.
func Of[T any, List interface {
	*T
	client.ObjectList
}](ctx context.Context, from client.Reader, opts ...client.ListOption) iter.Seq2[List, error] {
	return func(yield func(List, error) bool) {
		for next := ""; ; {
			page := List(new(T))
			all := append([]client.ListOption{client.Limit(size), client.Continue(next)}, opts...)
			err := from.List(ctx, page, all...)
			next = page.GetContinue()
			if !yield(page, err) || err != nil || next == "" {
				return
			}
		}
	}
}
