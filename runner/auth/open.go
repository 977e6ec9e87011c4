package auth

import (
	"context"
	"crypto/tls"
	"errors"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
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

// Open returns the first value of the field, or why there is none; a token endpoint that cannot be
// reached or is overloaded is asked a few times. Its errors begin with the place in c.
//
// Then a goroutine keeps the value valid until ctx ends: done is closed when it has ended. It calls
// update with each new value, which the callee may keep; and once with an error when the value has
// expired and no other could be had. It goes on trying after that.
//
// config is for https token endpoints, nil for the defaults; its trusted authorities are replaced when
// c names others. OAuth2.RefreshBefore zero is 30 s.
func Open(ctx context.Context, c *rv.Auth, config *tls.Config, update func(value []byte, err error)) (value []byte, done <-chan struct{}, err error) {
	from, err := sourceOf(c, config)
	if err != nil {
		return nil, nil, err
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

func sourceOf(c *rv.Auth, config *tls.Config) (source, error) {
	var sources []source
	if c.Basic != nil {
		sources = append(sources, basic(c.Basic))
	}
	if c.Bearer != nil {
		sources = append(sources, bearer(c.Bearer))
	}
	if c.OAuth2 != nil {
		o, err := newOAuth2(c.OAuth2, config)
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
