package auth

import (
	"context"
	"errors"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/policy"
	"github.com/h2surge/h2surge/runner/fiveg"
)

// grant is a value and how long it is good, counted from the beginning of the attempt that got it.
type grant struct {
	value    []byte
	lifetime time.Duration
	// refresh is when to get the next one, at most lifetime.
	refresh time.Duration
}

// source gets a grant: from a file or a token endpoint.
type source func(context.Context) (grant, error)

// watched calls attempted after each attempt that ctx has not ended. The context of an attempt has a deadline, too.
func (from source) watched(attempted func(error)) source {
	return func(ctx context.Context) (grant, error) {
		g, err := from(ctx)
		if !errors.Is(ctx.Err(), context.Canceled) {
			attempted(err)
		}
		return g, err
	}
}

// Open returns the first value of the field, or an error, which starts with its place in c. It retries a few times if a
// token endpoint cannot be reached or is overloaded.
//
// A goroutine then keeps the value valid until ctx ends, and closes done when it ends. It calls update with each new
// value, which the callee may keep. If the value has expired and no new value is available, it calls update once with
// an error, and continues its attempts.
//
// attempted is called after each attempt, with its error; nil: it is not called. Open calls it, too.
//
// OAuth2.RefreshBefore zero is 30 s. addresses decides which addresses of a token endpoint are allowed; nil: all.
func Open(ctx context.Context, c *rv.Auth, addresses *policy.Policy, attempted func(error), update func(value []byte,
	err error)) (value []byte, done <-chan struct{}, err error) {
	from, err := sourceOf(c, addresses)
	if err != nil {
		return nil, nil, err
	}
	return open(ctx, from, attempted, update)
}

// OpenAssertion is Open for the client credentials assertion of a target, which this process signs. The next one is
// signed after half of its lifetime, with the files as they are then.
func OpenAssertion(ctx context.Context, c *rv.ClientAssertion, attempted func(error), update func(value []byte,
	err error)) (value []byte, done <-chan struct{}, err error) {
	return open(ctx, func(context.Context) (grant, error) {
		value, lifetime, err := fiveg.SignAssertion(c, time.Now())
		return grant{value: value, lifetime: lifetime - time.Second, refresh: lifetime / 2}, err // exp has no fraction
	}, attempted, update)
}

func open(ctx context.Context, from source, attempted func(error), update func(value []byte, err error)) (value []byte,
	done <-chan struct{}, err error) {
	if attempted != nil {
		from = from.watched(attempted)
	}
	at, g, err := first(ctx, from)
	if err != nil {
		return nil, nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		keep(ctx, from, at, g, update)
	}()
	return g.value, ended, nil
}

func sourceOf(c *rv.Auth, addresses *policy.Policy) (source, error) {
	var sources []source
	if c.Basic != nil {
		sources = append(sources, basic(c.Basic))
	}
	if c.Bearer != nil {
		sources = append(sources, bearer(c.Bearer))
	}
	if c.OAuth2 != nil {
		o, err := newOAuth2(c.OAuth2, addresses)
		if err != nil {
			return nil, err
		}
		sources = append(sources, o.fetch)
	}
	if len(sources) != 1 {
		return nil, errors.New("exactly one of basic, bearer and oauth2 is required")
	}
	return sources[0], nil
}
