package dial

import (
	"context"

	"golang.org/x/sync/singleflight"
)

// asking lets attempts to connect that have the same question wait for one answer.
type asking[T any] struct{ group singleflight.Group }

// reply is what ask has returned. late: the time of the attempt that asked was over.
type reply[T any] struct {
	value T
	err   error
	late  bool
}

// do returns what ask returns to this attempt, or to another one with the same key that asks already. If the time of
// the other one ends first, that says nothing about the server, and one of those that wait asks next.
func (a *asking[T]) do(ctx context.Context, key string, ask func() (T, error)) (T, error) {
	for {
		own := false
		got, _, _ := a.group.Do(key, func() (any, error) {
			own = true
			value, err := ask()
			return reply[T]{value, err, err != nil && ctx.Err() != nil}, nil
		})
		r := got.(reply[T]) //nolint:errcheck,forcetypeassert // see above
		if own || !r.late || ctx.Err() != nil {
			return r.value, r.err
		}
	}
}
