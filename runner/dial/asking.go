package dial

import (
	"context"
	"sync/atomic"
	"time"

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
// the other one ends first, that says nothing about the server, and one of those that wait asks next. No attempt waits
// for another one after its own time.
func (a *asking[T]) do(ctx context.Context, key string, ask func() (T, error)) (T, error) {
	var own atomic.Bool
	for {
		got := a.group.DoChan(key, func() (any, error) {
			own.Store(true)
			value, err := ask()
			return reply[T]{value, err, err != nil && isOver(ctx)}, nil
		})
		var result singleflight.Result
		select {
		case result = <-got:
		case <-ctx.Done():
			if !own.Load() {
				var none T
				return none, ctx.Err()
			}
			result = <-got // ask returns soon, and knows more about the error
		}
		r := result.Val.(reply[T]) //nolint:errcheck,forcetypeassert // see above
		if own.Load() || !r.late {
			return r.value, r.err
		}
	}
}

// isOver returns whether the time of ctx is over. The deadline of a socket may end before the timer of ctx has run.
func isOver(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(end)
}
