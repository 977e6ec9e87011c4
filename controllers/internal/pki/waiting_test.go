package pki

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// silent is an API server that does not answer.
type silent struct{ client.Reader }

func (silent) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestGetWaitsNoLongerThanItsContext: while another Get waits for the API server.
func TestGetWaitsNoLongerThanItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(silent{}, nil, "h2surge-system", time.Now)
		first, end := context.WithCancel(t.Context())
		defer end()
		go s.Get(first) //nolint:errcheck // it is ended
		synctest.Wait()
		second, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		_, err := s.Get(second)
		if waited := time.Since(begin); waited != time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v after %v, want the deadline after a second", err, waited)
		}
	})
}
