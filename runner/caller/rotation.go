package caller

import (
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// readAgain is how old keys are when a check lets them be read again.
const readAgain = int64(30 * time.Second)

// keySet has the keys of a policy. It reads their file again while a run lasts, because a mounted file changes when the
// issuer replaces its keys. It is safe for concurrent use, and never blocks an event loop.
type keySet struct {
	read func() ([]jose.JSONWebKey, error)
	at   atomic.Int64 // the last attempt to read the file, in nanoseconds since 1970
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

// refresh reads the file in the background if the keys are old. Later checks use the new ones.
func (s *keySet) refresh(now int64) {
	at := s.at.Load()
	if now-at >= readAgain && s.at.CompareAndSwap(at, now) {
		go func() { _ = s.load() }()
	}
}
