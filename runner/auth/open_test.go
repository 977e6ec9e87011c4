package auth

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/test/certtest"
)

// TestAssertionIsRenewed: after half of its lifetime.
func TestAssertionIsRenewed(t *testing.T) {
	c := &rv.ClientAssertion{Lifetime: time.Minute}
	c.CertFile, c.KeyFile = certtest.Self(t, "nf").Write(t, t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began, attempts := time.Now(), 0
		value, done, err := OpenAssertion(ctx, c, func(error) { attempts++ }, func(next []byte, err error) {
			if after := time.Since(began); err != nil || len(next) == 0 || after != 30*time.Second {
				t.Errorf("%q, %v after %v", next, err, after)
			}
			cancel()
		})
		if err != nil || len(value) == 0 {
			t.Fatalf("%q, %v", value, err)
		}
		<-done
		if attempts != 2 {
			t.Errorf("%d attempts", attempts)
		}
	})
}
