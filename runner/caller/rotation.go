package caller

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// readAgain is the pause between two reads of a file with keys.
const readAgain = 30 * time.Second

// keySet has the keys of a policy. It is safe for concurrent use.
type keySet struct {
	read func() ([]jose.JSONWebKey, error)
	keys atomic.Pointer[[]jose.JSONWebKey]
}

// load reads the file. The keys stay if that fails.
func (s *keySet) load() error {
	keys, err := s.read()
	if err == nil {
		s.keys.Store(&keys)
	}
	return err
}

// KeepKeys reads the keys again until ctx ends, because a mounted file changes when the issuer replaces its keys. The
// last keys stay while that fails. failed is called with the first error, and again only after a read without one.
// KeepKeys returns at once if the policy has no keys.
func (p *Policy) KeepKeys(ctx context.Context, failed func(error)) {
	if p == nil || p.token == nil {
		return
	}
	again := time.NewTicker(readAgain)
	defer again.Stop()
	var before error // of the last attempt
	for ctx.Err() == nil {
		err := p.token.keys.load()
		if err != nil && before == nil {
			failed(err)
		}
		before = err
		select {
		case <-again.C:
		case <-ctx.Done():
		}
	}
}
